/* HDF5 types made from the table descriptors of tables.h, and small helpers that every reader and
 * writer shares. Compiled once against serial HDF5 (collector, reports) and once against parallel
 * HDF5 (merge); the interface is the same. Tool code; prints nothing. */
#ifndef PW_CORE_H5_H5TYPES_H
#define PW_CORE_H5_H5TYPES_H

#include <hdf5.h>

#include "core/tables.h"

/* Compound type of the row struct in memory. The caller closes it. Negative on failure. */
hid_t pw_h5_memory_type(const struct pw_table *table);

/* The same fields without padding, as stored. The caller closes it. Negative on failure. */
hid_t pw_h5_file_type(const struct pw_table *table);

/* Before any other use of HDF5: silences its own error printing for this process (errors reach the
 * caller as return values) and its clean-up at exit, so files must be closed. */
void pw_h5_quiet(void);

/* How the dataset of a table is made. */
struct pw_h5_form {
    int rank; /* dimensions: 1 or 2 */
    const hsize_t *dims, *chunk;
    int is_unlimited; /* in each dimension */
    int level;        /* shuffled and deflated at this level; 0: neither */
};

/* Creates the dataset of `table` in `file`, with its parent groups. Returns the open dataset or a
 * negative value. */
hid_t pw_h5_create_table(hid_t file, const struct pw_table *table, const struct pw_h5_form *form);

/* Filter number `i` of a dataset's creation properties. */
H5Z_filter_t pw_h5_filter(hid_t properties, int i);

/* Root attributes. 0 or -EIO; readers: -ENOENT when there is none, -EINVAL when it is of another
 * kind. A string longer than `size` - 1 is cut. */
int pw_h5_set_text(hid_t file, const char *name, const char *value);
int pw_h5_set_int(hid_t file, const char *name, int64_t value);
int pw_h5_get_text(hid_t file, const char *name, char *value, size_t size);
int pw_h5_get_int(hid_t file, const char *name, int64_t *value);

/* The two file formats' names and version, and the check every reader makes first. */

#define PW_FORMAT_RANK "profwrap-rank"
#define PW_FORMAT_CLUSTER "profwrap-cluster"
enum { PW_FORMAT_VERSION = 1 };

/* Writes the attributes format, format_version and profwrap_version. 0 or -EIO. */
int pw_format_stamp(hid_t file, const char *format);

/* 0 when `file` is of `format` and this program can read its version; -EINVAL when it is something
 * else; -EPROTO when it is newer. */
int pw_format_check(hid_t file, const char *format);

#endif
