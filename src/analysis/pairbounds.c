/* Finds the orders around a time; see pairbounds.h. */
#include "analysis/pairbounds.h"

#include <math.h>

#include "core/clockmap.h"

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
