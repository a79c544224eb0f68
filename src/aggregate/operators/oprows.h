/* Rows of /operators, /operator_types, /operator_shapes and /operator_stacks from summed operators.
 * Their order, and so the file, does not depend on the order in which the sums were made. */
#ifndef PW_AGGREGATE_OPERATORS_OPROWS_H
#define PW_AGGREGATE_OPERATORS_OPROWS_H

#include "aggregate/operators/operators.h"

/* Fills the tables; *order (malloc'ed) gets the operators' numbers in the order of their rows.
 * Inner time of functions is entered in `tree`. 0 or -ENOMEM; `out` is then partly filled. */
int pw_oprows_make(struct pw_operators *out, struct pw_optree *tree, int32_t **order);

#endif
