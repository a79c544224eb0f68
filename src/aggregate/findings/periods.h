/* Tells which stragglers lost time every so many steps. Called by aggregate.c on process 0, when
 * the stragglers are known. No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_PERIODS_H
#define PW_AGGREGATE_FINDINGS_PERIODS_H

#include "aggregate/findings/findings.h"

/* Fills `period` of the stragglers. Returns 0 or -ENOMEM. */
int pw_periods_find(struct pw_findings *findings, const struct pw_matrix *matrix);

#endif
