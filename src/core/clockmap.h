/* The map from a rank's local clock to the cluster clock: the rows of /clock, linear between them.
 * Called by the merge, the timeline and the analyses. Pure functions; the constants are also used
 * by the collectors and in-app. */
#ifndef PW_CORE_CLOCKMAP_H
#define PW_CORE_CLOCKMAP_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

/* Relative rate by which two unsynchronised clocks may part, in ns per second. Clock rates differ
 * by 5 to 30 us/s (Geng et al., NSDI 2018, section 2); crystals are specified to 50 at worst, each.
 */
enum { PW_CLOCK_DRIFT_NS_PER_S = 100000 };

/* By how much a clock's rate between two knots is taken to differ from its mean there at most, in
 * ns per second: the part of a bound that is assumed, not measured. */
enum { PW_CLOCK_WANDER_NS_PER_S = 1000 };

static inline int64_t pw_clock_drift(int64_t elapsed_ns)
{
    int64_t ns = (int64_t)((double)elapsed_ns * (PW_CLOCK_DRIFT_NS_PER_S * 1e-9));
    return elapsed_ns > 0 ? ns + 1 : 0;
}

/* Local time to cluster time. `knots` are sorted by local_ns; with none the map is the identity;
 * before the first and after the last the offset is held. */
int64_t pw_clock_to_cluster(const struct pw_row_clock *knots, size_t n, int64_t local_ns);

/* Error bound of pw_clock_to_cluster() at that time, ns; -1 when there is no knot. Between knots it
 * goes from one to the other, and what the rate may wander; outside it grows by what it may drift.
 */
int64_t pw_clock_error(const struct pw_row_clock *knots, size_t n, int64_t local_ns);

/* The largest such bound between two times. */
int64_t pw_clock_error_max(const struct pw_row_clock *knots, size_t n, int64_t first_ns,
                           int64_t last_ns);

/* True when local times rise strictly, errors are >= 0 and no offset step can overflow. */
int pw_clock_is_valid(const struct pw_row_clock *knots, size_t n);

#endif
