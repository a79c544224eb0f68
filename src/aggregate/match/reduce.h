/* The merge's own MPI reductions. All are exact (integers) and do not depend on the order in which
 * the processes are joined, so that the result is the same for every number of processes. */
#ifndef PW_AGGREGATE_MATCH_REDUCE_H
#define PW_AGGREGATE_MATCH_REDUCE_H

#include <mpi.h>

#include "aggregate/match/instances.h"

/* into = into joined with one; an instance with nranks 0 is empty. */
void pw_instance_join(struct pw_instance *into, const struct pw_instance *one);

/* Allreduce of `n` instances, in place. */
void pw_reduce_instances(struct pw_instance *items, size_t n, MPI_Comm comm);

/* Allreduce of `n` waits, in place: sums and maxima. */
void pw_reduce_waits(struct pw_instance_wait *waits, size_t n, MPI_Comm comm);

#endif
