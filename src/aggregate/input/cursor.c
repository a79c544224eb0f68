/* Reads a block when the one before it is used up; see cursor.h. */
#include "aggregate/input/cursor.h"

#include <errno.h>
#include <stdlib.h>

#include "core/tables.h"

enum { BLOCK = 1024 };

int pw_cursor_open(struct pw_cursor *c, const struct pw_openfile *from, int table)
{
    *c = (struct pw_cursor){.row_size = pw_table_borrow(table)->row_size};
    int err = pw_h5_file_place(from->file, table, &c->place);
    if (err || !c->place.rows)
        return err;
    c->rows = malloc(BLOCK * c->row_size);
    return c->rows ? pw_h5_file_table(from->file, &c->place, &c->table) : -ENOMEM;
}

int pw_cursor_at(struct pw_cursor *c, const struct pw_input *input, const struct pw_h5_place *place,
                 int table)
{
    *c = (struct pw_cursor){
        .row_size = pw_table_borrow(table)->row_size, .place = *place, .is_borrowed = 1};
    if (!place->rows)
        return 0;
    c->rows = malloc(BLOCK * c->row_size);
    return c->rows ? pw_input_table(input, &c->place, &c->table) : -ENOMEM;
}

void pw_cursor_close(struct pw_cursor *c)
{
    pw_h5_table_close(c->table);
    if (!c->is_borrowed)
        pw_h5_place_fini(&c->place);
    free(c->rows);
    *c = (struct pw_cursor){0};
}

static int load(struct pw_cursor *c)
{
    uint64_t left = c->table ? c->place.rows - c->at : 0;
    size_t n = left < BLOCK ? (size_t)left : BLOCK;
    if (!n || c->err)
        return 0;
    c->err = pw_h5_table_read(c->table, c->at, n, c->rows);
    c->at += n;
    c->n = c->err ? 0 : n;
    c->next = 0;
    return !c->err;
}

const void *pw_cursor_next(struct pw_cursor *c)
{
    if (c->next == c->n && !load(c))
        return NULL;
    return c->rows + c->next++ * c->row_size;
}

void pw_cursor_rewind(struct pw_cursor *c)
{
    c->at = 0;
    c->n = c->next = 0;
}
