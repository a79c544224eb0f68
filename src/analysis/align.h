/* What the order of events says about clocks, without any exchange of clock readings. Called by
 * aggregate/clocks, which collects the orders and writes the corrected clocks. Pure arithmetic: no
 * I/O, no allocation; the caller gives the scratch memory.
 *
 * A message is received after it was sent, and no rank leaves a synchronising collective before the
 * last rank has entered it. Each such pair of events bounds the difference of two clocks from one
 * side; pairs in both directions enclose it. The rates of the clocks differ, too: the difference at
 * one time is what any line through all bounds around that time can have there, with slopes that
 * clocks may have, and a cone around each bound for how far the rates wander (Duda et al., ICDCS
 * 1987, with convex hulls as there). The bounds between two clocks are then closed over all other
 * clocks: a bound by way of a third clock is a bound (shortest paths). */
#ifndef PW_ANALYSIS_ALIGN_H
#define PW_ANALYSIS_ALIGN_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

/* The event at `first_ns` of clock `first` was before the one at `second_ns` of clock `second`. */
struct pw_order {
    int32_t first, second;
    int64_t first_ns, second_ns;
};

/* No bound. Sums of two do not overflow. */
#define PW_ALIGN_NONE (INT64_MAX / 4)

/* Sorts by pair of clocks; of a pair, those from the lower clock to the higher come first; then by
 * time. */
void pw_orders_sort(struct pw_order *orders, size_t n);

/* What must be added to each clock's times to be roughly on clock 0's: constant over the run, so it
 * is wrong by the drift. shift[i] is PW_ALIGN_NONE where nothing is known from both sides. The
 * orders are overwritten; `hops` is scratch of nclocks values. */
void pw_align_coarse(struct pw_order *orders, size_t norders, size_t nclocks, int32_t *hops,
                     int64_t *shift);

/* Difference bounds over time: `value_ns` at `at_ns`. */
struct pw_align_bound {
    int64_t at_ns, value_ns;
};

struct pw_align_bounds {
    struct pw_align_bound *lower, *upper; /* sorted by time */
    size_t nlower, nupper;
};

/* What clocks' rates differ by, and wander by, at most; ns per ns. */
struct pw_align_rates {
    double drift, wander;
};

/* Least and greatest difference at time `at_ns` that agree with all bounds and the rates.
 * -PW_ALIGN_NONE and PW_ALIGN_NONE are no bounds. The bounds are overwritten. 0, or -1 when no line
 * agrees with all: then the answer encloses what the nearest line leaves open. */
int pw_align_at(struct pw_align_bounds *bounds, int64_t at_ns, struct pw_align_rates rates,
                int64_t *low, int64_t *high);

/* (Correction of clock `to`) - (correction of clock `from`) <= most_ns. */
struct pw_align_edge {
    int32_t from, to;
    int64_t most_ns;
};

/* All bounds between the clocks. */
struct pw_align_graph {
    const struct pw_align_edge *edges; /* [nedges] */
    size_t nedges, nclocks;
};

enum pw_align_direction { PW_ALIGN_FROM_REFERENCE, PW_ALIGN_TO_REFERENCE };

/* Least upper bounds over all paths: most[i] of clock i's correction - clock 0's, or, to the
 * reference, of clock 0's - clock i's; PW_ALIGN_NONE where no path leads. `scratch` is of
 * 2 * nclocks values. 0, or -1 when bounds contradict each other (a cycle below zero, within
 * reach); then `most` is of no use. Bellman and Ford's method, in sweeps to and fro; a cycle shows
 * among the predecessors (Cherkassky and Goldberg 1999). */
int pw_align_reach(const struct pw_align_graph *graph, enum pw_align_direction direction,
                   int64_t *most, int32_t *scratch);

/* Orders that times contradict, by more than `error_ns[first] + error_ns[second]`; each also counts
 * in found[] of both its clocks. */
size_t pw_align_violations(const struct pw_order *orders, size_t norders, const int64_t *error_ns,
                           int64_t *found);

/* Orders of events by pair of clocks, and what those around a time say of the pair's difference. */

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
