/* Replaces the rows of a table in a file without the HDF5 library, which would take milliseconds to
 * open the file, and would remove its table of contents (h5contents.h). The chunks keep their
 * places and sizes: their new contents must not be longer. Called by the import only, for files
 * that this process has just written. Tool code. */
#ifndef PW_CORE_H5_H5REPLACE_H
#define PW_CORE_H5_H5REPLACE_H

#include "core/h5/h5table.h"

/* Writes the place->rows row structs `rows` to the file `fd`, which is open for writing. Returns 0;
 * 1 when that is not possible: then nothing was written; -ENOMEM or -EIO. */
int pw_h5_replace_rows(int fd, const struct pw_h5_place *place, const void *rows);

#endif
