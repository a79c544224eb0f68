/* Reads tables of rank and cluster files that may be damaged or hostile: every size, class and
 * range is checked before use, and a field that the file lacks reads as zero. Links, external
 * storage and virtual datasets that lead to another file are refused. Called by all code that reads
 * such files; no other code opens datasets. Tool code; prints nothing. */
#ifndef PW_CORE_H5_H5READER_H
#define PW_CORE_H5_H5READER_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cells.h"

/* Opens `path` for reading. 0, -ENOENT, -EACCES, or -EINVAL when it is no HDF5 file. */
int pw_h5_open(const char *path, hid_t *out);
void pw_h5_close(hid_t file);

/* Sets `dims` to the extent of the table's dataset; dims[1] is 1 when it has one dimension. Returns
 * 0; -ENOENT when the file has no such dataset; -EINVAL when it is no compound dataset of one or
 * two dimensions, or claims more rows than the file can hold. */
int pw_h5_extent(hid_t file, int table, hsize_t dims[2]);

/* As pw_h5_extent(), and opens the dataset, which the caller closes. */
int pw_h5_open_table(hid_t file, int table, hid_t *dataset, hsize_t dims[2]);

/* Reads the rows [first, first + count) of a 1-D table into `rows` (row structs, which are zeroed
 * first). Returns 0 or -errno. */
int pw_h5_read_rows(hid_t file, int table, hsize_t first, size_t count, void *rows);

/* Reads a whole 1-D or 2-D table in row-major order. *rows is malloc'ed (NULL when empty), *count
 * is the number of rows. Returns 0; -ENOENT when there is no such table; -ENOMEM above 2^31 rows or
 * when memory is short; or another -errno. */
int pw_h5_read_all(hid_t file, int table, void **rows, size_t *count);

/* Reads a table with a row for each of dims[0] steps and dims[1] ranks. An empty table is not known
 * (core/cells.h). Returns 0; -EINVAL when the table has another number of rows; or the errors of
 * pw_h5_read_all(): then there is nothing to free. */
int pw_h5_read_cells(hid_t file, int table, const size_t dims[2], struct pw_cells *cells);

/* Checks each `shares`-th chunk of a table, from number `share` on, by decompressing it. Returns 0,
 * or -errno when the table does not have `rows` rows (a missing table has 0), or when a chunk was
 * not written, is damaged, or has a wrong length. */
int pw_h5_check_table(hid_t file, int table, uint64_t rows, size_t share, size_t shares);

/* Reads the variable-length strings of dataset `path`, at most 2^22, into one malloc'ed block: the
 * pointers and the texts, so one free() is enough. Returns 0 or -errno. */
int pw_h5_read_strings(hid_t file, const char *path, char ***strings, size_t *count);

#endif
