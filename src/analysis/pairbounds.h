/* Orders of events by pair of clocks, and what those around a time say of the pair's difference. */
#ifndef PW_ANALYSIS_PAIRBOUNDS_H
#define PW_ANALYSIS_PAIRBOUNDS_H

#include "analysis/align.h"
#include "core/tables.h"

/* Straight lines from local times to about the cluster's.
 *
 * Inference of clocks from the order of events is done in times that are straight lines of the
 * local ones: what is left of a clock then still has a rate that hardly changes, which a map with
 * knots has not, and a moment is at nearly the same time of all clocks, however far they have
 * drifted. */

/* time = local + offset + slope (local - from). The slope is a guess, of at most what clocks drift.
 */
struct pw_clockline {
    int known; /* 0: no line; 1: from measured knots, or the reference; -1: from the order of events
                */
    int64_t from, offset;
    double slope;
};

int64_t pw_clockline_time(const struct pw_clockline *line, int64_t local);

/* The inverse. */
int64_t pw_clockline_local(const struct pw_clockline *line, int64_t time);

/* Through the first and the last knot. Without knots the reference's is the identity and others'
 * are not known. */
void pw_clockline_measured(struct pw_clockline *line, const struct pw_row_clock *knots, size_t n,
                           int is_reference);

struct pw_clocklines_scratch {
    struct pw_order *orders; /* [norders] */
    int32_t *hops;           /* [nclocks] */
    int64_t *shifts;         /* [2 * nclocks] */
};

/* Draws the lines that are not known as well as `orders`, of local times, tell, and puts the orders
 * on the lines. Those of clocks without one are dropped; how many are left. */
size_t pw_clocklines_straighten(struct pw_clockline *lines, size_t nclocks, struct pw_order *orders,
                                size_t norders, const struct pw_clocklines_scratch *scratch);

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
