/* Appends rows to the 1-D tables of one new HDF5 file. Rows are buffered until a chunk is full. A
 * table's dataset is created when its first chunk is written, or empty at close if
 * pw_h5_writer_require() asked for it. Called by the writer of rank files (rank/file). Tool code,
 * one thread. */
#ifndef PW_CORE_H5_H5WRITER_H
#define PW_CORE_H5_H5WRITER_H

#include <hdf5.h>
#include <stdint.h>

struct pw_h5_writer;

/* Creates `path`, which must not exist; `level` is the level of deflate (0..9). Returns 0, -EEXIST,
 * -ENOMEM or -EIO. */
int pw_h5_writer_create(const char *path, int level, struct pw_h5_writer **out);

/* Appends one row, the table's struct. Returns 0, or the first error of a write. After an error
 * every further row is refused with the same error, and counted by pw_h5_writer_refused(). */
int pw_h5_writer_append(struct pw_h5_writer *writer, int table, const void *row);

/* As pw_h5_writer_append(), but the caller fills in the returned row before it calls the writer
 * again. Returns NULL when the row is refused. */
void *pw_h5_writer_add(struct pw_h5_writer *writer, int table);

/* Makes sure that `table` exists in the file even when no row is ever appended. */
void pw_h5_writer_require(struct pw_h5_writer *writer, int table);

int64_t pw_h5_writer_rows(const struct pw_h5_writer *writer, int table);
int64_t pw_h5_writer_refused(const struct pw_h5_writer *writer);

/* Returns the bytes of the file so far plus those of the buffered rows. */
int64_t pw_h5_writer_bytes(const struct pw_h5_writer *writer);

/* The open file, for attributes and strings. */
hid_t pw_h5_writer_borrow_file(struct pw_h5_writer *writer);

/* Writes the buffered rows, closes the file and frees the writer. Returns 0, or the first error
 * since the writer was created. */
int pw_h5_writer_close(struct pw_h5_writer *writer);

/* Writes `count` strings as the variable-length UTF-8 dataset `path`. 0 or -EIO. */
int pw_h5_write_strings(hid_t file, const char *path, const char *const *strings, size_t count);

#endif
