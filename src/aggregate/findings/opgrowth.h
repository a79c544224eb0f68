/* Finds the operator that took longer on a straggler than on the other ranks in the same steps, as
 * evidence of the cause. Called by aggregate.c on all processes together, when the list of
 * stragglers is final; it adds and drops none. */
#ifndef PW_AGGREGATE_FINDINGS_OPGROWTH_H
#define PW_AGGREGATE_FINDINGS_OPGROWTH_H

#include "aggregate/findings/findings.h"
#include "aggregate/operators/optree.h"

/* When there are stragglers and operators: reads the ranges of this process's ranks once more, and
 * adds the operator to the evidence of each straggler. `operators` is this process's own tree.
 * Collective, after pw_evidence_find(); the findings are on process 0. Returns 0 or -ENOMEM. */
int pw_opgrowth_find(struct pw_findings *findings, const struct pw_job *job,
                     const struct pw_share *share, struct pw_optree *operators);

#endif
