/* Reads tables of rank and cluster files that may be damaged or hostile: every size, class and
 * range is checked before use, and a field that the file lacks reads as zero. Nothing is read from
 * another file, whatever links, external storage or virtual datasets say. Called by all that read
 * such files; the only way to a dataset through HDF5. Tool code; prints nothing. */
#ifndef PW_CORE_H5_H5READER_H
#define PW_CORE_H5_H5READER_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

/* Opens `path` for reading. 0, -ENOENT, -EACCES, or -EINVAL when it is no HDF5 file. */
int pw_h5_open(const char *path, hid_t *out);
void pw_h5_close(hid_t file);

/* Extent of the table's dataset: dims[0], and dims[1] for a 2-D one (1 else). 0, -ENOENT when the
 * file has no such dataset, or -EINVAL when it is no compound dataset of one or two dimensions, or
 * claims rows that the file cannot hold. */
int pw_h5_extent(hid_t file, int table, hsize_t dims[2]);

/* The same, and the dataset, which the caller closes. */
int pw_h5_open_table(hid_t file, int table, hid_t *dataset, hsize_t dims[2]);

/* Rows [first, first + count) of a 1-D table into `rows` (row structs, zeroed first). 0 or -errno.
 */
int pw_h5_read_rows(hid_t file, int table, hsize_t first, size_t count, void *rows);

/* The whole of a 1-D or 2-D table in row-major order; *rows is malloc'ed (NULL when empty), *count
 * in rows. -ENOENT when there is none, -ENOMEM above 2^31 rows or when memory is short. */
int pw_h5_read_all(hid_t file, int table, void **rows, size_t *count);

/* Unpacks each `shares`-th chunk of a table, from number `share` on, and keeps nothing. 0, or
 * -errno when the table has another number of rows, or a chunk was not written, is damaged or not
 * as long as a chunk is; a table that is not there has no rows. */
int pw_h5_check_table(hid_t file, int table, uint64_t rows, size_t share, size_t shares);

/* The variable-length strings of dataset `path`, at most 2^22 of them, as one malloc'ed array whose
 * elements point into it. */
int pw_h5_read_strings(hid_t file, const char *path, char ***strings, size_t *count);

#endif
