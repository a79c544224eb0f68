/* Gathers and writes call stacks; see stacktable.h. Records come from the application and are not
 * trusted. */
#include "rank/file/stacktable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank/file/symbols.h"

enum { MAX_STACKS = 1 << 20, TEXT_SIZE = 8192 };

struct frame {
    uint32_t module; /* row of /strings */
    uint64_t offset;
};

struct stack {
    uint16_t total;
    struct frame frames[]; /* [total], innermost first */
};

struct pw_stacktable {
    struct stack **rows;
    uint32_t n, capacity;
    struct pw_budget *budget;
};

struct pw_stacktable *pw_stacktable_create(struct pw_budget *budget)
{
    struct pw_stacktable *table = calloc(1, sizeof(*table));
    if (!table)
        return NULL;
    table->n = 1;
    table->budget = budget;
    return table;
}

void pw_stacktable_destroy(struct pw_stacktable *table)
{
    if (!table)
        return;
    for (uint32_t i = 0; i < table->n && i < table->capacity; i++)
        free(table->rows[i]);
    free(table->rows);
    free(table);
}

uint32_t pw_stacktable_rows(const struct pw_stacktable *table)
{
    return table ? table->n : 1;
}

static int grow(struct pw_stacktable *table, uint32_t row)
{
    if (row == 0 || row >= MAX_STACKS)
        return -1;
    struct stack **rows =
        pw_budget_grow(table->budget, table->rows, sizeof(*rows), row, &table->capacity);
    if (!rows)
        return -1;
    table->rows = rows;
    table->n = row >= table->n ? row + 1 : table->n;
    return 0;
}

void pw_stacktable_add(struct pw_stacktable *table, uint32_t row, uint32_t name_base,
                       const struct pw_record *record)
{
    uint16_t total = record->frames.total, first = record->frames.first;
    if (!table || total > PW_MAX_STACK || first >= total || grow(table, row))
        return;
    struct stack *stack = table->rows[row];
    if (!stack) {
        const size_t size = sizeof(*stack) + sizeof(stack->frames[0]) * total;
        if (!pw_budget_take(table->budget, (int64_t)size))
            return;
        stack = calloc(1, size);
        if (!stack)
            return;
        stack->total = total;
        table->rows[row] = stack;
    }
    for (int k = 0; k < PW_STACK_PIECE && first + k < stack->total; k++) {
        uint32_t module = record->frames.module[k];
        stack->frames[first + k] =
            (struct frame){module ? name_base + module : 0, record->frames.offset[k]};
    }
}

/* Outermost first, as flame graphs have it: "main (train.c:410);backward (train.c:210)". When the
 * text is too long, outer frames are omitted. */
static void describe(const struct stack *stack, struct pw_symbols *symbols,
                     const struct pw_rankfile *file, char text[TEXT_SIZE])
{
    size_t at = TEXT_SIZE - 1;
    text[at] = '\0';
    for (int i = 0; i < stack->total; i++) {
        char name[512];
        const struct frame *frame = &stack->frames[i];
        pw_symbols_describe(symbols, pw_rankfile_borrow_text(file, frame->module), frame->offset,
                            name, sizeof(name));
        size_t length = strlen(name);
        if (length + 1 > at)
            break;
        at -= length;
        memcpy(text + at, name, length);
        if (i + 1 < stack->total)
            text[--at] = ';';
    }
    at += text[at] == ';';
    memmove(text, text + at, TEXT_SIZE - at);
}

void pw_stacktable_write(const struct pw_stacktable *table, struct pw_rankfile *file)
{
    if (!table)
        return;
    struct pw_symbols *symbols = pw_symbols_create();
    char *text = malloc(TEXT_SIZE);
    pw_rankfile_stack(file, 0, "");
    for (uint32_t row = 1; text && symbols && row < table->n; row++) {
        if (table->rows && table->rows[row])
            describe(table->rows[row], symbols, file, text);
        else
            text[0] = '\0';
        pw_rankfile_stack(file, row, text);
    }
    free(text);
    pw_symbols_destroy(symbols);
}
