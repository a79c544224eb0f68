/* Stretches of the run in which a rank held the job back, beside those found from steps: what lies
 * outside steps, inside calls, or in runs that have no steps. Called by aggregate.c on process 0,
 * after pw_evidence_find(); here it is decided which stragglers are named. No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_STRETCHES_H
#define PW_AGGREGATE_FINDINGS_STRETCHES_H

#include "aggregate/findings/findings.h"

/* Adds them to the stragglers, for each rank what explains more of its loss, and sorts all by what
 * they lost. For process 0. 0 or -ENOMEM. */
int pw_stretches_find(struct pw_findings *findings, const struct pw_world *world,
                      const struct pw_matrix *matrix, const struct pw_instances *instances);

#endif
