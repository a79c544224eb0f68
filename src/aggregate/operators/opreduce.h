/* Joins the operators of all merge processes by their names' text, in pairs of processes, and asks
 * all processes for single ranks' figures. Called by operators.c and kernelrows.c on all processes
 * together. What comes out is the same for every number of processes, but for the order of the
 * tables. */
#ifndef PW_AGGREGATE_OPERATORS_OPREDUCE_H
#define PW_AGGREGATE_OPERATORS_OPREDUCE_H

#include <mpi.h>

#include "aggregate/input/procs.h"
#include "aggregate/operators/optree.h"
#include "core/tables.h"

/* Adds `from`, whose hashes and cells are not used. 0 or -ENOMEM. */
int pw_opreduce_join(struct pw_optree *into, const struct pw_optree *from);

/* Process 0's tree gets what all others have; cells stay where they are, by their process's own
 * numbers. Collective; `err` is this process's so far. 0 or the worst, the same on all processes.
 */
int pw_opreduce(struct pw_optree *tree, MPI_Comm comm, int err);

/* ---- figures of each rank ---- */

enum { PW_OPCELLS_MOST = 256 };

/* What is asked for; for process 0 to say. `row` is how the answers name the operator. */
struct pw_opcells {
    int32_t ops[PW_OPCELLS_MOST], rows[PW_OPCELLS_MOST];
    size_t n;
};

/* Answers *count rows (malloc'ed) on all processes, by row, then rank; those of row -1 are of all
 * operators together. Collective. 0 or the worst error, the same on all. */
int pw_opcells_gather(const struct pw_procs *procs, struct pw_optree *tree,
                      const struct pw_opcells *wanted, struct pw_row_c_operator_rank **out,
                      size_t *count);

#endif
