/* The form of a table's rows in files: packed, which is without the padding of the row struct, and
 * shuffled, which is as HDF5's shuffle filter leaves them. HDF5's own conversion takes more time
 * than the rest of a merge or of a collector's work. Called by readers (h5table.h) and writers
 * (h5writer.h) of tables, and by the merge. Does no I/O. */
#ifndef PW_CORE_H5_ROWFORM_H
#define PW_CORE_H5_ROWFORM_H

#include <stddef.h>
#include <stdint.h>

#include "core/deflater.h"

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

/* Makes the bytes of a chunk from rows: shuffled and compressed as HDF5's filters do it, or packed
 * where the file is not compressed. HDF5 then only stores the chunk: its conversion, shuffle and
 * zlib would take most of a collector's time, and much of a merge's. */

struct pw_chunkpack {
    int level;                    /* of deflate; 0: chunks have no filters */
    struct pw_deflater *deflater; /* NULL: chunks are not compressed */
    struct pw_chunk_room {
        char *bytes;
        size_t size;
    } plain, deflated; /* a chunk as the file has it, without and with deflate */
};

/* What H5Dwrite_chunk() needs. The bytes belong to the packer, until its next chunk. */
struct pw_packed_chunk {
    const char *bytes;
    size_t size;
    uint32_t skipped; /* bit i: filter i was not applied; the filters are shuffle and deflate */
};

/* When memory is short, the chunks are not compressed. */
void pw_chunkpack_init(struct pw_chunkpack *pack, int level);
void pw_chunkpack_fini(struct pw_chunkpack *pack);

/* The rows of a chunk: the first `count` are given (row structs), the others are zero. */
struct pw_chunk_rows {
    size_t chunk_rows;
    const void *rows;
    size_t count;
};

/* Packs a chunk. Returns 0 or -ENOMEM. */
int pw_chunkpack_run(struct pw_chunkpack *pack, const struct pw_row_layout *layout,
                     struct pw_chunk_rows rows, struct pw_packed_chunk *out);

/* Packs a chunk whose rows are in the form of the file already: shuffled, or packed where the file
 * is not compressed. Returns 0 or -ENOMEM. `bytes` must be valid as long as *out. */
int pw_chunkpack_deflate(struct pw_chunkpack *pack, const char *bytes, size_t size,
                         struct pw_packed_chunk *out);

#endif
