/* Gathers call stacks, and names their frames by elfutils' libdwfl; see callstacks.h. */
#include "rank/file/callstacks.h"

#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names of addresses ---- */

struct module {
    char *path;
    Dwfl_Module *module; /* NULL when it cannot be read */
    GElf_Addr bias;      /* added to the symbols' addresses in the file */
};

struct pw_symbols {
    Dwfl *dwfl;
    struct module *modules;
    size_t n;
};

static char *debug_path; /* NULL: elfutils' own default */
static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &debug_path,
};

struct pw_symbols *pw_symbols_create(void)
{
    struct pw_symbols *symbols = calloc(1, sizeof(*symbols));
    if (!symbols)
        return NULL;
    /* Do not load debug information from servers at the end of a job. */
    unsetenv("DEBUGINFOD_URLS");
    symbols->dwfl = dwfl_begin(&callbacks);
    if (!symbols->dwfl) {
        free(symbols);
        return NULL;
    }
    return symbols;
}

void pw_symbols_destroy(struct pw_symbols *symbols)
{
    if (!symbols)
        return;
    dwfl_end(symbols->dwfl);
    for (size_t i = 0; i < symbols->n; i++)
        free(symbols->modules[i].path);
    free(symbols->modules);
    free(symbols);
}

static struct module open_module(Dwfl *dwfl, char *path)
{
    struct module module = {.path = path};
    dwfl_report_begin_add(dwfl);
    module.module = dwfl_report_offline(dwfl, path, path, -1);
    dwfl_report_end(dwfl, NULL, NULL);
    if (module.module && !dwfl_module_getelf(module.module, &module.bias))
        module.module = NULL;
    return module;
}

static const struct module *find_module(struct pw_symbols *symbols, const char *path)
{
    for (size_t i = 0; i < symbols->n; i++)
        if (strcmp(symbols->modules[i].path, path) == 0)
            return &symbols->modules[i];
    struct module *modules = realloc(symbols->modules, (symbols->n + 1) * sizeof(*modules));
    if (!modules)
        return NULL;
    symbols->modules = modules;
    char *copy = strdup(path);
    if (!copy)
        return NULL;
    modules[symbols->n] = open_module(symbols->dwfl, copy);
    return &modules[symbols->n++];
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void pw_symbols_write(const struct pw_symbol_place *place, char *text, size_t size)
{
    struct Dwfl_Module *module = place->module;
    const uint64_t address = place->address;
    GElf_Off within = 0;
    GElf_Sym symbol;
    const char *name =
        module ? dwfl_module_addrinfo(module, address, &within, &symbol, NULL, NULL, NULL) : NULL;
    Dwfl_Line *line = name ? dwfl_module_getsrc(module, address) : NULL;
    int number = 0, length = name ? (int)strcspn(name, "@") : 0; /* without a symbol's version */
    const char *source = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
    if (source)
        snprintf(text, size, "%.*s (%s:%d)", length, name, base_name(source), number);
    else if (name)
        snprintf(text, size, "%.*s+0x%" PRIx64, length, name, within);
    else if (place->path[0])
        snprintf(text, size, "%s+0x%" PRIx64, base_name(place->path), place->offset);
    else
        snprintf(text, size, "?");
    for (char *c = text; *c; c++)
        *c = *c == ';' ? ':' : *c;
}

void pw_symbols_describe(struct pw_symbols *symbols, const char *path, uint64_t offset, char *text,
                         size_t size)
{
    const struct module *module = path[0] ? find_module(symbols, path) : NULL;
    const struct pw_symbol_place place = {
        .module = module ? module->module : NULL,
        .address = module ? offset + module->bias : 0,
        .path = path,
        .offset = offset,
    };
    pw_symbols_write(&place, text, size);
}

/* ---- the table ---- */

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
