/* A rank file or cluster file that is open for reading. Where it has a valid table of contents
 * (h5contents.h), it is read without the HDF5 library; files of other versions, and files that
 * another program has changed, are read with it. The results are the same. Called by the merge,
 * timelines, OTF2 export and import, which open many files. Tool code; the file may be damaged or
 * hostile. */
#ifndef PW_CORE_H5_H5FILE_H
#define PW_CORE_H5_H5FILE_H

#include <stddef.h>
#include <stdint.h>

#include "core/cells.h"
#include "core/h5/h5table.h"

struct pw_h5_file;

/* Opens `path`; `types` must outlive the file, and is needed for pw_h5_file_place() only. Returns
 * 0, -EINVAL when it is no HDF5 file, or another -errno. */
int pw_h5_file_open(struct pw_h5_types *types, const char *path, struct pw_h5_file **out);

/* The same for a file that is open as `fd`, which stays open when the result is closed. `path` is
 * its path, for the HDF5 library. */
int pw_h5_file_open_at(struct pw_h5_types *types, int fd, const char *path,
                       struct pw_h5_file **out);
void pw_h5_file_close(struct pw_h5_file *file);

/* 0 when the file has the format `format` and a version that this program can read; see
 * pw_format_check(). */
int pw_h5_file_check(const struct pw_h5_file *file, const char *format);

/* As pw_h5_get_text() and pw_h5_get_int(). */
int pw_h5_file_text(const struct pw_h5_file *file, const char *name, char *value, size_t size);
int pw_h5_file_int(const struct pw_h5_file *file, const char *name, int64_t *value);

/* As pw_h5_place_find(). The caller frees *out with pw_h5_place_fini(). */
int pw_h5_file_place(const struct pw_h5_file *file, int table, struct pw_h5_place *out);

/* Sets *rows to the number of rows of a table. Returns as pw_h5_extent(). */
int pw_h5_file_rows(const struct pw_h5_file *file, int table, uint64_t *rows);

/* As pw_h5_read_all(). A table without rows may count as one that the file does not have: -ENOENT.
 */
int pw_h5_file_read_all(const struct pw_h5_file *file, int table, void **rows, size_t *count);

/* As pw_h5_read_cells(). A table without rows has unknown cells. */
int pw_h5_file_read_cells(const struct pw_h5_file *file, int table, const size_t dims[2],
                          struct pw_cells *cells);

/* As pw_h5_read_strings() of "/strings". */
int pw_h5_file_strings(const struct pw_h5_file *file, char ***strings, size_t *count);

/* As pw_h5_table_open(), for a file that stays open until the table is closed. */
int pw_h5_file_table(const struct pw_h5_file *file, const struct pw_h5_place *place,
                     struct pw_h5_table **out);

#endif
