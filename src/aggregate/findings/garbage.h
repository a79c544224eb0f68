/* Tells which stragglers collected garbage. Called by aggregate.c on all processes together, when
 * the stragglers are known; each process reads /events/runtime of its own inputs. */
#ifndef PW_AGGREGATE_FINDINGS_GARBAGE_H
#define PW_AGGREGATE_FINDINGS_GARBAGE_H

#include "aggregate/findings/findings.h"

/* Sets the cause of stragglers whose loss is explained by collections (pw_cause_garbage()), and
 * adds the evidence. Collective; the findings are on process 0. Returns 0 or -ENOMEM. */
int pw_garbage_find(struct pw_findings *findings, const struct pw_job *job);

#endif
