/* /collective_stats: the instances of one communicator, operation and size class, summed up. */
#ifndef PW_AGGREGATE_COLLECTIVESTATS_H
#define PW_AGGREGATE_COLLECTIVESTATS_H

#include "aggregate/instances.h"

/* Complete instances only; rows sorted by total wait, longest first. *rows is malloc'ed. 0 or
 * -ENOMEM. */
int pw_collectivestats_make(const struct pw_job *job, const struct pw_instances *instances,
                            struct pw_row_c_collective_stat **rows, size_t *count);

#endif
