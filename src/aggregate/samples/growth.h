/* How what a rank has allocated goes on from step to step: one amount at a time goes in, a line
 * through what was there at the end of each measured step comes out. */
#ifndef PW_AGGREGATE_SAMPLES_GROWTH_H
#define PW_AGGREGATE_SAMPLES_GROWTH_H

#include "aggregate/input/input.h"
#include "analysis/trend.h"

struct pw_growth {
    const struct pw_input *input;
    struct pw_trend all, later;       /* later: the second half of the measured steps */
    ptrdiff_t first, half, last;      /* rows of the input's steps that are measured */
    ptrdiff_t at, near;               /* the step of the last amount, -1 */
    int64_t samples, peak, end, open; /* open: at the end of step `at`, so far */
};

void pw_growth_begin(struct pw_growth *growth, const struct pw_input *input);

/* Amounts come about in order of time; one of an earlier step than the last is the last's. */
void pw_growth_add(struct pw_growth *growth, int64_t local_ns, int64_t bytes);

/* To be called once, after the last amount. Fills all but rank, what and device. */
void pw_growth_finish(struct pw_growth *growth, struct pw_row_c_memory *row);

#endif
