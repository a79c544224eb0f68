/* Reads a table of a rank file row by row, from begin to end; one block is in memory. Called by
 * samples/, bins.c, missing.c, amounts.c, flops.c and gputrace.c. Events are read with events.h
 * instead. No MPI. */
#ifndef PW_AGGREGATE_INPUT_CURSOR_H
#define PW_AGGREGATE_INPUT_CURSOR_H

#include "aggregate/input/input.h"
#include "core/h5/h5file.h"
#include "core/h5/h5table.h"

struct pw_cursor {
    struct pw_h5_place place;
    int is_borrowed; /* 1: `place` is the caller's */
    struct pw_h5_table *table;
    char *rows;
    size_t row_size, n, next; /* row size in bytes; rows of the block; the next row in it */
    uint64_t at;              /* row at which the next block begins */
    int err;                  /* error of a read: the rows end there */
};

/* A rank file that is open to read several tables. */
struct pw_openfile {
    const struct pw_input *input;
    struct pw_h5_file *file;
    char **texts; /* [ntexts] rows of its /strings; NULL when they are not needed */
    size_t ntexts;
};

/* Returns the text with this number; "" when there is none. */
static inline const char *pw_openfile_text(const struct pw_openfile *file, uint32_t row)
{
    return row < file->ntexts ? file->texts[row] : "";
}

/* 1 when the file has rows of the table. */
static inline int pw_openfile_has(const struct pw_openfile *file, int table)
{
    uint64_t rows;
    return pw_h5_file_rows(file->file, table, &rows) == 0 && rows;
}

/* Opens a table of an open file, which is closed after the cursor. A file without the table
 * counts as one without rows. Returns 0 or -errno; the cursor must be closed in both cases. */
int pw_cursor_open(struct pw_cursor *cursor, const struct pw_openfile *file, int table);

/* The same for a table whose place is known; `place` must outlive the cursor. */
int pw_cursor_at(struct pw_cursor *cursor, const struct pw_input *input,
                 const struct pw_h5_place *place, int table);

void pw_cursor_close(struct pw_cursor *cursor);

/* Returns the next row, which is valid until the next call; NULL after the last. */
const void *pw_cursor_next(struct pw_cursor *cursor);

/* Goes back to the first row. */
void pw_cursor_rewind(struct pw_cursor *cursor);

#endif
