/* The rows of one table that wait until a chunk is full. The newest rows are row structs. As soon
 * as there are some of them, and while they are in the processor's cache, they are moved to the
 * form in which the file has them. If this were done for a whole chunk, all of its rows would be
 * read from memory again. Called by h5writer.c. Tool code, one thread. */
#ifndef PW_CORE_H5_ROWBUFFER_H
#define PW_CORE_H5_ROWBUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/h5/rowform.h"

/* Rows that are moved at once. 128 rows of /events/comm take 12 KiB, a third of a core's cache. */
enum { PW_RECENT_ROWS = 128 };

struct pw_rowbuffer {
    struct pw_row_layout layout;
    size_t most;      /* rows of a full chunk; 0: not initialised */
    bool is_shuffled; /* else rows are packed */
    char *recent;     /* row structs */
    size_t nrecent;
    char *moved;         /* older rows, shuffled or packed; NULL: none yet */
    size_t nmoved, room; /* `room`: rows for which `moved` has memory, the distance of planes */
};

/* Makes an empty buffer for chunks of `most` rows. Returns 0, -E2BIG or -ENOMEM. */
int pw_rowbuffer_init(struct pw_rowbuffer *buffer, int table, size_t most, bool is_shuffled);
void pw_rowbuffer_fini(struct pw_rowbuffer *buffer);

static inline size_t pw_rowbuffer_rows(const struct pw_rowbuffer *buffer)
{
    return buffer->nmoved + buffer->nrecent;
}

/* Moves the recent rows, so that there is room for others. Returns 0 or -ENOMEM. */
int pw_rowbuffer_move(struct pw_rowbuffer *buffer);

/* Adds a row to a buffer that is not full. Returns it, to be filled in by the caller before the
 * next call; NULL when memory is short. */
static inline void *pw_rowbuffer_add(struct pw_rowbuffer *buffer)
{
    if (buffer->nrecent == PW_RECENT_ROWS && pw_rowbuffer_move(buffer))
        return NULL;
    return buffer->recent + buffer->nrecent++ * buffer->layout.row_size;
}

/* Returns the bytes of a chunk of `chunk_rows` rows, the first of which are all rows of the buffer;
 * the others are zero. The bytes are valid until the next row is added; the buffer is empty then.
 * Returns NULL when memory is short. */
const char *pw_rowbuffer_take(struct pw_rowbuffer *buffer, size_t chunk_rows);

#endif
