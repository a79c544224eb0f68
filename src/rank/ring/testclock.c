/* The wrong clock; see testclock.h. */
#include "rank/ring/testclock.h"

#include <errno.h>
#include <stdio.h>

#define PERIOD_NS ((int64_t)20000000000)

static int is_within(double value, double limit)
{
    return value >= -limit && value <= limit; /* false for NaN */
}

int pw_testclock_parse(const char *text, struct pw_testclock *out)
{
    long long offset;
    double drift, wander;
    int end = 0;
    if (sscanf(text, "%lld:%lf:%lf%n", &offset, &drift, &wander, &end) != 3 || text[end])
        return -EINVAL;
    const long long limit = 1000000000LL * 86400;
    if (offset > limit || offset < -limit || !is_within(drift, 200) || !is_within(wander, 50))
        return -EINVAL;
    *out = (struct pw_testclock){1, offset, drift, wander};
    return 0;
}

/* Returns the integral, from 0 to `x` (0 .. 1), of a triangle wave between -1 and 1 with period 1.
 * A triangle, not a sine, because the application may not be linked with libm. */
static double triangle_integral(double x)
{
    double y = x < 0.5 ? x : x - 0.5;
    return x < 0.5 ? 2 * y * y - y : y - 2 * y * y;
}

int64_t pw_testclock_warp(const struct pw_testclock *clock, int64_t t)
{
    double x = (double)(t % PERIOD_NS) / (double)PERIOD_NS;
    double wander =
        clock->wander_ppm * 1e-6 * (double)PERIOD_NS * triangle_integral(x < 0 ? x + 1 : x);
    double drift = clock->drift_ppm * 1e-6 * (double)t;
    return t + clock->offset_ns + (int64_t)(drift + wander + (drift + wander < 0 ? -0.5 : 0.5));
}
