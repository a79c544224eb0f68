/* Reads a 1-D table of a file block by block. When the table is stored as profwrap stores tables,
 * the rows are read and decompressed without HDF5. Called by the merge and the timeline, which read
 * many rows. Tool code; the file may be damaged or hostile. */
#ifndef PW_CORE_H5_H5TABLE_H
#define PW_CORE_H5_H5TABLE_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

/* Where the rows of a table lie in its file, so that they can be read without HDF5. HDF5's
 * conversion of rows would take more time than the rest of a merge, and its comparison of two types
 * with an enumeration of 200 names takes milliseconds. HDF5 still finds the addresses of the
 * chunks, and reads tables that are stored in another way. */

/* Types of files that were already compared with ours; later files often have the same. */
struct pw_h5_types;

struct pw_h5_chunk {
    uint64_t address; /* of its first byte in the file */
    uint32_t bytes;
    uint32_t skipped; /* bit i: filter i was not applied to this chunk */
};

struct pw_h5_place {
    int table;
    uint64_t rows; /* 0: the file has no such table, or an empty one */
    /* Rows of a chunk; 0: only HDF5 can read the table. */
    size_t chunk_rows;
    struct pw_h5_chunk *chunks;
    size_t nchunks;
    /* Columns of a table with two dimensions whose chunks have all columns: rows are counted by row
     * and then column, and so are the rows of a chunk. 0: the table has one dimension. */
    size_t columns;
    int shuffle, deflate; /* numbers of the two filters; -1: not used */
};

/* NULL when memory is short. */
struct pw_h5_types *pw_h5_types_create(void);
void pw_h5_types_destroy(struct pw_h5_types *types);

/* Finds where `table` is stored. Returns 0; -EINVAL when the file has something else under the
 * table's name; -ENOMEM. The caller frees *out with pw_h5_place_fini(). */
int pw_h5_place_find(struct pw_h5_types *types, hid_t file, int table, struct pw_h5_place *out);

/* Lists the chunks of a dataset: place->rows and place->chunk_rows are set. A chunk has at most
 * `most_bytes` bytes. Returns 0; -EINVAL when a chunk is not stored or its address or size is
 * impossible; -ENOMEM. */
int pw_h5_place_list(hid_t dataset, uint64_t most_bytes, struct pw_h5_place *place);

void pw_h5_place_fini(struct pw_h5_place *place);

/* Inflates all chunks of a place in the open file `fd`, to check them. Returns 0, -ENOMEM or -EIO.
 */
int pw_h5_place_check(int fd, const struct pw_h5_place *place);

struct pw_h5_table;

/* Opens the file `path` to read a table that pw_h5_place_find() found in it. `place` must outlive
 * *out. Returns 0 or -errno. */
int pw_h5_table_open(const char *path, const struct pw_h5_place *place, struct pw_h5_table **out);

/* The same in the open file `fd`, which the caller closes after *out. HDF5 is not needed for the
 * place: place->chunk_rows is not 0, or there are no rows. */
int pw_h5_table_open_at(int fd, const struct pw_h5_place *place, struct pw_h5_table **out);

/* Reads the rows [first, first + count) into row structs; padding bytes are undefined. Reading
 * forward is fast; in any other order a chunk is decompressed again. Returns 0, -ERANGE, -ENOMEM or
 * -EIO. */
int pw_h5_table_read(struct pw_h5_table *table, uint64_t first, size_t count, void *rows);

void pw_h5_table_close(struct pw_h5_table *table);

#endif
