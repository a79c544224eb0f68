/* Finds the orders around a time; see pairbounds.h. */
#include "analysis/pairbounds.h"

#include <math.h>

#include "core/clockmap.h"

int64_t pw_clockline_time(const struct pw_clockline *line, int64_t local)
{
    return local + line->offset + (int64_t)(line->slope * (double)(local - line->from));
}

int64_t pw_clockline_local(const struct pw_clockline *line, int64_t time)
{
    int64_t local = time - line->offset;
    for (int i = 0; i < 4; i++) /* the slope is so small that this settles at once */
        local += time - pw_clockline_time(line, local);
    return local;
}

/* No clock drifts by more: what is steeper is the errors of two points. */
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

/* Orders of which both clocks have lines, on these lines and with times in first .. last. */
static size_t select_lined(const struct pw_clockline *lines, const struct pw_order *orders,
                           size_t n, int64_t first, int64_t last, struct pw_order *out)
{
    size_t kept = 0;
    for (size_t k = 0; k < n; k++) {
        struct pw_order order = orders[k];
        const struct pw_clockline *a = &lines[order.first], *b = &lines[order.second];
        if (!a->known || !b->known)
            continue;
        order.first_ns = pw_clockline_time(a, order.first_ns);
        order.second_ns = pw_clockline_time(b, order.second_ns);
        if (order.first_ns >= first && order.first_ns <= last)
            out[kept++] = order;
    }
    return kept;
}

/* Lines of constant offset for clocks that were not measured. */
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

/* Then their slopes, from the first and the last third of the run: over an hour a clock drifts so
 * far that one moment would be at different times of two lines. */
static void draw_slopes(struct pw_clockline *lines, size_t nclocks, const struct pw_order *orders,
                        size_t norders, const struct pw_clocklines_scratch *scratch)
{
    int64_t *early = scratch->shifts, *late = scratch->shifts + nclocks;
    int64_t first = INT64_MAX, last = INT64_MIN;
    size_t n = select_lined(lines, orders, norders, INT64_MIN, INT64_MAX, scratch->orders);
    for (size_t k = 0; k < n; k++) {
        int64_t time = scratch->orders[k].first_ns;
        first = time < first ? time : first;
        last = time > last ? time : last;
    }
    int64_t third = n ? (last - first) / 3 : 0;
    if (third < 1000000000)
        return;
    n = select_lined(lines, orders, norders, first, first + third, scratch->orders);
    pw_align_coarse(scratch->orders, n, nclocks, scratch->hops, early);
    n = select_lined(lines, orders, norders, last - third, last, scratch->orders);
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
    return select_lined(lines, orders, norders, INT64_MIN, INT64_MAX, orders);
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

/* First of orders low .. high at or after `time`. */
static size_t seek(const struct pw_pairbounds *p, size_t low, size_t high, int64_t time)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->orders[middle].first_ns < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Those of orders from .. to that are around a time, as bounds, times `sign`. */
static size_t take_bounds(const struct pw_pairbounds *p, size_t from, size_t to, int64_t time,
                          int sign, struct pw_align_bound *out)
{
    size_t n = 0, end = seek(p, from, to, time + WINDOW_NS);
    for (size_t k = seek(p, from, to, time - WINDOW_NS); k < end; k++)
        out[n++] = (struct pw_align_bound){p->orders[k].first_ns,
                                           sign * (p->orders[k].first_ns - p->orders[k].second_ns)};
    return n;
}

static size_t bound_pair(struct pw_pairbounds *p, const struct pw_clock_pair *pair, int64_t time,
                         struct pw_align_edge *out)
{
    int64_t low, high;
    /* What is left of the drift when the lines' slopes are taken off, however wrong these are. */
    double drift = PW_CLOCK_DRIFT_NS_PER_S * 1e-9 +
                   fabs(p->lines[pair->low].slope - p->lines[pair->high].slope);
    struct pw_align_bounds bounds = {.lower = p->lower, .upper = p->upper};
    bounds.nlower = take_bounds(p, pair->up, pair->down, time, 1, bounds.lower);
    bounds.nupper = take_bounds(p, pair->down, pair->end, time, -1, bounds.upper);
    if (bounds.nlower + bounds.nupper == 0)
        return 0;
    if (pw_align_at(&bounds, time, drift, PW_CLOCK_WANDER_NS_PER_S * 1e-9, &low, &high))
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
