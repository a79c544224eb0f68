/* Lines between bounds, and shortest paths; see align.h. */
#include "analysis/align.h"

#include <math.h>

/* ---- roughly ---- */

static int64_t middle(int64_t low, int64_t high)
{
    return low + (high - low) / 2;
}

/* least[i * n + j]: the largest lower bound of (what is added to j) - (what is added to i). */
static void collect_least(const struct pw_order *orders, size_t norders, size_t n, int64_t *least)
{
    for (size_t i = 0; i < n * n; i++)
        least[i] = -PW_ALIGN_NONE;
    for (size_t k = 0; k < norders; k++) {
        int64_t *bound = &least[(size_t)orders[k].first * n + (size_t)orders[k].second];
        int64_t value = orders[k].first_ns - orders[k].second_ns;
        *bound = value > *bound ? value : *bound;
    }
}

void pw_align_coarse(const struct pw_order *orders, size_t norders, size_t nclocks,
                     int64_t *scratch, int64_t *shift)
{
    int64_t *queue = scratch + nclocks * nclocks;
    size_t head = 0, tail = 0;
    collect_least(orders, norders, nclocks, scratch);
    for (size_t i = 0; i < nclocks; i++)
        shift[i] = PW_ALIGN_NONE;
    if (!nclocks)
        return;
    shift[0] = 0;
    queue[tail++] = 0;
    while (head < tail) {
        size_t i = (size_t)queue[head++];
        for (size_t j = 0; j < nclocks; j++) {
            int64_t low = scratch[i * nclocks + j], high = scratch[j * nclocks + i];
            if (shift[j] != PW_ALIGN_NONE || low == -PW_ALIGN_NONE || high == -PW_ALIGN_NONE)
                continue;
            shift[j] = shift[i] + middle(low, -high);
            queue[tail++] = (int64_t)j;
        }
    }
}

/* ---- the difference at one time ---- */

/* Value of the bound where the line is to be known, for a slope. `x` is the distance in time. */
struct point {
    double x, y;
};

static struct point point_at(const struct pw_align_bound *b)
{
    return (struct point){(double)b->at_ns, (double)b->value_ns};
}

/* Times become distances; each bound is loosened by what the rates may have wandered meanwhile. */
static void relate(struct pw_align_bound *b, size_t n, int64_t at_ns, double loosening)
{
    for (size_t i = 0; i < n; i++) {
        b[i].at_ns -= at_ns;
        b[i].value_ns += (int64_t)(fabs((double)b[i].at_ns) * loosening);
    }
}

static double turn(struct point a, struct point b, struct point c)
{
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/* Only corners of the convex hull touch a line: of the lower hull for upper bounds (side 1), of the
 * upper hull for lower ones (side -1). Bounds are sorted by time. */
static size_t keep_hull(struct pw_align_bound *b, size_t n, double side)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        while (kept >= 2 &&
               side * turn(point_at(&b[kept - 2]), point_at(&b[kept - 1]), point_at(&b[i])) <= 0)
            kept--;
        b[kept++] = b[i];
    }
    return kept;
}

static double most_at(const struct pw_align_bounds *b, double slope)
{
    double most = (double)PW_ALIGN_NONE;
    for (size_t i = 0; i < b->nupper; i++) {
        double value = (double)b->upper[i].value_ns - slope * (double)b->upper[i].at_ns;
        most = value < most ? value : most;
    }
    return most;
}

static double least_at(const struct pw_align_bounds *b, double slope)
{
    double least = -(double)PW_ALIGN_NONE;
    for (size_t i = 0; i < b->nlower; i++) {
        double value = (double)b->lower[i].value_ns - slope * (double)b->lower[i].at_ns;
        least = value > least ? value : least;
    }
    return least;
}

/* Each of the three is concave in the slope. */
static double room_at(const struct pw_align_bounds *b, double slope)
{
    return most_at(b, slope) - least_at(b, slope);
}

static double minus_least_at(const struct pw_align_bounds *b, double slope)
{
    return -least_at(b, slope);
}

typedef double concave(const struct pw_align_bounds *bounds, double slope);

enum { HALVINGS = 60 };

static double find_peak(const struct pw_align_bounds *b, concave *value, double from, double to)
{
    for (int i = 0; i < HALVINGS; i++) {
        double third = (to - from) / 3;
        if (value(b, from + third) < value(b, to - third))
            from += third;
        else
            to -= third;
    }
    return (from + to) / 2;
}

/* The slope nearest to `end` at which there is room, given that there is at `inside`. */
static double find_edge(const struct pw_align_bounds *b, double inside, double end)
{
    if (room_at(b, end) >= 0)
        return end;
    for (int i = 0; i < HALVINGS; i++) {
        double half = (inside + end) / 2;
        if (room_at(b, half) >= 0)
            inside = half;
        else
            end = half;
    }
    return inside;
}

static int64_t round_out(double value, double direction)
{
    if (fabs(value) >= (double)PW_ALIGN_NONE / 2)
        return direction < 0 ? -PW_ALIGN_NONE : PW_ALIGN_NONE;
    return (int64_t)(direction < 0 ? floor(value) : ceil(value));
}

int pw_align_at(struct pw_align_bounds *b, int64_t at_ns, double drift, double wander, int64_t *low,
                int64_t *high)
{
    relate(b->lower, b->nlower, at_ns, -wander);
    relate(b->upper, b->nupper, at_ns, wander);
    b->nlower = keep_hull(b->lower, b->nlower, -1);
    b->nupper = keep_hull(b->upper, b->nupper, 1);
    double best = find_peak(b, room_at, -drift, drift), room = room_at(b, best);
    if (room < 0) {
        *low = round_out(most_at(b, best), -1);
        *high = round_out(least_at(b, best), 1);
        return -1;
    }
    double from = find_edge(b, best, -drift), to = find_edge(b, best, drift);
    *high = round_out(most_at(b, find_peak(b, most_at, from, to)), 1);
    *low = round_out(least_at(b, find_peak(b, minus_least_at, from, to)), -1);
    return 0;
}

/* ---- all pairs ---- */

int pw_align_close(int64_t *most, size_t n)
{
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n && most[i * n + k] < PW_ALIGN_NONE; j++) {
                int64_t by_way = most[i * n + k] + most[k * n + j];
                if (most[k * n + j] < PW_ALIGN_NONE && by_way < most[i * n + j])
                    most[i * n + j] = by_way;
            }
    for (size_t i = 0; i < n; i++)
        if (most[i * n + i] < 0)
            return -1;
    return 0;
}

size_t pw_align_violations(const struct pw_order *orders, size_t norders, const int64_t *error_ns,
                           int64_t *found)
{
    size_t all = 0;
    for (size_t k = 0; k < norders; k++) {
        int32_t a = orders[k].first, b = orders[k].second;
        if (orders[k].first_ns - orders[k].second_ns <= error_ns[a] + error_ns[b])
            continue;
        found[a]++;
        found[b]++;
        all++;
    }
    return all;
}
