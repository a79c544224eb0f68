/* Reads the knots of a rank's clock map from its file, at most PW_KNOTS_MOST: a clock that is
 * measured every 5 s has 6 million knots in a year, and the alignment uses some thousands. Called
 * by input.c when it opens a file. No MPI. */
#ifndef PW_AGGREGATE_INPUT_KNOTS_H
#define PW_AGGREGATE_INPUT_KNOTS_H

#include <stddef.h>

#include "core/h5/h5file.h"
#include "core/tables.h"

enum { PW_KNOTS_MOST = 1 << 14 };

/* Knots in order of time. Each stands for a group of `group` knots that were added. */
struct pw_knots {
    struct pw_row_clock *v; /* [PW_KNOTS_MOST] at most */
    size_t n, capacity, group;
    struct pw_row_clock best, last; /* best knot of the current group; last of all */
    size_t waiting;                 /* number of knots in the current group */
};

/* Adds a knot. The first and the last knot are kept, and the one with the least error of each
 * group. Returns 0, -ENOMEM, or -EDOM when the knot is impossible after the one before. The caller
 * frees knots->v. */
int pw_knots_add(struct pw_knots *knots, const struct pw_row_clock *row);
int pw_knots_finish(struct pw_knots *knots);

/* Reads the knots of the file; *count is 0 when it has no such table. Returns 0 or -errno, -EDOM
 * when the map is impossible. */
int pw_knots_read(const struct pw_h5_file *file, struct pw_row_clock **out, size_t *count);

#endif
