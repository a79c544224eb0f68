/* Reads /events/comm block by block for the passes of the merge; see events.h. */
#include "aggregate/events.h"

#include <errno.h>
#include <stdlib.h>

#include "core/h5table.h"

/* A whole number of the writer's chunks: none is decompressed twice. */
enum { BLOCK_ROWS = 8192 };

static int read_all(struct pw_h5_table *table, const struct pw_input *input,
                    pw_event_visitor *visit, void *context)
{
    hsize_t total = pw_h5_table_rows(table);
    size_t room = total < BLOCK_ROWS ? (size_t)total : BLOCK_ROWS;
    struct pw_row_comm_event *rows = malloc(sizeof(*rows) * (room + 1));
    int err = rows ? 0 : -ENOMEM;
    for (hsize_t at = 0; !err && at < total; at += BLOCK_ROWS) {
        size_t n = total - at < BLOCK_ROWS ? (size_t)(total - at) : BLOCK_ROWS;
        err = pw_h5_table_read(table, at, n, rows);
        for (size_t i = 0; !err && i < n; i++)
            if (rows[i].end >= rows[i].start)
                visit(context, input, &rows[i]);
    }
    free(rows);
    return err;
}

int pw_events_read(const struct pw_input *input, pw_event_visitor *visit, void *context)
{
    struct pw_h5_table *table;
    hid_t file;
    int err = pw_input_acquire(input, &file);
    if (err)
        return err;
    err = pw_h5_table_open(file, PW_TABLE_comm_event, &table);
    if (!err) {
        err = read_all(table, input, visit, context);
        pw_h5_table_close(table);
    }
    pw_input_release(input, file);
    return err == -ENOENT ? 0 : err;
}
