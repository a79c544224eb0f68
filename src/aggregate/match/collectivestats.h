/* Rows of /collectives and /collective_stats: single instances, and the instances of one
 * communicator, operation and size class, summed up. */
#ifndef PW_AGGREGATE_MATCH_COLLECTIVESTATS_H
#define PW_AGGREGATE_MATCH_COLLECTIVESTATS_H

#include "aggregate/match/instances.h"

/* One row of /collectives. */
struct pw_row_c_collective pw_collective_row(const struct pw_world *world,
                                             const struct pw_instances *instances, size_t i);

/* What collectives lost for one rank's doing. */
struct pw_blame {
    int64_t blame_ns;    /* what all ranks waited */
    int64_t critical_ns; /* of which the job would have gained, to first order */
};

/* Adds up the instances that waited for `rank` and whose last member entered at `from` or later and
 * before `until`, ns since the epoch. */
struct pw_blame pw_collective_sum_blame(const struct pw_instances *instances, int32_t rank,
                                        int64_t from, int64_t until);

/* Complete instances only; rows sorted by total wait, longest first. *rows is malloc'ed. 0 or
 * -ENOMEM. */
int pw_collectivestats_make(const struct pw_world *world, const struct pw_instances *instances,
                            struct pw_row_c_collective_stat **rows, size_t *count);

#endif
