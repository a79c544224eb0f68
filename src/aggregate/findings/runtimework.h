/* Tells which stragglers collected garbage, compiled or wrote checkpoints. Called by aggregate.c on
 * all processes together, when the stragglers are known; each process reads /events/runtime of its
 * own inputs. */
#ifndef PW_AGGREGATE_FINDINGS_RUNTIMEWORK_H
#define PW_AGGREGATE_FINDINGS_RUNTIMEWORK_H

#include "aggregate/findings/findings.h"

/* When a straggler was slow. */
struct pw_runtimework_when {
    int64_t has_steps, first, last; /* numbers of steps; else cluster times of a stretch */
    int64_t is_two;                 /* 1: only in these two steps, which may be far apart */
};

/* Times in which such work counts. Empty if `until` is not behind `from`. */
struct pw_runtimework_span {
    int64_t from, until;
};
enum { PW_RUNTIMEWORK_SPANS = 2 };

/* Finds the times: of a stretch in cluster time, else those of the rank's own steps by its own
 * clock, which needs no common clock. `in_order`: what pw_runtimework_in_order() returned. Returns
 * how many spans there are; 0 when the rank lacks the steps: nothing is known of it. */
size_t pw_runtimework_spans(const struct pw_runtimework_when *when, const struct pw_input *input,
                            int in_order, struct pw_runtimework_span spans[PW_RUNTIMEWORK_SPANS]);

/* Whether the numbers of the rank's steps ascend, as its steps do in time. */
int pw_runtimework_in_order(const struct pw_input *input);

/* Sets the cause of stragglers whose loss is explained by one kind (pw_cause_runtimework()), and
 * adds the evidence. Collective; the findings are on process 0. Returns 0 or -ENOMEM. */
int pw_runtimework_find(struct pw_findings *findings, const struct pw_job *job);

#endif
