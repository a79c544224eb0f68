/* The second pass over a rank's events: computes its wait in each collective, and its rows of the
 * step trace. Called by matrix.c, one rank at a time; events are read block by block. No MPI. */
#ifndef PW_AGGREGATE_SECONDPASS_RANKTRACE_H
#define PW_AGGREGATE_SECONDPASS_RANKTRACE_H

#include "aggregate/input/spans.h"
#include "aggregate/match/graphparts.h"
#include "aggregate/match/messages.h"
#include "aggregate/operators/optree.h"
#include "aggregate/secondpass/points.h"

struct pw_ranktrace {
    struct pw_row_c_step_trace *steps;   /* [job->nsteps], -1: the rank did not run the step */
    struct pw_row_c_phase_trace *phases; /* [job->nsteps], the same */
    int64_t *recorded; /* [3 * job->nsteps] start and end (epoch times), and enum pw_recorded */
    struct pw_row_c_bin_trace *bins;               /* [job->bins.n] */
    int32_t *received;                             /* [job->bins.n] messages that it got */
    struct pw_row_c_part_trace parts[PW_PART_END]; /* parts of the run; -1: not known */
    struct pw_spans wait; /* joined spans in which the rank waited for others */
    struct pw_spans phase_spans[PW_PHASE_OPTIMIZER + 1]; /* of ranks with GPUs only */
    struct pw_points points;                             /* not applied to `steps` yet */
    struct pw_h5_table *ranges; /* the ranges, with their last chunk decompressed; or NULL */
};

/* The data of the second pass: it reads the messages, and adds to the other members. */
struct pw_share_parts {
    struct pw_instances *instances;
    const struct pw_messages *messages;
    struct pw_graph_parts *graph;
    struct pw_optree *operators, *kernels;
    const struct pw_point_names *points;
};

/* Adds the rank's waits to the instances and its events to the graph, and fills *out, which the
 * caller frees with pw_ranktrace_fini(). Returns 0 or -ENOMEM. */
int pw_ranktrace_build(const struct pw_job *job, const struct pw_input *input,
                       const struct pw_share_parts *parts, struct pw_ranktrace *out);

/* Returns the member of a phase row for a phase; NULL for a value that is no phase. */
int64_t *pw_phase_member(struct pw_row_c_phase_trace *row, int phase);

void pw_ranktrace_fini(struct pw_ranktrace *trace);

#endif
