/* A table of a rank file, row by row, from its begin to its end; one block of it is in memory.
 * Called where a table is read for itself: samples/, bins.c, missing.c, amounts.c, flops.c and
 * gputrace.c. Events are read with events.h. No MPI. */
#ifndef PW_AGGREGATE_INPUT_CURSOR_H
#define PW_AGGREGATE_INPUT_CURSOR_H

#include "aggregate/input/input.h"
#include "core/h5/h5table.h"

struct pw_cursor {
    struct pw_h5_place place;
    int is_borrowed; /* `place` is the caller's */
    struct pw_h5_table *table;
    char *rows;
    size_t row_size, n, next; /* of the block */
    uint64_t at;              /* where the block after it begins */
    int err;                  /* of a read: the rows end there */
};

/* A rank file that is open for several of its tables. */
struct pw_openfile {
    const struct pw_input *input;
    struct pw_h5_types *types;
    hid_t file;
    char **texts; /* [ntexts] rows of its /strings, where they are needed */
    size_t ntexts;
};

/* The text with that number; "" when there is none. */
static inline const char *pw_openfile_text(const struct pw_openfile *file, uint32_t row)
{
    return row < file->ntexts ? file->texts[row] : "";
}

/* Begins a table of an open file, which may be closed after it. A file without the table has no
 * rows. 0 or -errno; to be closed in either case. */
int pw_cursor_open(struct pw_cursor *cursor, const struct pw_openfile *file, int table);

/* The same of a table whose place is known; `place` outlives the cursor. */
int pw_cursor_at(struct pw_cursor *cursor, const char *path, const struct pw_h5_place *place,
                 int table);

void pw_cursor_close(struct pw_cursor *cursor);

/* The next row, which stays until the next call; NULL behind the last. */
const void *pw_cursor_next(struct pw_cursor *cursor);

/* Begins again with the first row. */
void pw_cursor_rewind(struct pw_cursor *cursor);

#endif
