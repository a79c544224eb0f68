/* The second pass over a rank's events: what it waited in each collective, and its row of the step
 * trace. Called by matrix.c, one rank at a time; events are read block by block. No MPI. */
#ifndef PW_AGGREGATE_SECONDPASS_RANKTRACE_H
#define PW_AGGREGATE_SECONDPASS_RANKTRACE_H

#include "aggregate/input/spans.h"
#include "aggregate/match/graphparts.h"
#include "aggregate/match/messages.h"
#include "aggregate/operators/optree.h"

struct pw_ranktrace {
    struct pw_row_c_step_trace *steps;   /* [job->nsteps], -1 where the rank did not run the step */
    struct pw_row_c_phase_trace *phases; /* [job->nsteps], as above */
    int64_t *recorded;                   /* [job->nsteps] start, end (epoch) and enum pw_recorded */
    struct pw_row_c_bin_trace *bins;     /* [job->bins.n] */
    struct pw_row_c_part_trace parts[PW_PART_END];       /* of the run; -1 when it is not known */
    struct pw_spans wait;                                /* joined: the rank waited for others */
    struct pw_spans phase_spans[PW_PHASE_OPTIMIZER + 1]; /* as recorded; of ranks with GPUs only */
};

/* What the second pass reads, the messages, and what it adds to, all else. */
struct pw_share_parts {
    struct pw_instances *instances;
    const struct pw_messages *messages;
    struct pw_graph_parts *graph;
    struct pw_optree *operators, *kernels;
};

/* Adds this rank's waits to the instances, what it did to the graph, and answers its trace (the
 * caller frees it with fini). 0 or -ENOMEM. */
int pw_ranktrace_build(const struct pw_job *job, const struct pw_input *input,
                       const struct pw_share_parts *parts, struct pw_ranktrace *out);

/* The member of a phase row; NULL for a value that is no phase. */
int64_t *pw_phase_member(struct pw_row_c_phase_trace *row, int phase);

void pw_ranktrace_fini(struct pw_ranktrace *trace);

#endif
