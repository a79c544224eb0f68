/* Piecewise linear clock maps; see clockmap.h. */
#include "core/clockmap.h"

#include "core/limits.h"

/* Index of the last knot at or before local_ns, or -1. */
static ptrdiff_t knot_before(const struct pw_row_clock *knots, size_t n, int64_t local_ns)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (knots[middle].local_ns <= local_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return (ptrdiff_t)low - 1;
}

static int64_t convert(const struct pw_row_clock *knots, size_t n, int64_t local_ns)
{
    if (n == 0)
        return local_ns;
    ptrdiff_t at = knot_before(knots, n, local_ns);
    if (at < 0)
        return local_ns + knots[0].offset_ns;
    const struct pw_row_clock *a = &knots[at];
    if ((size_t)at + 1 == n)
        return local_ns + a->offset_ns;
    const struct pw_row_clock *b = a + 1;
    double share = (double)(local_ns - a->local_ns) / (double)(b->local_ns - a->local_ns);
    return local_ns + a->offset_ns + (int64_t)(share * (double)(b->offset_ns - a->offset_ns));
}

int64_t pw_clock_to_cluster(const struct pw_row_clock *knots, size_t n, int64_t local_ns)
{
    int64_t time = convert(knots, n, local_ns);
    return time > PW_LIMIT ? PW_LIMIT : time < -PW_LIMIT ? -PW_LIMIT : time;
}

/* An error of 0 is that of the reference clock, which cannot drift from itself. */
static int64_t grown(int64_t error_ns, int64_t away_ns)
{
    return error_ns ? error_ns + pw_clock_drift(away_ns) : 0;
}

/* The error of an interpolated offset is at most the interpolated error of the two knots, and what
 * the clock can wander from the nearer one. */
static int64_t between(const struct pw_row_clock *a, const struct pw_row_clock *b, int64_t local_ns)
{
    int64_t from = local_ns - a->local_ns, to = b->local_ns - local_ns;
    int64_t nearer = from < to ? from : to;
    double share = (double)from / (double)(b->local_ns - a->local_ns);
    double error = (1 - share) * (double)a->error_ns + share * (double)b->error_ns;
    double wander = (double)nearer * (PW_CLOCK_WANDER_NS_PER_S * 1e-9);
    return a->error_ns || b->error_ns ? (int64_t)(error + wander + 0.5) : 0;
}

int64_t pw_clock_error(const struct pw_row_clock *knots, size_t n, int64_t local_ns)
{
    if (n == 0)
        return -1;
    ptrdiff_t at = knot_before(knots, n, local_ns);
    if (at < 0)
        return grown(knots[0].error_ns, knots[0].local_ns - local_ns);
    if ((size_t)at + 1 == n)
        return grown(knots[at].error_ns, local_ns - knots[at].local_ns);
    return between(&knots[at], &knots[at + 1], local_ns);
}

int64_t pw_clock_error_max(const struct pw_row_clock *knots, size_t n, int64_t first_ns,
                           int64_t last_ns)
{
    int64_t worst = pw_clock_error(knots, n, first_ns);
    int64_t last = pw_clock_error(knots, n, last_ns);
    worst = last > worst ? last : worst;
    for (size_t i = 0; i < 2 * n; i++) { /* each knot, and the middle between it and the next */
        int64_t at = knots[i / 2].local_ns;
        if (i % 2)
            at += i / 2 + 1 < n ? (knots[i / 2 + 1].local_ns - at) / 2 : 0;
        int64_t error = at < first_ns || at > last_ns ? 0 : pw_clock_error(knots, n, at);
        worst = error > worst ? error : worst;
    }
    return worst;
}

int pw_clock_is_valid(const struct pw_row_clock *knots, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (knots[i].error_ns < 0 || knots[i].error_ns > PW_LIMIT ||
            !pw_is_possible(knots[i].offset_ns) || !pw_is_possible(knots[i].local_ns))
            return 0;
        if (i && knots[i].local_ns <= knots[i - 1].local_ns)
            return 0;
    }
    return 1;
}
