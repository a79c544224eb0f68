/* Finds the cause and the evidence of each straggler from the samples in its slow steps, and drops
 * rows that turn out to be no stragglers. Called by aggregate.c on all processes together, after
 * the findings and kernels are made. Each process reads the samples of its own inputs. */
#ifndef PW_AGGREGATE_FINDINGS_EVIDENCE_H
#define PW_AGGREGATE_FINDINGS_EVIDENCE_H

#include "aggregate/findings/findings.h"
#include "aggregate/input/job.h"
#include "aggregate/secondpass/matrix.h"
#include "analysis/cause.h"

/* How each rank used its CPU and GPU in windows of steps. */

enum { PW_USAGE_WINDOWS = 64 }; /* the most windows */

struct pw_step_window {
    int64_t first, last; /* step numbers */
    /* Of these, only the n lost steps from number `from` on in the list of all; n 0: all steps. */
    size_t from, n;
    size_t straggler; /* its row */
};

/* The usage of one rank in one window. */
struct pw_window_usage {
    int64_t window, rank, steps; /* window: its number; steps: how many of them are known */
    struct pw_usage usage;
    struct pw_gpu_usage gpu;
};

/* Adds to a sum, which becomes unknown (-1) with the first unknown value. */
static inline void pw_usage_add(int64_t *total, int64_t more)
{
    *total = *total < 0 || more < 0 ? -1 : *total + more;
}

/* Collective; the findings and the matrix are on process 0. Returns 0 or -ENOMEM. */
int pw_evidence_find(struct pw_findings *findings, const struct pw_job *job,
                     const struct pw_share *share, const struct pw_matrix *matrix);

#endif
