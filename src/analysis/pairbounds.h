/* Orders of events by pair of clocks, and what those around a time say of the pair's difference. */
#ifndef PW_ANALYSIS_PAIRBOUNDS_H
#define PW_ANALYSIS_PAIRBOUNDS_H

#include "analysis/clockline.h"

/* Two clocks that have orders. */
struct pw_clock_pair {
    int32_t low, high;    /* low < high */
    size_t up, down, end; /* orders up .. down are of low before high, down .. end the reverse */
};

/* The pairs of sorted orders (pw_orders_sort()): how many, and which unless `pairs` is NULL. */
size_t pw_clock_pairs(const struct pw_order *orders, size_t norders, struct pw_clock_pair *pairs);

struct pw_pairbounds {
    const struct pw_clockline *lines; /* the orders' times are on them */
    const struct pw_order *orders;    /* sorted */
    struct pw_clock_pair *pairs;
    size_t npairs;
    struct pw_align_bound *lower, *upper; /* scratch, [norders] */
    int64_t contradictions;               /* of orders of one pair at one time */
};

/* What all pairs' orders around `time_ns` say; returns how many edges, two a pair at most. */
size_t pw_pairbounds_at(struct pw_pairbounds *pairs, int64_t time_ns, struct pw_align_edge *edges);

#endif
