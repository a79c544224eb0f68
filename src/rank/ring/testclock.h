/* A clock that is wrong on purpose, for tests of clock synchronisation: a time namespace can shift
 * a clock, but nothing can make it drift. PROFWRAP_TEST_CLOCK="offset_ns:drift_ppm:wander_ppm"
 * changes all local times of a rank: shifts them by `offset`, makes them run faster by `drift`, and
 * changes the rate linearly from -wander to +wander around `drift` and back every 20 s. Used on
 * both sides of the shared memory: nothing here prints or allocates. */
#ifndef PW_RANK_RING_TESTCLOCK_H
#define PW_RANK_RING_TESTCLOCK_H

#include <stdint.h>

#include "rank/ring/tick.h"

struct pw_testclock {
    int64_t on; /* 0: the clock is not changed */
    int64_t offset_ns;
    double drift_ppm, wander_ppm;
};

/* Parses "offset_ns:drift_ppm:wander_ppm". Returns 0; -EINVAL when `text` is no such triple, or the
 * drift is beyond 200 ppm or the wander beyond 50. */
int pw_testclock_parse(const char *text, struct pw_testclock *out);

/* Returns the wrong time for the true time `local_ns`. */
int64_t pw_testclock_warp(const struct pw_testclock *clock, int64_t local_ns);

/* Returns the current time of the wrong clock. */
static inline int64_t pw_testclock_now(const struct pw_testclock *clock)
{
    int64_t now = pw_local_ns();
    return __builtin_expect(clock->on, 0) ? pw_testclock_warp(clock, now) : now;
}

#endif
