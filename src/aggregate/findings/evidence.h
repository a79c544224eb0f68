/* Finds the cause and the evidence of each straggler from the samples in its slow steps, and drops
 * rows that turn out to be no stragglers. Called by aggregate.c on all processes together, after
 * the findings and kernels are made. Each process reads the samples of its own inputs. */
#ifndef PW_AGGREGATE_FINDINGS_EVIDENCE_H
#define PW_AGGREGATE_FINDINGS_EVIDENCE_H

#include "aggregate/findings/findings.h"

/* Collective; the findings are on process 0. Returns 0 or -ENOMEM. */
int pw_evidence_find(struct pw_findings *findings, const struct pw_job *job,
                     const struct pw_share *share);

#endif
