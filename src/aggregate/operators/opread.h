/* Reads the ranges of one rank into the sums of optree.h. Called by matrix.c in the second pass for
 * all of the run, and by opgrowth.c for some windows of steps. No MPI. */
#ifndef PW_AGGREGATE_OPERATORS_OPREAD_H
#define PW_AGGREGATE_OPERATORS_OPREAD_H

#include "aggregate/input/input.h"
#include "aggregate/input/spans.h"
#include "aggregate/operators/optree.h"

/* Adds the operators of `input`; `wait` are the joined times in which the rank waited for others.
 * 0, -ENOMEM, or another -errno when its ranges or texts end early: what could be read is in then.
 */
int pw_opread_rank(struct pw_optree *tree, const struct pw_input *input,
                   const struct pw_spans *wait);

/* The same, but only names operators in the tree, and sums up in `windows`. */
int pw_opread_windows(struct pw_optree *tree, const struct pw_input *input,
                      struct pw_opwindows *windows);

#endif
