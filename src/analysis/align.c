/* Lines between bounds, and shortest paths; see align.h. */
#include "analysis/align.h"

#include <math.h>

#include "core/sort.h"

/* ---- roughly ---- */

static int64_t middle(int64_t low, int64_t high)
{
    return low + (high - low) / 2;
}

static int32_t lower_of(const struct pw_order *o)
{
    return o->first < o->second ? o->first : o->second;
}

static int32_t higher_of(const struct pw_order *o)
{
    return o->first < o->second ? o->second : o->first;
}

static int by_pair_and_time(const void *a, const void *b)
{
    const struct pw_order *x = a, *y = b;
    if (lower_of(x) != lower_of(y))
        return lower_of(x) < lower_of(y) ? -1 : 1;
    if (higher_of(x) != higher_of(y))
        return higher_of(x) < higher_of(y) ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->first_ns != y->first_ns)
        return x->first_ns < y->first_ns ? -1 : 1;
    return (x->second_ns > y->second_ns) - (x->second_ns < y->second_ns);
}

void pw_orders_sort(struct pw_order *orders, size_t n)
{
    pw_sort(orders, n, sizeof(*orders), by_pair_and_time);
}

static int64_t least_of(const struct pw_order *o)
{
    return o->first_ns - o->second_ns;
}

/* Of each two clocks, in this order, the one that bounds most. */
static size_t keep_tightest(struct pw_order *orders, size_t n)
{
    size_t kept = 0;
    pw_orders_sort(orders, n);
    for (size_t k = 0; k < n; k++) {
        struct pw_order *last = kept ? &orders[kept - 1] : NULL;
        if (!last || last->first != orders[k].first || last->second != orders[k].second)
            orders[kept++] = orders[k];
        else if (least_of(&orders[k]) > least_of(last))
            *last = orders[k];
    }
    return kept;
}

/* From clocks that are `hop` hops from clock 0 to their neighbours. */
static int shift_neighbours(const struct pw_order *orders, size_t n, int32_t hop, int32_t *hops,
                            int64_t *shift)
{
    int found = 0;
    for (size_t k = 0; k + 1 < n; k++) {
        const struct pw_order *up = &orders[k], *down = &orders[k + 1];
        if (up->first != down->second || up->second != down->first)
            continue;
        int64_t difference = middle(least_of(up), -least_of(down));
        int32_t i = up->first, j = up->second;
        if (hops[i] == hop && hops[j] < 0) {
            shift[j] = shift[i] + difference;
            hops[j] = hop + 1;
            found = 1;
        } else if (hops[j] == hop && hops[i] < 0) {
            shift[i] = shift[j] - difference;
            hops[i] = hop + 1;
            found = 1;
        }
    }
    return found;
}

void pw_align_coarse(struct pw_order *orders, size_t norders, size_t nclocks, int32_t *hops,
                     int64_t *shift)
{
    size_t n = keep_tightest(orders, norders);
    for (size_t i = 0; i < nclocks; i++) {
        shift[i] = i ? PW_ALIGN_NONE : 0;
        hops[i] = i ? -1 : 0;
    }
    for (int32_t hop = 0; shift_neighbours(orders, n, hop, hops, shift);)
        hop++;
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

/* ---- all paths ---- */

static int relax(const struct pw_align_edge *edge, enum pw_align_direction direction, int64_t *most,
                 int32_t *previous)
{
    int32_t a = direction == PW_ALIGN_FROM_REFERENCE ? edge->from : edge->to;
    int32_t b = direction == PW_ALIGN_FROM_REFERENCE ? edge->to : edge->from;
    if (most[a] >= PW_ALIGN_NONE || edge->most_ns >= PW_ALIGN_NONE ||
        most[a] + edge->most_ns >= most[b])
        return 0;
    most[b] = most[a] + edge->most_ns;
    previous[b] = a;
    return 1;
}

/* Whether going back from some clock leads round. seen[i]: from which clock i was last come to. */
static int has_cycle(const int32_t *previous, size_t n, int32_t *seen)
{
    for (size_t i = 0; i < n; i++)
        seen[i] = -1;
    for (size_t i = 0; i < n; i++) {
        int32_t at = (int32_t)i;
        for (; at >= 0 && seen[at] < 0; at = previous[at])
            seen[at] = (int32_t)i;
        if (at >= 0 && seen[at] == (int32_t)i)
            return 1;
    }
    return 0;
}

int pw_align_reach(const struct pw_align_edge *edges, size_t nedges, size_t nclocks,
                   enum pw_align_direction direction, int64_t *most, int32_t *scratch)
{
    int32_t *previous = scratch, *seen = scratch + nclocks;
    for (size_t i = 0; i < nclocks; i++) {
        most[i] = i ? PW_ALIGN_NONE : 0;
        previous[i] = -1;
    }
    for (int changed = 1, fro = 0; changed; fro = !fro) {
        changed = 0;
        for (size_t k = 0; k < nedges; k++)
            changed |= relax(&edges[fro ? nedges - 1 - k : k], direction, most, previous);
        if (changed && has_cycle(previous, nclocks, seen))
            return -1;
    }
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
