/* A 1-D table of an open file, read block by block. Where the file's rows are packed as this
 * program writes them, they are unpacked here: HDF5's own conversion costs more than decompressing
 * them. */
#ifndef PW_CORE_H5TABLE_H
#define PW_CORE_H5TABLE_H

#include <hdf5.h>
#include <stddef.h>

struct pw_h5_table;

/* 0; -ENOENT when the file has no such table, -EINVAL when it is none of one dimension, or -ENOMEM.
 * `file` must stay open until the table is closed. */
int pw_h5_table_open(hid_t file, int table, struct pw_h5_table **out);

hsize_t pw_h5_table_rows(const struct pw_h5_table *table);

/* Rows [first, first + count) as row structs, zeroed where the file has no such field. 0, -ERANGE,
 * -ENOMEM or -EIO. */
int pw_h5_table_read(struct pw_h5_table *table, hsize_t first, size_t count, void *rows);

void pw_h5_table_close(struct pw_h5_table *table);

#endif
