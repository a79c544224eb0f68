/* Joins the samples that the collectors took with the steps in which a rank was slow, and enters
 * what they say as cause and evidence of the stragglers; drops those that turn out to be none.
 * Called by aggregate.c on all processes together, after the findings and kernels are made. Each
 * process reads the samples of its own inputs. */
#ifndef PW_AGGREGATE_FINDINGS_EVIDENCE_H
#define PW_AGGREGATE_FINDINGS_EVIDENCE_H

#include "aggregate/findings/findings.h"

/* Collective; the findings are process 0's. 0 or -ENOMEM. */
int pw_evidence_find(struct pw_findings *findings, const struct pw_job *job,
                     const struct pw_share *share);

#endif
