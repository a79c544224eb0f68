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

/* Call after H5close(), which closes types that this file keeps, and undoes pw_h5_quiet(). */
void pw_h5_types_forget(void);

/* Call before any other use of HDF5; pw_h5_open() does. Turns off HDF5's error messages for this
 * process (callers get return values) and its clean-up at exit: close files before the process
 * ends. */
void pw_h5_quiet(void);

/* Properties for new files: the root group keeps its attributes in its header. By default it moves
 * more than eight to a heap and a tree, which takes longer. The caller closes them. */
hid_t pw_h5_creation(void);

/* ---- attributes that give the units and the meanings of a table's columns, so that a reader needs
 * no page about the format; each is a JSON text ---- */

#define PW_H5_UNITS "units"
#define PW_H5_MEANINGS "meanings"

/* Writes the attribute PW_H5_MEANINGS of a table's dataset: {"start": "when ...", ...}, with all
 * its columns. Returns 0, -ENOMEM or -EIO. */
int pw_h5_meanings_write(hid_t dataset, const struct pw_table *table);

/* Writes the attribute PW_H5_MEANINGS of a group, for all tables of rank files:
 * {"/steps": {"start": "when ...", ...}, ...}. Returns 0, -ENOMEM or -EIO. */
int pw_h5_rank_meanings_write(hid_t group);

/* How the dataset of a table is made. */
struct pw_h5_form {
    int rank; /* dimensions: 1 or 2 */
    const hsize_t *dims, *chunk;
    int is_unlimited; /* whether each dimension can grow */
    int level;        /* level of deflate, after a shuffle; 0: no filters */
};

/* Creates the dataset of `table` in `file`, with its parent groups and with the units of its
 * columns. Returns the open dataset or a negative value. */
hid_t pw_h5_create_table(hid_t file, const struct pw_table *table, const struct pw_h5_form *form);

/* Filter number `i` of a dataset's creation properties. */
H5Z_filter_t pw_h5_filter(hid_t properties, int i);

/* Write and read attributes of a file (those of its root group) or of a dataset. Writers return 0
 * or -EIO. Readers return 0; -ENOENT when there is no such attribute, -EINVAL when it has another
 * type. A string longer than `size` - 1 is cut. */
int pw_h5_set_text(hid_t file, const char *name, const char *value);
int pw_h5_set_int(hid_t file, const char *name, int64_t value);
int pw_h5_get_text(hid_t file, const char *name, char *value, size_t size);
int pw_h5_get_int(hid_t file, const char *name, int64_t *value);

/* The names and the version of the two file formats. Every reader calls pw_format_check() first. */

#define PW_FORMAT_RANK "profwrap-rank"
#define PW_FORMAT_CLUSTER "profwrap-cluster"
enum { PW_FORMAT_VERSION = 1 };

/* Writes the attributes format, format_version and profwrap_version. 0 or -EIO. */
int pw_format_stamp(hid_t file, const char *format);

/* Returns 0 when `file` has the format `format` and a version that this program can read; -EINVAL
 * when it has another format; -EPROTO when its version is newer. */
int pw_format_check(hid_t file, const char *format);

/* The same for a version that was read. */
int pw_format_version_check(int64_t version);

#endif
