/* What the order of events says about clocks, without any exchange of clock readings.
 *
 * A message is received after it was sent, and no rank leaves a synchronising collective before the
 * last has entered it. Each such pair of events bounds the difference of two clocks from one side;
 * pairs in both directions enclose it. The clocks' rates differ too: the difference at one time is
 * what any line through all bounds around that time can have there, with slopes that clocks may
 * have, and a cone about each bound for what the rates wander (Duda et al., ICDCS 1987, with convex
 * hulls as there). What two clocks say of each other is then closed over all others: a bound by way
 * of a third clock is a bound (shortest paths). */
#ifndef PW_ANALYSIS_ALIGN_H
#define PW_ANALYSIS_ALIGN_H

#include <stddef.h>
#include <stdint.h>

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

/* What must be added to each clock's times to be on clock 0's, roughly: constant over the run, so
 * that it is off by the drift. shift[i] is PW_ALIGN_NONE where nothing is known from both sides.
 * The orders are overwritten; `hops` is scratch of nclocks values. */
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

/* Least and greatest difference at time `at_ns` that agree with all bounds, given that rates differ
 * by at most `drift` and wander by at most `wander` (ns per ns). -PW_ALIGN_NONE and PW_ALIGN_NONE
 * are no bounds. The bounds are overwritten. 0, or -1 when no line agrees with all: then the answer
 * encloses what the nearest line leaves open. */
int pw_align_at(struct pw_align_bounds *bounds, int64_t at_ns, double drift, double wander,
                int64_t *low, int64_t *high);

/* (Correction of clock `to`) - (correction of clock `from`) <= most_ns. */
struct pw_align_edge {
    int32_t from, to;
    int64_t most_ns;
};

enum pw_align_direction { PW_ALIGN_FROM_REFERENCE, PW_ALIGN_TO_REFERENCE };

/* Least upper bounds over all paths: most[i] of clock i's correction - clock 0's, or, to the
 * reference, of clock 0's - clock i's; PW_ALIGN_NONE where no path leads. `scratch` is of
 * 2 * nclocks values. 0, or -1 when bounds contradict each other (a cycle below zero, within
 * reach); then `most` is of no use. Bellman and Ford's method, in sweeps to and fro; a cycle shows
 * among the predecessors (Cherkassky and Goldberg 1999). */
int pw_align_reach(const struct pw_align_edge *edges, size_t nedges, size_t nclocks,
                   enum pw_align_direction direction, int64_t *most, int32_t *scratch);

/* Orders that times contradict, by more than `error_ns[first] + error_ns[second]`; each also counts
 * in found[] of both its clocks. */
size_t pw_align_violations(const struct pw_order *orders, size_t norders, const int64_t *error_ns,
                           int64_t *found);

#endif
