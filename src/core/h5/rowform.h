/* The form of a table's rows in files: packed, which is without the padding of the row struct, and
 * shuffled, which is as HDF5's shuffle filter leaves them. HDF5's own conversion takes more time
 * than the rest of a merge or of a collector's work. Called by readers (h5table.h) and writers
 * (h5writer.h) of tables. Pure functions. */
#ifndef PW_CORE_H5_ROWFORM_H
#define PW_CORE_H5_ROWFORM_H

#include <stddef.h>

/* Consecutive fields with no padding between them, neither in the file nor in the row struct. */
struct pw_row_run {
    size_t from, to, size; /* offset in the packed row, offset in the row struct, bytes */
};

enum { PW_MOST_RUNS = 64 };

/* How a table's rows are laid out. */
struct pw_row_layout {
    size_t row_size, packed_size;
    struct pw_row_run runs[PW_MOST_RUNS];
    size_t nruns;
};

/* Makes the layout of a table of core/tables.h. 0, or -E2BIG when it has too many fields. */
int pw_row_layout_make(int table, struct pw_row_layout *out);

/* Copies `count` row structs to packed rows. */
void pw_rows_pack(const struct pw_row_layout *layout, const char *rows, size_t count, char *packed);

/* Copies packed rows [first, first + count) into row structs; padding bytes are not changed. */
void pw_rows_unpack(const struct pw_row_layout *layout, const char *packed, size_t first,
                    size_t count, char *rows);

/* Shuffled rows: plane k has byte k of every row. */
struct pw_row_planes {
    const char *bytes;
    size_t rows; /* rows of the chunk = bytes of a plane */
};

/* As pw_rows_unpack(), from shuffled rows. */
void pw_rows_unshuffle(const struct pw_row_layout *layout, struct pw_row_planes planes,
                       size_t first, size_t count, char *rows);

/* As pw_rows_pack(), to the first `count` bytes of planes that are `stride` bytes apart; the other
 * bytes are not changed. */
void pw_rows_shuffle(const struct pw_row_layout *layout, const char *rows, size_t count,
                     char *planes, size_t stride);

#endif
