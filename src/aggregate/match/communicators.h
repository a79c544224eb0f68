/* The communicators of the job, with what their collectives cost: the rows of /communicators.
 * Called by aggregate.c after the second pass has added up the waits. Reads names from the rank
 * files, and changes nothing in the instances. */
#ifndef PW_AGGREGATE_MATCH_COMMUNICATORS_H
#define PW_AGGREGATE_MATCH_COMMUNICATORS_H

#include "aggregate/match/instances.h"

/* Makes the rows, most wait first; on process 0 only, elsewhere *n is 0. Collective over the
 * processes. *rows is malloc'ed. Returns 0, or on process 0 also -ENOMEM. */
int pw_communicators_make(const struct pw_job *job, const struct pw_instances *instances,
                          struct pw_row_c_communicator **rows, size_t *n);

/* Adds up the instances of a communicator, of which the waits of complete ones count. `out` has its
 * uid and nranks. Returns 0 or -ENOMEM. */
int pw_communicator_sum_up(const struct pw_instances *instances,
                           const struct pw_comm_group *communicator,
                           struct pw_row_c_communicator *out);

/* Writes sorted ranks as "0-3,8,12"; "…" stands for those that do not fit. */
void pw_communicator_list_ranks(const int32_t *ranks, size_t n, char *out, size_t size);

#endif
