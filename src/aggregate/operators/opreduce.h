/* Joins the operator trees of all processes, by the text of names, and gathers figures of single
 * ranks. Called by operators.c and kernelrows.c on all processes together. The result is the same
 * for every number of processes, except for the order of the tables. */
#ifndef PW_AGGREGATE_OPERATORS_OPREDUCE_H
#define PW_AGGREGATE_OPERATORS_OPREDUCE_H

#include "aggregate/input/procs.h"
#include "aggregate/operators/optree.h"
#include "core/tables.h"

/* Adds the tree `from`, whose hashes and cells are not used. Returns 0 or -ENOMEM. */
int pw_opreduce_join(struct pw_optree *into, const struct pw_optree *from);

/* Adds the trees of all processes to process 0's tree, except cells: these stay on each process,
 * with its own numbers. `err` is the error of this process so far. Collective. Returns 0 or the
 * worst error, the same on all processes. */
int pw_opreduce(struct pw_optree *tree, pw_ex_comm comm, int err);

/* ---- figures of each rank ---- */

enum { PW_OPCELLS_MOST = 256 };

/* The operators whose figures are wanted; filled by process 0. The answers identify an operator by
 * its `row`. */
struct pw_opcells {
    int32_t ops[PW_OPCELLS_MOST], rows[PW_OPCELLS_MOST];
    size_t n;
};

/* Gathers the figures in *out (*count rows, malloc'ed) on all processes, sorted by row, then by
 * rank. Row -1 is of all operators together. Collective. Returns 0 or the worst error, the same on
 * all processes. */
int pw_opcells_gather(const struct pw_procs *procs, struct pw_optree *tree,
                      const struct pw_opcells *wanted, struct pw_row_c_operator_rank **out,
                      size_t *count);

#endif
