/* The table of contents of a rank file or a small cluster file, which profwrap appends to the file
 * after HDF5 has closed it: the root attributes, and where the tables and texts are stored. With it
 * a reader needs one read of the file's end, and not the HDF5 library, which takes a millisecond to
 * open a file and to find its tables. HDF5 ignores bytes after its own end of the file, and removes
 * them when a program opens the file for writing: so the contents never describe an older state.
 * Written by h5writer.c and the merge, and read by h5file.c and the merge. Tool code; the file may
 * be damaged or hostile. */
#ifndef PW_CORE_H5_H5CONTENTS_H
#define PW_CORE_H5_H5CONTENTS_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

#include "core/h5/h5table.h"

enum pw_h5_kind { PW_H5_RANK, PW_H5_CLUSTER, PW_H5_KINDS };

/* ---- writing ---- */

/* Contents that are being collected. An empty one is {0}. */
struct pw_h5_draft {
    char *bytes;
    size_t n, capacity;
    int err; /* 0, or the first error; then no contents are appended */
    enum pw_h5_kind kind;
};

/* Adds the root attributes of an open file, and the place of the texts in its dataset /strings. */
void pw_h5_draft_begin(struct pw_h5_draft *draft, hid_t file);

/* Adds a table that has rows. */
void pw_h5_draft_add(struct pw_h5_draft *draft, const struct pw_h5_place *place);

/* Appends the contents to the file `fd`, which HDF5 has closed, and frees the draft. `fd` is -1
 * when there is nothing to append to. When this fails, the file stays as HDF5 has left it: the
 * contents are not needed to read it. */
void pw_h5_draft_append(struct pw_h5_draft *draft, int fd);

/* ---- reading ---- */

struct pw_h5_contents;

/* Reads the contents of the file `fd`. Returns 0; -ENOENT when it has none, or none that describe
 * this state of the file or the tables of this program; -ENOMEM. */
int pw_h5_contents_read(int fd, struct pw_h5_contents **out);

void pw_h5_contents_free(struct pw_h5_contents *contents);

/* Sets `place` to where a table is stored; place->rows is 0 when the file has no rows of it. Its
 * chunks belong to `contents`. */
void pw_h5_contents_place(const struct pw_h5_contents *contents, int table,
                          struct pw_h5_place *place);

/* As pw_h5_get_text() and pw_h5_get_int(). */
int pw_h5_contents_text(const struct pw_h5_contents *contents, const char *name, char *value,
                        size_t size);
int pw_h5_contents_int(const struct pw_h5_contents *contents, const char *name, int64_t *value);

/* As pw_h5_read_strings() of "/strings". */
int pw_h5_contents_strings(const struct pw_h5_contents *contents, int fd, char ***strings,
                           size_t *count);

#endif
