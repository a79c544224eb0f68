/* Bounds for the differences of clocks that follow from the order of events, without any exchange
 * of clock readings. Called by aggregate/clocks, which collects the orders and writes the corrected
 * clocks. Pure arithmetic: no I/O, no allocation; the caller gives the scratch memory.
 *
 * A message is received after it was sent, and no rank leaves a synchronising collective before the
 * last rank has entered it. Each such pair of events bounds the difference of two clocks from one
 * side; pairs in both directions enclose it. The difference changes over time, because the rates of
 * the clocks differ. Its bounds at one time are the extreme values of the straight lines that
 * respect all bounds around that time. A line may have any slope up to the largest drift. Each
 * bound is loosened with its distance in time, because rates wander (Duda et al., ICDCS 1987, with
 * convex hulls as there). A bound between clocks A and C and one between C and B add up to a bound
 * between A and B. So shortest paths give the tightest bounds between two clocks. */
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

/* Stands for "no bound". The sum of two such values does not overflow. */
#define PW_ALIGN_NONE (INT64_MAX / 4)

/* Sorts by pair of clocks, then by direction (orders from the lower clock to the higher come
 * first), then by time. `scratch` has room for n orders. */
void pw_orders_sort(struct pw_order *orders, size_t n, struct pw_order *scratch);

/* Fills shift[i]: a time of clock i plus shift[i] is roughly the time of clock 0. The shift is
 * constant over the run, so its error grows with the drift. It is PW_ALIGN_NONE when no chain of
 * clocks with bounds from both sides leads from clock 0 to clock i. The orders are overwritten;
 * `hops` is scratch of nclocks values. */
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

/* The largest difference between the rates of two clocks, and how far a rate wanders; ns per ns. */
struct pw_align_rates {
    double drift, wander;
};

/* Least and greatest difference at time `at_ns` that agree with all bounds and the rates.
 * -PW_ALIGN_NONE and PW_ALIGN_NONE are no bounds. The bounds are overwritten. Returns 0, or -1 when
 * no line agrees with all bounds; then *low and *high enclose the values of the line that violates
 * the bounds least. */
int pw_align_at(struct pw_align_bounds *bounds, int64_t at_ns, struct pw_align_rates rates,
                int64_t *low, int64_t *high);

/* A bound: (correction of clock `to`) - (correction of clock `from`) <= most_ns. */
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

/* Fills most[i] with the smallest upper bound over all paths. It bounds (correction of clock i) -
 * (correction of clock 0); with PW_ALIGN_TO_REFERENCE, (correction of clock 0) - (correction of
 * clock i). PW_ALIGN_NONE when there is no path. `scratch` has room for 2 * nclocks values. Returns
 * 0, or -1 when bounds contradict each other (a reachable cycle with a negative sum); then `most`
 * is not valid. Method: Bellman and Ford's, in sweeps forward and backward; cycles are found in the
 * graph of predecessors (Cherkassky and Goldberg 1999). */
int pw_align_reach(const struct pw_align_graph *graph, enum pw_align_direction direction,
                   int64_t *most, int32_t *scratch);

/* Returns the number of orders whose times contradict them by more than error_ns[first] +
 * error_ns[second]. Adds each to found[] of both its clocks. */
size_t pw_align_violations(const struct pw_order *orders, size_t norders, const int64_t *error_ns,
                           int64_t *found);

/* ---- lines, and the bounds for each pair of clocks ---- */

/* Straight lines that map local times to approximate cluster times. The bounds are computed with
 * mapped times, for two reasons. First, after the mapping a moment has nearly the same time on all
 * clocks, however far they have drifted. Second, the remaining rate of a clock hardly changes; this
 * would not be true of a map with several knots. */

/* time = local + offset + slope (local - from). The slope is an estimate, at most the largest drift
 * of a clock. */
struct pw_clockline {
    int known; /* 0: no line; 1: from measured knots, or the reference; -1: from the order of events
                */
    int64_t from, offset;
    double slope;
};

int64_t pw_clockline_time(const struct pw_clockline *line, int64_t local);

/* The local time that the line maps to `time`. */
int64_t pw_clockline_local(const struct pw_clockline *line, int64_t time);

/* Draws the line through the first and the last knot. Without knots, the line of the reference is
 * the identity, and that of another clock is unknown. */
void pw_clockline_measured(struct pw_clockline *line, const struct pw_row_clock *knots, size_t n,
                           int is_reference);

struct pw_clocklines_scratch {
    struct pw_order *orders; /* [norders] */
    int32_t *hops;           /* [nclocks] */
    int64_t *shifts;         /* [2 * nclocks] */
};

/* Estimates the unknown lines from `orders`, which have local times. Then maps the times of the
 * orders by the lines, and drops the orders of clocks without a line. Returns how many orders are
 * left. */
size_t pw_clocklines_straighten(struct pw_clockline *lines, size_t nclocks, struct pw_order *orders,
                                size_t norders, const struct pw_clocklines_scratch *scratch);

/* Two clocks with at least one order between them. */
struct pw_clock_pair {
    int32_t low, high; /* low < high */
    /* in orders up .. down - 1 `low` is first, in down .. end - 1 `high` is */
    size_t up, down, end;
};

/* Writes the pairs of clocks in sorted orders (pw_orders_sort()) to `pairs`, unless that is NULL.
 * Returns how many there are. */
size_t pw_clock_pairs(const struct pw_order *orders, size_t norders, struct pw_clock_pair *pairs);

struct pw_pairbounds {
    const struct pw_clockline *lines; /* these have mapped the times of the orders */
    const struct pw_order *orders;    /* sorted */
    struct pw_clock_pair *pairs;
    size_t npairs;
    struct pw_align_bound *lower, *upper; /* scratch, [norders] */
    int64_t contradictions; /* how often the orders of a pair contradicted each other */
};

/* Writes the bounds of all pairs at `time_ns`, from their orders around that time. Returns how many
 * edges, at most two for each pair. */
size_t pw_pairbounds_at(struct pw_pairbounds *pairs, int64_t time_ns, struct pw_align_edge *edges);

#endif
