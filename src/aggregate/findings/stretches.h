/* Adds stretches of the run in which a rank held the job back: outside the steps, inside calls, or
 * in runs without steps. Then decides which stragglers are named. Called by aggregate.c on process
 * 0, after pw_evidence_find(). No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_STRETCHES_H
#define PW_AGGREGATE_FINDINGS_STRETCHES_H

#include "aggregate/findings/findings.h"

/* Adds the stretches to the stragglers. When a rank has a stretch and also rows that were found
 * from steps, the one that explains more of the loss is kept: the stretch or the rows. Sorts all
 * rows by loss. For process 0. Returns 0 or -ENOMEM. */
int pw_stretches_find(struct pw_findings *findings, const struct pw_world *world,
                      const struct pw_matrix *matrix, const struct pw_instances *instances);

#endif
