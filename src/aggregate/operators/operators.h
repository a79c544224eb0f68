/* The operators of the job as rows of the cluster file; docs/metrics.md, "Operators". Called by
 * aggregate.c on all processes together, when all ranks are read and nothing needs the processes'
 * own trees any more. No I/O. */
#ifndef PW_AGGREGATE_OPERATORS_OPERATORS_H
#define PW_AGGREGATE_OPERATORS_OPERATORS_H

#include "aggregate/input/job.h"
#include "aggregate/operators/optree.h"

/* Rows that are written of each table; what is beyond is joined in one row, or left out of paths.
 */
enum { PW_OPERATORS_MOST = 100000, PW_OPERATORS_BY_RANK = 64 };

struct pw_operators {
    struct pw_row_c_operator *ops;
    struct pw_row_c_operator_type *types;
    struct pw_row_c_operator_shape *shapes;
    struct pw_row_c_operator_stack *stacks;
    struct pw_row_c_operator_rank *ranks;
    size_t nops, ntypes, nshapes, nstacks, nranks;
};

/* Reduces the processes' trees, of which process 0's is changed, and makes the rows on process 0;
 * the others get none. Collective; `err` is this process's so far. 0 or the worst, the same on all.
 */
int pw_operators_make(struct pw_operators *out, struct pw_job *job, struct pw_optree *tree,
                      int err);

void pw_operators_fini(struct pw_operators *operators);

/* Rows of /operators, /operator_types, /operator_shapes and /operator_stacks from summed operators.
 * Their order, and so the file, does not depend on the order in which the sums were made. */

/* Fills the tables; *order (malloc'ed) gets the operators' numbers in the order of their rows.
 * Inner time of functions is entered in `tree`. 0 or -ENOMEM; `out` is then partly filled. */
int pw_oprows_make(struct pw_operators *out, struct pw_optree *tree, int32_t **order);

#endif
