/* Sets of time as sorted, disjoint half-open intervals. Called by aggregate/input, aggregate/steps
 * and message.h. Pure arithmetic: no I/O, no allocation; sets are changed in place. */
#ifndef PW_ANALYSIS_INTERVALS_H
#define PW_ANALYSIS_INTERVALS_H

#include <stddef.h>
#include <stdint.h>

struct pw_interval {
    int64_t start, end; /* ns; empty when end <= start */
};

/* Makes `v` a set, in place: sorts the intervals and joins those that overlap. Returns how many are
 * left. */
size_t pw_intervals_union(struct pw_interval *v, size_t n);

/* Returns the index of the first interval of set `v` that ends after `time`; `n` if there is none.
 * Fast when the result is `near` or shortly after it. */
size_t pw_intervals_first(const struct pw_interval *v, size_t n, int64_t time, size_t near);

/* Returns the length of the part of set `v` inside [window.start, window.end), ns. Takes linear
 * time. */
int64_t pw_intervals_within(const struct pw_interval *v, size_t n, struct pw_interval window);

#endif
