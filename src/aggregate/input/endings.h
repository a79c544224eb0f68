/* How the ranks ended, in the merge: what the rank files say of it, the order of the ends
 * (analysis/ending.h), and the steps that the end of the job cut. Called by aggregate.c before the
 * second pass. */
#ifndef PW_AGGREGATE_INPUT_ENDINGS_H
#define PW_AGGREGATE_INPUT_ENDINGS_H

#include "aggregate/input/job.h"
#include "aggregate/output/clusterfile.h"

/* The ends of a job that did not end well; no rows for other jobs. */
struct pw_endings {
    struct pw_row_c_ending *rows; /* by rank */
    size_t n;
    struct pw_row_c_exception *exceptions;
    size_t nexceptions;
};

/* Finds them, and marks steps as partial that the first end cut, or that came after it: their times
 * are no rank's delay. Collective. Returns 0 or -ENOMEM, the same on all processes. */
int pw_endings_find(struct pw_endings *endings, struct pw_job *job);

/* Writes /endings and /exceptions. Collective. */
void pw_endings_write(struct pw_clusterfile *file, const struct pw_job *job,
                      const struct pw_endings *endings);

void pw_endings_fini(struct pw_endings *endings);

/* Who is missing in a job whose rank files were made of dumps after a hang (profwrap import):
 * gathers the operations that had not ended, and the members of their communicators, and asks
 * analysis/missing.h. */

/* Makes the rows of /hang on process 0, malloc'ed; the job has none unless it was made of dumps.
 * Collective. Returns 0 or -ENOMEM, the same on all processes. */
int pw_dumps_find(const struct pw_job *job, struct pw_row_c_hang **rows, size_t *n);

#endif
