/* Bounds each domain's clock at chosen times by shortest paths, and puts knots inside the bounds;
 * see domainmap.h and analysis/align.h. */
#include "aggregate/clocks/domainmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/align.h"
#include "analysis/statistics.h"
#include "core/clockmap.h"
#include "core/grow.h"

#define SPACING_NS ((int64_t)2500000000) /* distance of knots */
#define MARGIN_NS ((int64_t)1000000000)  /* before the first order and after the last: MPI_Init */
#define APART_NS ((int64_t)1000000)      /* least distance of knots */
/* Limits: number of knots; number of knots x pairs of clocks, but at least three knots. */
enum { MOST_KNOTS = 2048, MOST_PAIR_KNOTS = 1 << 19 };

struct work {
    struct pw_clockline *lines; /* [ndomains] */
    struct pw_domainmap *maps;
    size_t ndomains;
    struct pw_order *orders; /* with times mapped by the lines */
    size_t norders;
    struct pw_pairbounds pairs;
    int64_t *times; /* [ntimes] times of the knots, cluster time */
    size_t ntimes;
    int64_t *low, *high; /* [ntimes * ndomains] bounds of the corrections */
    /* Scratch. */
    struct pw_align_edge *edges; /* [2 * npairs + 2 * ndomains] */
    int64_t *up, *down; /* [ndomains] upper bounds: of the corrections, and of their negatives */
    int32_t *clocks;    /* [2 * ndomains] */
    int64_t contradictions;
};

int pw_domainmap_append(struct pw_domainmap *map, const struct pw_row_clock *knot)
{
    struct pw_row_clock *knots = pw_grow(map->knots, map->n, sizeof(*knots), &map->capacity);
    if (!knots)
        return -ENOMEM;
    map->knots = knots;
    map->knots[map->n++] = *knot;
    return 0;
}

static int64_t local_of(const struct work *w, size_t domain, int64_t time)
{
    return pw_clockline_local(&w->lines[domain], time);
}

/* Returns the error bound of the measured map at a time; PW_ALIGN_NONE when the domain was not
 * measured. *correction: measured time - the line's time. */
static int64_t measured_error(const struct work *w, size_t domain, int64_t time,
                              int64_t *correction)
{
    const struct pw_domainmap *map = &w->maps[domain];
    *correction = 0;
    if (map->measured == 0)
        return domain == 0 ? 0 : PW_ALIGN_NONE;
    int64_t local = local_of(w, domain, time);
    *correction = pw_clock_to_cluster(map->knots, map->measured, local) - time;
    return pw_clock_error(map->knots, map->measured, local);
}

/* ---- orders ---- */

static void count_bounds(struct work *w)
{
    for (size_t k = 0; k < w->norders; k++) {
        w->maps[w->orders[k].first].bounds++;
        w->maps[w->orders[k].second].bounds++;
    }
}

/* ---- times of the knots ---- */

static void thin_times(struct work *w)
{
    size_t kept = 0, most = MOST_PAIR_KNOTS / (w->pairs.npairs + 1);
    most = most > MOST_KNOTS ? MOST_KNOTS : most < 3 ? 3 : most;
    pw_sort_i64(w->times, w->ntimes);
    for (size_t i = 0; i < w->ntimes; i++)
        if (!kept || w->times[i] - w->times[kept - 1] >= APART_NS)
            w->times[kept++] = w->times[i];
    size_t stride = (kept + most - 1) / most;
    w->ntimes = 0;
    for (size_t i = 0; i < kept; i++)
        if (i % stride == 0 || i + 1 == kept)
            w->times[w->ntimes++] = w->times[i];
}

/* Chooses the times of the knots: those of the measurements, and times spread evenly over the
 * orders. Returns 0 or -ENOMEM. */
static int choose_times(struct work *w)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    size_t measured = 0;
    for (size_t k = 0; k < w->norders; k++) {
        first = w->orders[k].first_ns < first ? w->orders[k].first_ns : first;
        last = w->orders[k].first_ns > last ? w->orders[k].first_ns : last;
    }
    for (size_t d = 0; d < w->ndomains; d++)
        measured += w->maps[d].measured;
    int64_t intervals = (last - first) / SPACING_NS + 2;
    intervals = intervals > MOST_KNOTS ? MOST_KNOTS : intervals;
    w->times = malloc(sizeof(*w->times) * (measured + (size_t)intervals + 3));
    if (!w->times)
        return -ENOMEM;
    for (int64_t i = 0; i <= intervals; i++)
        w->times[w->ntimes++] = first + (last - first) / intervals * i;
    w->times[w->ntimes++] = first - MARGIN_NS;
    w->times[w->ntimes++] = last + MARGIN_NS;
    for (size_t d = 1; d < w->ndomains; d++)
        for (size_t k = 0; k < w->maps[d].measured; k++)
            w->times[w->ntimes++] = w->maps[d].knots[k].local_ns + w->maps[d].knots[k].offset_ns;
    thin_times(w);
    return 0;
}

/* ---- one knot ---- */

static size_t bound_measured(const struct work *w, int64_t time, struct pw_align_edge *out)
{
    size_t n = 0;
    for (size_t d = 1; d < w->ndomains; d++) {
        int64_t middle, error = measured_error(w, d, time, &middle);
        if (error >= PW_ALIGN_NONE)
            continue;
        out[n++] = (struct pw_align_edge){0, (int32_t)d, middle + error};
        out[n++] = (struct pw_align_edge){(int32_t)d, 0, error - middle};
    }
    return n;
}

/* Fills w->up and w->down from the edges. Returns 0, or non-zero when the bounds contradict each
 * other. */
static int reach(struct work *w, size_t nedges)
{
    const struct pw_align_graph graph = {w->edges, nedges, w->ndomains};
    return pw_align_reach(&graph, PW_ALIGN_FROM_REFERENCE, w->up, w->clocks) ||
           pw_align_reach(&graph, PW_ALIGN_TO_REFERENCE, w->down, w->clocks);
}

/* The same when bounds contradict each other: uses only bounds between a clock and the
 * reference. */
static void reach_directly(struct work *w, size_t nedges)
{
    for (size_t d = 0; d < w->ndomains; d++)
        w->up[d] = w->down[d] = d ? PW_ALIGN_NONE : 0;
    for (size_t k = 0; k < nedges; k++) {
        if (w->edges[k].from == 0)
            w->up[w->edges[k].to] = w->edges[k].most_ns;
        else if (w->edges[k].to == 0)
            w->down[w->edges[k].from] = w->edges[k].most_ns;
    }
}

/* When measured and inferred bounds contradict each other: widens the bounds to enclose both. */
static void enclose(struct work *w, size_t npassive, int64_t time)
{
    if (reach(w, npassive))
        reach_directly(w, npassive);
    for (size_t d = 1; d < w->ndomains; d++) {
        int64_t middle, error = measured_error(w, d, time, &middle);
        int64_t *up = &w->up[d], *down = &w->down[d], swap = *up;
        if (*up < -*down) { /* the lower bound is above the upper one: swaps them */
            *up = -*down;
            *down = -swap;
        }
        if (error >= PW_ALIGN_NONE)
            continue;
        *up = *up >= PW_ALIGN_NONE || middle + error > *up ? middle + error : *up;
        *down = *down >= PW_ALIGN_NONE || error - middle > *down ? error - middle : *down;
    }
}

static void bound_knot(struct work *w, size_t at)
{
    size_t npassive = pw_pairbounds_at(&w->pairs, w->times[at], w->edges);
    size_t nedges = npassive + bound_measured(w, w->times[at], w->edges + npassive);
    if (reach(w, nedges)) {
        w->contradictions++;
        enclose(w, npassive, w->times[at]);
    }
    for (size_t d = 0; d < w->ndomains; d++) {
        w->high[at * w->ndomains + d] = w->up[d];
        w->low[at * w->ndomains + d] = -w->down[d];
    }
}

static void bound_knots(struct work *w, MPI_Comm comm)
{
    int process, processes, cells = (int)(w->ntimes * w->ndomains);
    MPI_Comm_rank(comm, &process);
    MPI_Comm_size(comm, &processes);
    for (size_t k = (size_t)process; k < w->ntimes; k += (size_t)processes)
        bound_knot(w, k);
    MPI_Allreduce(MPI_IN_PLACE, w->low, cells, MPI_INT64_T, MPI_SUM, comm);
    MPI_Allreduce(MPI_IN_PLACE, w->high, cells, MPI_INT64_T, MPI_SUM, comm);
    w->contradictions += w->pairs.contradictions;
    MPI_Allreduce(MPI_IN_PLACE, &w->contradictions, 1, MPI_INT64_T, MPI_SUM, comm);
}

/* ---- the new maps ---- */

static int is_between_measurements(const struct work *w, size_t domain, int64_t local)
{
    const struct pw_domainmap *map = &w->maps[domain];
    return map->measured && local >= map->knots[0].local_ns &&
           local <= map->knots[map->measured - 1].local_ns;
}

/* Keeps the measured correction, limited to the bounds: the two ways of a fast round trip take
 * nearly the same time, so the measurement is closer to the truth than the middle of the bounds.
 * When the measurement is worse than the bounds, the middle is taken. */
static int64_t choose_correction(const struct work *w, size_t domain, int64_t time, int64_t low,
                                 int64_t high)
{
    int64_t measured, error = measured_error(w, domain, time, &measured);
    if (!is_between_measurements(w, domain, local_of(w, domain, time)) || error > high - low)
        return low + (high - low) / 2;
    return low > measured ? low : high < measured ? high : measured;
}

/* `map`: local time to cluster time; `residue`: time of the old map to cluster time. */
static int remap(const struct work *w, size_t domain, struct pw_domainmap *map,
                 struct pw_domainmap *residue)
{
    int err = 0;
    for (size_t k = 0; k < w->ntimes && !err; k++) {
        int64_t low = w->low[k * w->ndomains + domain], high = w->high[k * w->ndomains + domain];
        if (low <= -PW_ALIGN_NONE / 2 || high >= PW_ALIGN_NONE / 2)
            continue;
        int64_t time = w->times[k], local = local_of(w, domain, time);
        int64_t correction = choose_correction(w, domain, time, low, high);
        int64_t error = high - correction > correction - low ? high - correction : correction - low;
        int64_t unused, reference = measured_error(w, 0, time, &unused);
        struct pw_row_clock knot = {local, time + correction - local, error + 1 + reference};
        if (map->n && map->knots[map->n - 1].local_ns >= local)
            continue;
        err = pw_domainmap_append(map, &knot);
        knot.local_ns = time;
        knot.offset_ns = correction;
        err = err ? err : pw_domainmap_append(residue, &knot);
    }
    return err;
}

static int64_t largest_error(const struct pw_domainmap *map)
{
    int64_t largest = 0;
    for (size_t k = 0; k < map->n; k++)
        largest = map->knots[k].error_ns > largest ? map->knots[k].error_ns : largest;
    return largest;
}

/* Maps the times of the orders by the new maps, and counts the orders that these still violate. */
static void count_violations(struct work *w, const struct pw_domainmap *residues)
{
    int64_t *errors = w->up, *found = w->down; /* scratch */
    for (size_t k = 0; k < w->norders; k++) {
        struct pw_order *o = &w->orders[k];
        const struct pw_domainmap *a = &residues[o->first], *b = &residues[o->second];
        o->first_ns = pw_clock_to_cluster(a->knots, a->n, o->first_ns);
        o->second_ns = pw_clock_to_cluster(b->knots, b->n, o->second_ns);
    }
    for (int beyond = 0; beyond < 2; beyond++) {
        for (size_t d = 0; d < w->ndomains; d++) {
            errors[d] = beyond ? largest_error(&residues[d]) : 0;
            found[d] = 0;
        }
        pw_align_violations(w->orders, w->norders, errors, found);
        for (size_t d = 0; d < w->ndomains; d++)
            *(beyond ? &w->maps[d].violations_beyond : &w->maps[d].violations) = found[d];
    }
}

static int replace_maps(struct work *w)
{
    struct pw_domainmap *residues = calloc(w->ndomains, sizeof(*residues));
    struct pw_domainmap *maps = calloc(w->ndomains, sizeof(*maps));
    int err = residues && maps ? 0 : -ENOMEM;
    for (size_t d = 0; d < w->ndomains && !err; d++)
        if (d && w->lines[d].known)
            err = remap(w, d, &maps[d], &residues[d]);
    if (!err)
        count_violations(w, residues);
    for (size_t d = 0; d < w->ndomains && residues && maps; d++) {
        if (maps[d].n && !err) {
            free(w->maps[d].knots);
            w->maps[d].knots = maps[d].knots;
            w->maps[d].n = maps[d].n;
            w->maps[d].capacity = maps[d].capacity;
            w->maps[d].inferred = w->maps[d].bounds > 0;
        } else {
            free(maps[d].knots);
        }
        free(residues[d].knots);
    }
    free(residues);
    free(maps);
    return err;
}

/* ---- all steps ---- */

/* Draws the lines, and maps the times of the orders by them. Returns 0 or -ENOMEM. */
static int straighten(struct work *w)
{
    int32_t *hops = malloc(sizeof(*hops) * w->ndomains);
    int64_t *shifts = malloc(sizeof(*shifts) * 2 * w->ndomains);
    w->lines = calloc(w->ndomains, sizeof(*w->lines));
    int err = hops && shifts && w->lines ? 0 : -ENOMEM;
    for (size_t d = 0; d < w->ndomains && !err; d++)
        pw_clockline_measured(&w->lines[d], w->maps[d].knots, w->maps[d].measured, d == 0);
    struct pw_clocklines_scratch scratch = {w->orders + w->norders, hops, shifts};
    if (!err)
        w->norders =
            pw_clocklines_straighten(w->lines, w->ndomains, w->orders, w->norders, &scratch);
    free(hops);
    free(shifts);
    return err;
}

static int allocate(struct work *w)
{
    size_t n = w->ndomains;
    w->low = calloc(w->ntimes * n + 1, sizeof(*w->low));
    w->high = calloc(w->ntimes * n + 1, sizeof(*w->high));
    w->edges = malloc(sizeof(*w->edges) * 2 * (w->pairs.npairs + n));
    w->up = malloc(sizeof(*w->up) * n);
    w->down = malloc(sizeof(*w->down) * n);
    w->clocks = malloc(sizeof(*w->clocks) * 2 * n);
    return w->low && w->high && w->edges && w->up && w->down && w->clocks ? 0 : -ENOMEM;
}

static int index_pairs(struct work *w)
{
    struct pw_pairbounds *p = &w->pairs;
    pw_orders_sort(w->orders, w->norders, w->orders + w->norders);
    *p = (struct pw_pairbounds){.lines = w->lines, .orders = w->orders};
    p->npairs = pw_clock_pairs(w->orders, w->norders, NULL);
    p->pairs = malloc(sizeof(*p->pairs) * p->npairs);
    p->lower = malloc(sizeof(*p->lower) * w->norders);
    p->upper = malloc(sizeof(*p->upper) * w->norders);
    if (!p->pairs || !p->lower || !p->upper)
        return -ENOMEM;
    pw_clock_pairs(w->orders, w->norders, p->pairs);
    return 0;
}

static int prepare(struct work *w, struct pw_orders *orders)
{
    /* Room for the orders and a copy of them. */
    w->orders = realloc(orders->v, sizeof(*orders->v) * (2 * orders->n + 1));
    if (!w->orders)
        return -ENOMEM;
    orders->v = w->orders;
    int err = straighten(w);
    if (err || w->norders == 0)
        return err;
    count_bounds(w);
    err = index_pairs(w);
    err = err ? err : choose_times(w);
    return err ? err : allocate(w);
}

int pw_domainmaps_infer(struct pw_domainmap *maps, size_t ndomains, struct pw_orders *orders,
                        MPI_Comm comm, struct pw_domainmap_report *report)
{
    struct work w = {.maps = maps, .ndomains = ndomains, .norders = orders->n};
    int err = prepare(&w, orders), worst;
    MPI_Allreduce(&err, &worst, 1, MPI_INT, MPI_MIN, comm);
    if (!worst && w.norders) {
        bound_knots(&w, comm);
        err = replace_maps(&w);
        MPI_Allreduce(&err, &worst, 1, MPI_INT, MPI_MIN, comm);
    }
    report->contradictions = w.contradictions;
    free(w.lines);
    free(w.pairs.pairs);
    free(w.pairs.lower);
    free(w.pairs.upper);
    free(w.times);
    free(w.low);
    free(w.high);
    free(w.edges);
    free(w.up);
    free(w.down);
    free(w.clocks);
    return worst;
}
