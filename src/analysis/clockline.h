/* Straight lines from local times to about the cluster's.
 *
 * Inference of clocks from the order of events is done in times that are straight lines of the
 * local ones: what is left of a clock then still has a rate that hardly changes, which a map with
 * knots has not, and a moment is at nearly the same time of all clocks, however far they have
 * drifted. */
#ifndef PW_ANALYSIS_CLOCKLINE_H
#define PW_ANALYSIS_CLOCKLINE_H

#include "analysis/align.h"
#include "core/tables.h"

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

#endif
