/* A clock that is wrong on purpose, for tests of the synchronisation: time namespaces can shift a
 * clock, nothing can make it drift. PROFWRAP_TEST_CLOCK="offset_ns:drift_ppm:wander_ppm" replaces
 * every local time that a rank records, and that it synchronises by, with one that is off by
 * `offset`, runs faster by `drift`, and whose rate goes from -wander to +wander about that and back
 * every 20 s, in straight lines. Used on both sides of the shared memory: nothing here prints or
 * allocates. */
#ifndef PW_RANK_RING_TESTCLOCK_H
#define PW_RANK_RING_TESTCLOCK_H

#include <stdint.h>

#include "rank/ring/tick.h"

struct pw_testclock {
    int64_t on; /* 0: the clock is left alone */
    int64_t offset_ns;
    double drift_ppm, wander_ppm;
};

/* 0; -EINVAL when `text` is not such a triple, whose drift is within 200 ppm and wander within 50.
 */
int pw_testclock_parse(const char *text, struct pw_testclock *out);

/* The shown time of a true one. */
int64_t pw_testclock_warp(const struct pw_testclock *clock, int64_t local_ns);

/* Now, as shown. */
static inline int64_t pw_testclock_now(const struct pw_testclock *clock)
{
    int64_t now = pw_local_ns();
    return __builtin_expect(clock->on, 0) ? pw_testclock_warp(clock, now) : now;
}

#endif
