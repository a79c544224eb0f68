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

/* What must be added to each clock's times to be on clock 0's, roughly: constant over the run, so
 * that it is off by the drift. shift[i] is PW_ALIGN_NONE where nothing is known from both sides.
 * `scratch` holds 2 * nclocks * nclocks values. */
void pw_align_coarse(const struct pw_order *orders, size_t norders, size_t nclocks,
                     int64_t *scratch, int64_t *shift);

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

/* Closes upper bounds most[i * n + j] of (clock j's correction - clock i's) over all paths. 0, or
 * -1 when they contradict each other (a cycle below zero); then `most` is of no use. */
int pw_align_close(int64_t *most, size_t n);

/* Orders that times contradict, by more than `error_ns[first] + error_ns[second]`; each also counts
 * in found[] of both its clocks. */
size_t pw_align_violations(const struct pw_order *orders, size_t norders, const int64_t *error_ns,
                           int64_t *found);

#endif
