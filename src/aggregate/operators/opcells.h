/* The figures of each rank for some of the operators of a tree, from all processes. */
#ifndef PW_AGGREGATE_OPERATORS_OPCELLS_H
#define PW_AGGREGATE_OPERATORS_OPCELLS_H

#include "aggregate/input/procs.h"
#include "aggregate/operators/optree.h"
#include "core/tables.h"

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
