/* Draws lines; see clockline.h. */
#include "analysis/clockline.h"

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
