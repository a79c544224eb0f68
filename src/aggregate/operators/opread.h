/* Reads the ranges of one rank and adds them to a tree (optree.h). Called by matrix.c in the second
 * pass for the whole run, and by opgrowth.c for some windows of steps. No MPI. */
#ifndef PW_AGGREGATE_OPERATORS_OPREAD_H
#define PW_AGGREGATE_OPERATORS_OPREAD_H

#include "aggregate/input/input.h"
#include "aggregate/input/spans.h"
#include "aggregate/operators/optree.h"

/* A rank whose operators are read. */
struct pw_opread_from {
    const struct pw_input *input;
    const struct pw_texts *texts; /* of its file */
    const struct pw_spans *wait;  /* joined spans in which the rank waited for others */
    /* Its ranges. The reading before this one ended with the last chunk, which is the first here:
     * so it is decompressed once. */
    struct pw_h5_table *ranges;
};

/* Adds the operators of the rank. Returns 0, -ENOMEM, or another -errno when ranges are damaged;
 * then the rows before the damage were added. */
int pw_opread_rank(struct pw_optree *tree, const struct pw_opread_from *from);

/* The same, but puts only the names into the tree, and the sums into `windows`. */
int pw_opread_windows(struct pw_optree *tree, const struct pw_input *input,
                      struct pw_opwindows *windows);

#endif
