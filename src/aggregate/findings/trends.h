/* Finds the times in which all ranks were slower or stood still, as rows of /trends
 * (analysis/drift.h, drift.h). Called by findings.c on process 0. No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_TRENDS_H
#define PW_AGGREGATE_FINDINGS_TRENDS_H

#include "aggregate/secondpass/matrix.h"

enum { PW_MOST_TRENDS = 2 };

struct pw_trends {
    struct pw_row_c_trend rows[PW_MOST_TRENDS]; /* most expensive first */
    size_t n;
};

/* `all` has the bins of the whole run, `steps` the rows of /steps. Returns 0 or -ENOMEM. */
int pw_trends_find(struct pw_trends *trends, const struct pw_measured *measured,
                   const struct pw_matrix *all, const struct pw_row_c_step *steps);

#endif
