/* Causes that a straggler's steps have too few samples for, from the bins of the run near them. */
#ifndef PW_AGGREGATE_FINDINGS_BINCAUSES_H
#define PW_AGGREGATE_FINDINGS_BINCAUSES_H

#include "aggregate/findings/findings.h"

/* Gives rows by steps whose cause is unknown that of which their rank has more than the median of
 * the others, within a sample of the steps, by half of what the row lost. Of the first rows only.
 * `scratch` has room for a value of each rank. */
void pw_bincauses_find(struct pw_findings *findings, const struct pw_job *job,
                       const struct pw_matrix *matrix, int64_t *scratch);

#endif
