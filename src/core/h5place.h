/* Where the rows of a table lie in its file, so that they can be read and decompressed without
 * HDF5: its conversion of rows costs more than all else in a merge, and comparing two types with an
 * enumeration of some 200 names takes milliseconds. HDF5 still says where everything is, and reads
 * what is stored in another way than this program does. */
#ifndef PW_CORE_H5PLACE_H
#define PW_CORE_H5PLACE_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
