/* The knots of a rank's clock map, as its file has them; of long runs a bounded number. A clock
 * that is measured every 5 s has 6 million in a year, of which alignment uses some thousands.
 * Called by input.c when it opens a file. No MPI. */
#ifndef PW_AGGREGATE_INPUT_KNOTS_H
#define PW_AGGREGATE_INPUT_KNOTS_H

#include <hdf5.h>
#include <stddef.h>

#include "core/tables.h"

enum { PW_KNOTS_MOST = 1 << 14 };

/* Knots in order of time, each of which stands for `group` of those that were added. */
struct pw_knots {
    struct pw_row_clock *v; /* [PW_KNOTS_MOST] at most */
    size_t n, capacity, group;
    struct pw_row_clock best, last; /* of the group that is not full, and of all */
    size_t waiting;                 /* knots in that group */
};

/* The first knot and the last are kept, and of each group that with the least error. Growth of the
 * map is the caller's to free. 0, -ENOMEM, or -EDOM of one that is impossible after the last. */
int pw_knots_add(struct pw_knots *knots, const struct pw_row_clock *row);
int pw_knots_finish(struct pw_knots *knots);

/* All that the file has, or so many of them. None where it has no such table. 0 or -errno; -EDOM
 * of an impossible map. */
int pw_knots_read(hid_t file, struct pw_row_clock **out, size_t *count);

#endif
