/* Sets of time as sorted, disjoint half-open intervals. Called by aggregate/input, aggregate/steps
 * and message.h. Pure arithmetic: no I/O, no allocation; sets are changed in place. */
#ifndef PW_ANALYSIS_INTERVALS_H
#define PW_ANALYSIS_INTERVALS_H

#include <stddef.h>
#include <stdint.h>

struct pw_interval {
    int64_t start, end; /* ns; empty when end <= start */
};

/* Sorts and joins `v` in place so that it is a set; the number of intervals left. */
size_t pw_intervals_union(struct pw_interval *v, size_t n);

/* Index of the first interval of set `v` that ends after `time`, `n` if there is none; quick when
 * it is at or soon after `near`. */
size_t pw_intervals_first(const struct pw_interval *v, size_t n, int64_t time, size_t near);

/* Length of set `v`, looked through from its begin, inside [window.start, window.end), ns. */
int64_t pw_intervals_within(const struct pw_interval *v, size_t n, struct pw_interval window);

#endif
