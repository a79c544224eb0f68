/* Which operator took longer on a straggler than on the other ranks in the straggler's steps:
 * evidence of why it was slow. Called by aggregate.c on all processes together, when it is decided
 * which stragglers are named; it names and drops none. */
#ifndef PW_AGGREGATE_FINDINGS_OPGROWTH_H
#define PW_AGGREGATE_FINDINGS_OPGROWTH_H

#include "aggregate/findings/findings.h"
#include "aggregate/operators/optree.h"

/* Reads the ranges of this process's ranks once more, where there are stragglers and operators;
 * adds to the evidence, or is it where there is no other. `operators` are this process's own.
 * Collective, after pw_evidence_find(); the findings are process 0's. 0 or -ENOMEM. */
int pw_opgrowth_find(struct pw_findings *findings, const struct pw_job *job,
                     const struct pw_share *share, struct pw_optree *operators);

#endif
