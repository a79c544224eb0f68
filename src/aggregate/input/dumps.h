/* Who is missing in a job whose rank files were made of dumps after a hang (profwrap import):
 * gathers the operations that had not ended, and the members of their communicators, and asks
 * analysis/missing.h. Called by aggregate.c. */
#ifndef PW_AGGREGATE_INPUT_DUMPS_H
#define PW_AGGREGATE_INPUT_DUMPS_H

#include "aggregate/input/job.h"

/* Makes the rows of /hang on process 0, malloc'ed; the job has none unless it was made of dumps.
 * Collective. Returns 0 or -ENOMEM, the same on all processes. */
int pw_dumps_find(const struct pw_job *job, struct pw_row_c_hang **rows, size_t *n);

#endif
