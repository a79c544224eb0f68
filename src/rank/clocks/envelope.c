/* Intersects the bounds of ping-pongs; see envelope.h. */
#include "rank/clocks/envelope.h"

#include "core/clockmap.h"

static int fastest(const struct pw_envelope *e)
{
    int best = 0;
    for (int i = 1; i < e->n; i++)
        if (e->exchanges[i].t2 - e->exchanges[i].t1 < e->exchanges[best].t2 - e->exchanges[best].t1)
            best = i;
    return best;
}

int pw_envelope_is_settled(const struct pw_envelope *e)
{
    enum { LEAST = 30, FAST = 10 };
    int fast = 0;
    if (e->n < LEAST || e->n == PW_ENVELOPE_EXCHANGES)
        return e->n == PW_ENVELOPE_EXCHANGES;
    int best = fastest(e);
    int64_t limit = (e->exchanges[best].t2 - e->exchanges[best].t1) * 5 / 4;
    for (int i = 0; i < e->n; i++)
        fast += e->exchanges[i].t2 - e->exchanges[i].t1 <= limit;
    return fast >= FAST;
}

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

int pw_envelope_knot(const struct pw_envelope *e, struct pw_knot *out)
{
    if (e->n == 0)
        return -1;
    int best = fastest(e);
    int64_t at = e->exchanges[best].t1 + (e->exchanges[best].t2 - e->exchanges[best].t1) / 2;
    int64_t low = INT64_MIN, high = INT64_MAX;
    for (int i = 0; i < e->n; i++) {
        int64_t t1 = e->exchanges[i].t1, t2 = e->exchanges[i].t2, t_ref = e->exchanges[i].t_ref;
        int64_t drift = pw_clock_drift(distance(t1 + (t2 - t1) / 2, at));
        int64_t least = t_ref - t2 - drift, most = t_ref - t1 + drift;
        low = least > low ? least : low;
        high = most < high ? most : high;
    }
    *out = (struct pw_knot){at, low + (high - low) / 2, distance(low, high) / 2 + 1};
    return 0;
}
