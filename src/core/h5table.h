/* A 1-D table of a file, read block by block. */
#ifndef PW_CORE_H5TABLE_H
#define PW_CORE_H5TABLE_H

#include "core/h5place.h"

struct pw_h5_table;

/* Opens the file `path` for a table found in it before; `place` must outlive the table. 0 or
 * -errno. */
int pw_h5_table_open(const char *path, const struct pw_h5_place *place, struct pw_h5_table **out);

/* Rows [first, first + count) as row structs; what is between their fields may be anything. Reading
 * forward is cheap, any other order decompresses anew. 0, -ERANGE, -ENOMEM or -EIO. */
int pw_h5_table_read(struct pw_h5_table *table, uint64_t first, size_t count, void *rows);

void pw_h5_table_close(struct pw_h5_table *table);

#endif
