/* Reads /events/comm block by block for the passes of the merge; see events.h. */
#include "aggregate/events.h"

#include <errno.h>
#include <stdlib.h>

#include "core/h5reader.h"

enum { BLOCK_ROWS = 16384 };

int pw_events_read(const struct pw_input *input, pw_event_visitor *visit, void *context)
{
    hsize_t dims[2];
    int err = pw_h5_extent(input->file, PW_TABLE_comm_event, dims);
    if (err)
        return err == -ENOENT ? 0 : err;
    struct pw_row_comm_event *rows = malloc(sizeof(*rows) * BLOCK_ROWS);
    if (!rows)
        return -ENOMEM;
    for (hsize_t at = 0; !err && at < dims[0]; at += BLOCK_ROWS) {
        size_t n = dims[0] - at < BLOCK_ROWS ? (size_t)(dims[0] - at) : BLOCK_ROWS;
        err = pw_h5_read_rows(input->file, PW_TABLE_comm_event, at, n, rows);
        for (size_t i = 0; !err && i < n; i++)
            if (rows[i].end >= rows[i].start)
                visit(context, input, &rows[i]);
    }
    free(rows);
    return err;
}
