/* The operators of the job as rows of the cluster file; docs/metrics.md, "Operators". Called by
 * aggregate.c on all processes together, after all ranks were read, and when the processes' own
 * trees are needed no more. No I/O. */
#ifndef PW_AGGREGATE_OPERATORS_OPERATORS_H
#define PW_AGGREGATE_OPERATORS_OPERATORS_H

#include "aggregate/input/job.h"
#include "aggregate/operators/optree.h"

/* Limits: rows in each table, and operators with rows for each rank. Further operators are joined
 * in one row; further paths are left out. */
enum { PW_OPERATORS_MOST = 100000, PW_OPERATORS_BY_RANK = 64 };

struct pw_operators {
    struct pw_row_c_operator *ops;
    struct pw_row_c_operator_type *types;
    struct pw_row_c_operator_shape *shapes;
    struct pw_row_c_operator_stack *stacks;
    struct pw_row_c_operator_rank *ranks;
    size_t nops, ntypes, nshapes, nstacks, nranks;
};

/* Joins the trees of all processes in process 0's tree, and makes the rows there; other processes
 * get none. `err` is the error of this process so far. Collective. Returns 0 or the worst error of
 * all processes, the same on all. */
int pw_operators_make(struct pw_operators *out, struct pw_job *job, struct pw_optree *tree,
                      int err);

void pw_operators_fini(struct pw_operators *operators);

/* ---- rows of /operators, /operator_types, /operator_shapes and /operator_stacks; their order does
 * not depend on the order in which the sums were made ---- */

/* Fills the tables of `out`. *order (malloc'ed) gets the operators' numbers in the order of their
 * rows. Changes the inner times in `tree` for frames of functions. Returns 0, or -ENOMEM with `out`
 * partly filled. */
int pw_oprows_make(struct pw_operators *out, struct pw_optree *tree, int32_t **order);

#endif
