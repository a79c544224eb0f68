/* Joins the operators of all merge processes by their names' text, in pairs of processes. What
 * comes out is the same for every number of them, but for the order of the tables. */
#ifndef PW_AGGREGATE_OPERATORS_OPREDUCE_H
#define PW_AGGREGATE_OPERATORS_OPREDUCE_H

#include <mpi.h>

#include "aggregate/operators/optree.h"

/* Adds `from`, whose hashes and cells are not used. 0 or -ENOMEM. */
int pw_opreduce_join(struct pw_optree *into, const struct pw_optree *from);

/* Process 0's tree gets what all others have; cells stay where they are, by their process's own
 * numbers. Collective; `err` is this process's so far. 0 or the worst, the same on all processes.
 */
int pw_opreduce(struct pw_optree *tree, MPI_Comm comm, int err);

#endif
