/* The map from a rank's local clock to the cluster clock. Its knots are the rows of /clock; between
 * two knots the offset is linear. Called by the merge, the timeline and the analyses. Pure
 * functions; the constants are also used by the collectors and in-app. */
#ifndef PW_CORE_CLOCKMAP_H
#define PW_CORE_CLOCKMAP_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

/* The most by which two unsynchronised clocks can drift apart, in ns per second. Measured clock
 * rates differ by 5 to 30 us/s (Geng et al., NSDI 2018, section 2); the worst crystals are
 * specified to 50 us/s, so two of them differ by 100. */
enum { PW_CLOCK_DRIFT_NS_PER_S = 100000 };

/* The most by which a clock's rate between two knots is assumed to differ from its mean rate
 * between them, in ns per second. This part of the error bound is assumed, not measured. */
enum { PW_CLOCK_WANDER_NS_PER_S = 1000 };

static inline int64_t pw_clock_drift(int64_t elapsed_ns)
{
    int64_t ns = (int64_t)((double)elapsed_ns * (PW_CLOCK_DRIFT_NS_PER_S * 1e-9));
    return elapsed_ns > 0 ? ns + 1 : 0;
}

/* Returns the cluster time of `local_ns`. `knots` are sorted by local_ns. Before the first knot,
 * the offset is that of the first knot; after the last knot, that of the last knot. Without knots,
 * the map is the identity. */
int64_t pw_clock_to_cluster(const struct pw_row_clock *knots, size_t n, int64_t local_ns);

/* Returns the error bound of pw_clock_to_cluster() at `local_ns`, ns; -1 when there is no knot.
 * Between two knots, the bound is interpolated, and PW_CLOCK_WANDER_NS_PER_S is added for each
 * second to the nearer knot. Outside the knots, it grows by PW_CLOCK_DRIFT_NS_PER_S. */
int64_t pw_clock_error(const struct pw_row_clock *knots, size_t n, int64_t local_ns);

/* Returns the largest error bound between two local times, ns; -1 when there is no knot. */
int64_t pw_clock_error_max(const struct pw_row_clock *knots, size_t n, int64_t first_ns,
                           int64_t last_ns);

/* Returns 1 when local times rise strictly, errors are >= 0 and no number is beyond PW_LIMIT. */
int pw_clock_is_valid(const struct pw_row_clock *knots, size_t n);

#endif
