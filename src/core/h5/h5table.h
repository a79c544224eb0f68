/* Reads a 1-D table of a file block by block, without HDF5 where it is stored as profwrap stores
 * tables: where its rows are in the file, and how they are unpacked. Called by the merge and the
 * timeline, which read many rows. Tool code; the file may be damaged or hostile. */
#ifndef PW_CORE_H5_H5TABLE_H
#define PW_CORE_H5_H5TABLE_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

/* Where the rows of a table lie in its file, so that they can be read and decompressed without
 * HDF5: its conversion of rows costs more than all else in a merge, and comparing two types with an
 * enumeration of some 200 names takes milliseconds. HDF5 still says where everything is, and reads
 * what is stored in another way than this program does. */

/* What files' types have been compared, for the files that follow. */
struct pw_h5_types;

struct pw_h5_chunk {
    uint64_t address; /* in the file */
    uint32_t bytes;
    uint32_t skipped; /* bit i: filter i was not applied to it */
};

struct pw_h5_place {
    int table;
    uint64_t rows; /* 0: the file has no such table, or an empty one */
    /* Rows of a chunk; 0: only HDF5 can read them. */
    size_t chunk_rows;
    struct pw_h5_chunk *chunks;
    size_t nchunks;
    int shuffle, deflate; /* the filter's number, -1: not there */
};

/* NULL when memory is short. */
struct pw_h5_types *pw_h5_types_create(void);
void pw_h5_types_destroy(struct pw_h5_types *types);

/* 0; -EINVAL when the file has something else under the table's name, or -ENOMEM. The caller frees
 * *out with fini. */
int pw_h5_place_find(struct pw_h5_types *types, hid_t file, int table, struct pw_h5_place *out);

void pw_h5_place_fini(struct pw_h5_place *place);

struct pw_h5_table;

/* Opens the file `path` for a table found in it before; `place` must outlive the table. 0 or
 * -errno. */
int pw_h5_table_open(const char *path, const struct pw_h5_place *place, struct pw_h5_table **out);

/* Rows [first, first + count) as row structs; what is between their fields may be anything. Reading
 * forward is cheap, any other order decompresses anew. 0, -ERANGE, -ENOMEM or -EIO. */
int pw_h5_table_read(struct pw_h5_table *table, uint64_t first, size_t count, void *rows);

void pw_h5_table_close(struct pw_h5_table *table);

/* Undoes deflate and shuffle on a chunk of a table, and spreads its packed rows into row structs.
 * No HDF5. */

/* Fields that are side by side in the file's rows and in the row structs. */
struct pw_row_run {
    size_t from, to, size;
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

/* Rows [first, first + count) of packed rows into row structs; bytes between their
 * fields are left alone. */
void pw_rows_unpack(const struct pw_row_layout *layout, const char *packed, size_t first,
                    size_t count, char *rows);

/* Shuffled rows: a plane has the k-th bytes of all rows, the next one all their k+1st. */
struct pw_row_planes {
    const char *bytes;
    size_t rows; /* of a chunk: bytes of a plane */
};

/* The same from shuffled rows. */
void pw_rows_unshuffle(const struct pw_row_layout *layout, struct pw_row_planes planes,
                       size_t first, size_t count, char *rows);

#endif
