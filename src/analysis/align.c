/* Lines between bounds, and shortest paths; see align.h. */
#include "analysis/align.h"

#include <math.h>
#include <string.h>

#include "core/clockmap.h"
#include "core/search.h"
#include "core/sort.h"

int64_t pw_clockline_time(const struct pw_clockline *line, int64_t local)
{
    return local + line->offset + (int64_t)(line->slope * (double)(local - line->from));
}

int64_t pw_clockline_local(const struct pw_clockline *line, int64_t time)
{
    int64_t local = time - line->offset;
    for (int i = 0; i < 4; i++) /* the slope is small, so four rounds converge */
        local += time - pw_clockline_time(line, local);
    return local;
}

/* Limits a slope to what clocks drift: a steeper slope comes from the errors of two points. */
static double plausible(double slope)
{
    const double most = PW_CLOCK_DRIFT_NS_PER_S * 1e-9;
    return slope > most ? most : slope < -most ? -most : slope;
}

void pw_clockline_measured(struct pw_clockline *line, const struct pw_row_clock *knots, size_t n,
                           int is_reference)
{
    *line = (struct pw_clockline){.known = is_reference || n > 0};
    if (n == 0)
        return;
    line->from = knots[0].local_ns;
    line->offset = knots[0].offset_ns;
    int64_t span = knots[n - 1].local_ns - line->from;
    if (span >= 1000000000)
        line->slope = plausible((double)(knots[n - 1].offset_ns - line->offset) / (double)span);
}

/* An interval of time; both ends belong to it. */
struct times {
    int64_t first, last;
};

static const struct times any_time = {INT64_MIN, INT64_MAX};

/* Writes to `out` the orders whose two clocks have lines, with their times mapped by these lines,
 * if the first time is within `when`. Returns how many. */
static size_t select_lined(const struct pw_clockline *lines, const struct pw_order *orders,
                           size_t n, struct times when, struct pw_order *out)
{
    size_t kept = 0;
    for (size_t k = 0; k < n; k++) {
        struct pw_order order = orders[k];
        const struct pw_clockline *a = &lines[order.first], *b = &lines[order.second];
        if (!a->known || !b->known)
            continue;
        order.first_ns = pw_clockline_time(a, order.first_ns);
        order.second_ns = pw_clockline_time(b, order.second_ns);
        if (order.first_ns >= when.first && order.first_ns <= when.last)
            out[kept++] = order;
    }
    return kept;
}

/* Gives each clock that was not measured a line with a constant offset. */
static void draw_coarse(struct pw_clockline *lines, size_t nclocks, const struct pw_order *orders,
                        size_t n, const struct pw_clocklines_scratch *scratch)
{
    for (size_t k = 0; k < n; k++) {
        scratch->orders[k] = orders[k];
        scratch->orders[k].first_ns =
            pw_clockline_time(&lines[orders[k].first], orders[k].first_ns);
        scratch->orders[k].second_ns =
            pw_clockline_time(&lines[orders[k].second], orders[k].second_ns);
    }
    pw_align_coarse(scratch->orders, n, nclocks, scratch->hops, scratch->shifts);
    for (size_t d = 0; d < nclocks; d++)
        if (!lines[d].known && scratch->shifts[d] != PW_ALIGN_NONE)
            lines[d] = (struct pw_clockline){.known = -1, .offset = scratch->shifts[d]};
}

/* Gives these lines a slope, from the offsets in the first and in the last third of the run: a
 * clock drifts too far in an hour for a constant offset. */
static void draw_slopes(struct pw_clockline *lines, size_t nclocks, const struct pw_order *orders,
                        size_t norders, const struct pw_clocklines_scratch *scratch)
{
    int64_t *early = scratch->shifts, *late = scratch->shifts + nclocks;
    int64_t first = INT64_MAX, last = INT64_MIN;
    size_t n = select_lined(lines, orders, norders, any_time, scratch->orders);
    for (size_t k = 0; k < n; k++) {
        int64_t time = scratch->orders[k].first_ns;
        first = time < first ? time : first;
        last = time > last ? time : last;
    }
    int64_t third = n ? (last - first) / 3 : 0;
    if (third < 1000000000)
        return;
    n = select_lined(lines, orders, norders, (struct times){first, first + third}, scratch->orders);
    pw_align_coarse(scratch->orders, n, nclocks, scratch->hops, early);
    n = select_lined(lines, orders, norders, (struct times){last - third, last}, scratch->orders);
    pw_align_coarse(scratch->orders, n, nclocks, scratch->hops, late);
    for (size_t d = 0; d < nclocks; d++) {
        if (lines[d].known >= 0 || early[d] == PW_ALIGN_NONE || late[d] == PW_ALIGN_NONE)
            continue;
        lines[d].slope = plausible((double)(late[d] - early[d]) / (double)(2 * third));
        lines[d].from = first + third / 2 - lines[d].offset;
        lines[d].offset += early[d];
    }
}

size_t pw_clocklines_straighten(struct pw_clockline *lines, size_t nclocks, struct pw_order *orders,
                                size_t norders, const struct pw_clocklines_scratch *scratch)
{
    draw_coarse(lines, nclocks, orders, norders, scratch);
    draw_slopes(lines, nclocks, orders, norders, scratch);
    return select_lined(lines, orders, norders, any_time, orders);
}

#define WINDOW_NS ((int64_t)10000000000) /* orders this far around a time bound it */

static int is_of_pair(const struct pw_order *o, const struct pw_clock_pair *pair)
{
    return (o->first == pair->low && o->second == pair->high) ||
           (o->first == pair->high && o->second == pair->low);
}

static struct pw_clock_pair begin_pair(const struct pw_order *o, size_t at)
{
    return (struct pw_clock_pair){.low = o->first < o->second ? o->first : o->second,
                                  .high = o->first < o->second ? o->second : o->first,
                                  .up = at,
                                  .down = at};
}

size_t pw_clock_pairs(const struct pw_order *orders, size_t norders, struct pw_clock_pair *pairs)
{
    struct pw_clock_pair pair = {0};
    size_t n = 0;
    for (size_t k = 0; k < norders; k++) {
        if (!n || !is_of_pair(&orders[k], &pair)) {
            pair = begin_pair(&orders[k], k);
            n++;
        }
        pair.down += orders[k].first < orders[k].second;
        pair.end = k + 1;
        if (pairs)
            pairs[n - 1] = pair;
    }
    return n;
}

/* Index of the first order at or after `time`, of the orders low .. high - 1; `high` when there is
 * none. */
static size_t seek(const struct pw_pairbounds *p, size_t low, size_t high, int64_t time)
{
    return low +
           pw_search(p->orders + low, high - low, PW_SEARCH_KEY(struct pw_order, first_ns), time);
}

/* The orders of a pair of clocks in one direction: their indices are from .. to - 1. */
struct one_way {
    size_t from, to;
    int sign; /* sign of the bounds that the orders become */
};

/* Writes the bounds that follow from the orders within WINDOW_NS of the time; returns how many. */
static size_t take_bounds(const struct pw_pairbounds *p, struct one_way orders, int64_t time,
                          struct pw_align_bound *out)
{
    size_t n = 0, end = seek(p, orders.from, orders.to, time + WINDOW_NS);
    for (size_t k = seek(p, orders.from, orders.to, time - WINDOW_NS); k < end; k++)
        out[n++] = (struct pw_align_bound){
            p->orders[k].first_ns, orders.sign * (p->orders[k].first_ns - p->orders[k].second_ns)};
    return n;
}

static size_t bound_pair(struct pw_pairbounds *p, const struct pw_clock_pair *pair, int64_t time,
                         struct pw_align_edge *out)
{
    /* The largest drift that can remain after the slopes of the lines are subtracted, even when
     * these are wrong. */
    double drift = PW_CLOCK_DRIFT_NS_PER_S * 1e-9 +
                   fabs(p->lines[pair->low].slope - p->lines[pair->high].slope);
    struct pw_align_bounds bounds = {.lower = p->lower, .upper = p->upper};
    bounds.nlower = take_bounds(p, (struct one_way){pair->up, pair->down, 1}, time, bounds.lower);
    bounds.nupper = take_bounds(p, (struct one_way){pair->down, pair->end, -1}, time, bounds.upper);
    if (bounds.nlower + bounds.nupper == 0)
        return 0;
    const struct pw_align_rates rates = {drift, PW_CLOCK_WANDER_NS_PER_S * 1e-9};
    int64_t low, high;
    if (pw_align_at(&bounds, time, rates, &low, &high))
        p->contradictions++;
    out[0] = (struct pw_align_edge){pair->low, pair->high, high};
    out[1] = (struct pw_align_edge){pair->high, pair->low, -low};
    return 2;
}

size_t pw_pairbounds_at(struct pw_pairbounds *p, int64_t time_ns, struct pw_align_edge *edges)
{
    size_t n = 0;
    for (size_t k = 0; k < p->npairs; k++)
        n += bound_pair(p, &p->pairs[k], time_ns, edges + n);
    return n;
}

/* ---- coarse offsets ---- */

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

/* The bytes of the key by which pairs of clocks are sorted, the least significant first: of the
 * higher clock and the direction (5), then of the lower clock (4). */
enum { HIGHER_DIGITS = 5, PAIR_DIGITS = HIGHER_DIGITS + 4, DIGIT_VALUES = 256 };

static size_t pair_digit(const struct pw_order *o, int digit)
{
    const uint64_t higher = (uint64_t)(uint32_t)higher_of(o) << 1 | (o->first > o->second);
    const uint64_t lower = (uint64_t)(uint32_t)lower_of(o);
    const uint64_t value =
        digit < HIGHER_DIGITS ? higher >> 8 * digit : lower >> 8 * (digit - HIGHER_DIGITS);
    return value % DIGIT_VALUES;
}

/* Sorts from one array into the other by one digit; orders with the same digit stay as they are.
 * Returns 0, and leaves the arrays as they are, when all orders have the same digit. */
static int sort_by_digit(const struct pw_order *from, struct pw_order *to, size_t n, int digit)
{
    size_t at[DIGIT_VALUES] = {0};
    for (size_t k = 0; k < n; k++)
        at[pair_digit(&from[k], digit)]++;
    for (size_t v = 0, sum = 0; v < DIGIT_VALUES; v++) {
        if (at[v] == n)
            return 0;
        const size_t count = at[v];
        at[v] = sum;
        sum += count;
    }
    for (size_t k = 0; k < n; k++)
        to[at[pair_digit(&from[k], digit)]++] = from[k];
    return 1;
}

void pw_orders_sort(struct pw_order *orders, size_t n, struct pw_order *scratch)
{
    struct pw_order *from = orders, *to = scratch;
    for (int digit = 0; digit < PAIR_DIGITS; digit++)
        if (sort_by_digit(from, to, n, digit)) {
            struct pw_order *sorted = to;
            to = from;
            from = sorted;
        }
    if (from != orders && n)
        memcpy(orders, from, sizeof(*orders) * n);
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && orders[end].first == orders[first].first &&
                              orders[end].second == orders[first].second;)
            end++;
        pw_sort(orders + first, end - first, sizeof(*orders), by_pair_and_time);
    }
}

static int64_t least_of(const struct pw_order *o)
{
    return o->first_ns - o->second_ns;
}

/* 1 when `a` gives a tighter bound than `b` for the same two clocks, or the same bound earlier. */
static int is_tighter(const struct pw_order *a, const struct pw_order *b)
{
    return least_of(a) != least_of(b) ? least_of(a) > least_of(b) : a->first_ns < b->first_ns;
}

/* Drops orders of which a tighter one of the same two clocks was met lately: most of them, in one
 * pass. Returns how many are left, in another order. */
static size_t drop_looser(struct pw_order *orders, size_t n)
{
    enum { RECENT = 4096 };
    size_t recent[RECENT] = {0}, kept = 0; /* index + 1 of the order kept of a pair */
    for (size_t k = 0; k < n; k++) {
        const uint64_t pair =
            (uint64_t)(uint32_t)orders[k].first << 32 | (uint32_t)orders[k].second;
        size_t *at = &recent[(pair * UINT64_C(0x9e3779b97f4a7c15)) >> 52];
        struct pw_order *old = *at ? &orders[*at - 1] : NULL;
        if (!old || old->first != orders[k].first || old->second != orders[k].second) {
            orders[kept++] = orders[k];
            *at = kept;
        } else if (is_tighter(&orders[k], old)) {
            *old = orders[k];
        }
    }
    return kept;
}

/* Keeps one order for each ordered pair of clocks, the one that gives the tightest bound. Returns
 * how many. */
static size_t keep_tightest(struct pw_order *orders, size_t n)
{
    size_t kept = 0;
    n = drop_looser(orders, n);
    pw_sort(orders, n, sizeof(*orders), by_pair_and_time);
    for (size_t k = 0; k < n; k++) {
        struct pw_order *last = kept ? &orders[kept - 1] : NULL;
        if (!last || last->first != orders[k].first || last->second != orders[k].second)
            orders[kept++] = orders[k];
        else if (least_of(&orders[k]) > least_of(last))
            *last = orders[k];
    }
    return kept;
}

/* Sets the shift of the clocks that are `hop` + 1 hops away from clock 0. Returns 1 when it found
 * any. */
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

/* A bound, as a point: `x` is its distance in time from the time in question. */
struct point {
    double x, y;
};

static struct point point_at(const struct pw_align_bound *b)
{
    return (struct point){(double)b->at_ns, (double)b->value_ns};
}

/* Replaces times by distances in time; each bound is loosened by how much the rates may have
 * wandered meanwhile. */
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

/* Keeps the corners of a convex hull, since a line through all bounds can touch only these: the
 * lower hull of upper bounds (side 1), the upper hull of lower ones (side -1). Returns how many.
 * Bounds are sorted by time. */
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

/* The width that the bounds leave a line of this slope: a concave function of the slope. */
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

/* The slope nearest to `end` at which the bounds leave room. At the slope `inside` they leave
 * room. */
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

int pw_align_at(struct pw_align_bounds *b, int64_t at_ns, struct pw_align_rates rates, int64_t *low,
                int64_t *high)
{
    const double drift = rates.drift, wander = rates.wander;
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

/* 1 when the predecessors of some clock form a cycle. seen[i]: the clock from which the search last
 * reached clock i. */
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

int pw_align_reach(const struct pw_align_graph *graph, enum pw_align_direction direction,
                   int64_t *most, int32_t *scratch)
{
    const struct pw_align_edge *edges = graph->edges;
    const size_t nedges = graph->nedges, nclocks = graph->nclocks;
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
