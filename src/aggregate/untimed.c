/* Reads /events/nccl for what has no time on the device; see untimed.h. */
#include "aggregate/untimed.h"

#include <errno.h>
#include <stdlib.h>

#include "core/h5table.h"

enum { BLOCK = 1024 };

static int mark(struct pw_input *s, const struct pw_row_nccl *row)
{
    if (row->timed != PW_TIMED_ENQUEUED || row->comm_row < 0 ||
        (uint64_t)row->comm_row >= s->event_rows.rows)
        return 0;
    if (!s->untimed)
        s->untimed = calloc((size_t)s->event_rows.rows / 8 + 1, 1);
    if (!s->untimed)
        return -ENOMEM;
    s->nuntimed += !pw_is_untimed(s, (uint64_t)row->comm_row);
    s->untimed[row->comm_row / 8] |= (uint8_t)(1 << row->comm_row % 8);
    return 0;
}

int pw_untimed_read(struct pw_input *s)
{
    uint64_t rows = s->nccl_rows.rows;
    struct pw_h5_table *table = NULL;
    if (!rows)
        return 0;
    struct pw_row_nccl *block = malloc(sizeof(*block) * BLOCK);
    int err = block ? pw_h5_table_open(s->path, &s->nccl_rows, &table) : -ENOMEM;
    for (uint64_t at = 0; at < rows && !err; at += BLOCK) {
        size_t n = rows - at < BLOCK ? (size_t)(rows - at) : BLOCK;
        err = pw_h5_table_read(table, at, n, block);
        for (size_t i = 0; i < n && !err; i++)
            err = mark(s, &block[i]);
    }
    if (table)
        pw_h5_table_close(table);
    free(block);
    return err;
}
