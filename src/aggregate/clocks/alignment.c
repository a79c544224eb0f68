/* Collects orders of events, combines them with measured knots into one map for each clock domain,
 * and gives each input its map; see alignment.h. */
#include "aggregate/clocks/alignment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/input/events.h"
#include "aggregate/match/messages.h"
#include "analysis/align.h"
#include "analysis/statistics.h"
#include "core/clockmap.h"
#include "core/grow.h"
#include "core/h5/h5reader.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/ops.h"
#include "core/sort.h"
#include "core/tables.h"

/* One map for each clock domain, from measured knots and from the order of events. No files are
 * read here; the arithmetic is in analysis/align.h. */

/* Pairs of events in two clock domains whose order is known. They bound the difference of the
 * clocks without a measurement (analysis/align.h). */
struct pw_orders {
    struct pw_order *v; /* first and second are domains; the same on all processes */
    size_t n;
};

/* Map from the domain's local time to cluster time. Without knots it is the identity for domain 0,
 * and unknown for others. */
struct pw_domainmap {
    struct pw_row_clock *knots;
    size_t n, capacity;
    size_t measured; /* knots that were measured during the run */
    int inferred;    /* 1: the order of events was used */
    int64_t bounds, violations, violations_beyond;
};

struct pw_domainmap_report {
    int64_t contradictions; /* times at which bounds contradict each other */
};

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

static int domainmap_append(struct pw_domainmap *map, const struct pw_row_clock *knot)
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

static void bound_knots(struct work *w, pw_ex_comm comm)
{
    int process, processes, cells = (int)(w->ntimes * w->ndomains);
    pw_ex_rank(comm, &process);
    pw_ex_size(comm, &processes);
    for (size_t k = (size_t)process; k < w->ntimes; k += (size_t)processes)
        bound_knot(w, k);
    pw_ex_allreduce(PW_EX_IN_PLACE, w->low, cells, PW_EX_INT64_T, PW_EX_SUM, comm);
    pw_ex_allreduce(PW_EX_IN_PLACE, w->high, cells, PW_EX_INT64_T, PW_EX_SUM, comm);
    w->contradictions += w->pairs.contradictions;
    pw_ex_allreduce(PW_EX_IN_PLACE, &w->contradictions, 1, PW_EX_INT64_T, PW_EX_SUM, comm);
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
        err = domainmap_append(map, &knot);
        knot.local_ns = time;
        knot.offset_ns = correction;
        err = err ? err : domainmap_append(residue, &knot);
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

/* Improves the maps, which hold the measured knots, by the orders. The times of `orders` are local
 * and are overwritten. Collective over `comm`; the result is the same on all processes and for any
 * number of them. Returns 0 or -ENOMEM. */
static int domainmaps_infer(struct pw_domainmap *maps, size_t ndomains, struct pw_orders *orders,
                            pw_ex_comm comm, struct pw_domainmap_report *report)
{
    struct work w = {.maps = maps, .ndomains = ndomains, .norders = orders->n};
    int err = prepare(&w, orders), worst;
    pw_ex_allreduce(&err, &worst, 1, PW_EX_INT, PW_EX_MIN, comm);
    if (!worst && w.norders) {
        bound_knots(&w, comm);
        err = replace_maps(&w);
        pw_ex_allreduce(&err, &worst, 1, PW_EX_INT, PW_EX_MIN, comm);
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

/* ---- the order of events ---- */

/* Limits on each process: orders from collectives, and orders from messages. */
enum { MOST_ORDERS = 1 << 20, MOST_MESSAGES = 1 << 17 };

/* With at most this number of domains, a collective bounds every pair of them. With more, it bounds
 * only some pairs. */
enum { FEW_DOMAINS = 48 };

/* 1 when no rank leaves the collective before the last rank has entered: for a barrier, and for
 * collectives with blocks of equal size if there is any data. */
static int synchronises(const struct pw_row_comm_event *event)
{
    const struct pw_op_info *op = pw_op_info(event->op);
    const int has_data = event->sent_bytes > 0 && event->recv_bytes > 0;
    return pw_op_is_even(op) && (op->sent == PW_AMOUNT_NOTHING || has_data);
}

/* The last entry and the first exit of every `stride`-th collective, in each domain. */
struct meetings {
    const struct pw_job *job;
    const struct pw_instances *instances;
    size_t stride, n, ndomains;
    int64_t *enter, *leave; /* [n * ndomains] */
    int64_t *op;  /* [2 * n] the largest over the ranks of the operation, and of its negative: equal
                     when all ranks agree */
    int32_t *met; /* [ndomains] scratch: the domains that took part in a collective */
};

static void meet(void *context, const struct pw_input *input, const struct pw_row_comm_event *event)
{
    struct meetings *m = context;
    int64_t instance = pw_instances_find(m->instances, input, event);
    if (instance < 0 || (size_t)instance % m->stride || (event->flags & PW_FLAG_ERROR) ||
        pw_event_is_enqueued(event))
        return;
    size_t at = (size_t)instance / m->stride, cell = at * m->ndomains + (size_t)input->domain;
    int64_t enter = pw_input_time(input, event->start), leave = pw_input_time(input, event->end);
    int64_t op = synchronises(event) ? event->op : -1;
    m->op[2 * at] = op > m->op[2 * at] ? op : m->op[2 * at];
    m->op[2 * at + 1] = -op > m->op[2 * at + 1] ? -op : m->op[2 * at + 1];
    m->enter[cell] = enter > m->enter[cell] ? enter : m->enter[cell];
    m->leave[cell] = leave < m->leave[cell] ? leave : m->leave[cell];
}

static int allocate_meetings(struct meetings *m)
{
    size_t cells = m->n * m->ndomains;
    m->enter = malloc(sizeof(int64_t) * (cells + 1));
    m->leave = malloc(sizeof(int64_t) * (cells + 1));
    m->op = malloc(sizeof(int64_t) * (2 * m->n + 1));
    m->met = malloc(sizeof(int32_t) * m->ndomains);
    if (!m->enter || !m->leave || !m->op || !m->met)
        return 0;
    for (size_t i = 0; i < cells; i++) {
        m->enter[i] = INT64_MIN;
        m->leave[i] = INT64_MAX;
    }
    for (size_t i = 0; i < 2 * m->n; i++)
        m->op[i] = INT64_MIN;
    return 1;
}

/* Returns the next domain after j to be paired with domain i, of the `met` domains of a collective;
 * `met` when there is none. With few domains, all pairs are used. With many, the pairs are those
 * with the first domain, and those whose numbers differ in one binary digit: so a few hops lead
 * from any domain to any other. */
static size_t next_partner(size_t i, size_t j, size_t met)
{
    if (met <= FEW_DOMAINS || i == 0)
        return j + 1;
    for (size_t digit = i == j ? 1 : (i ^ j) << 1; (i | digit) < met && digit < met; digit <<= 1)
        if (!(i & digit))
            return i | digit;
    return met;
}

/* The largest number of orders from a collective of `met` domains. */
static size_t count_pairs(size_t met)
{
    size_t digits = 1;
    while (((size_t)1 << digits) < met)
        digits++;
    return met <= FEW_DOMAINS ? met * (met - 1) : met * (digits + 2);
}

static void append_order(struct pw_orders *out, int32_t first, int32_t second, int64_t enter,
                         int64_t leave)
{
    out->v[out->n++] = (struct pw_order){first, second, enter, leave};
}

static void append_meeting(struct pw_orders *out, struct meetings *m, size_t at)
{
    const int64_t *enter = m->enter + at * m->ndomains, *leave = m->leave + at * m->ndomains;
    size_t met = 0;
    /* Ignores a collective whose ranks disagree about the operation. */
    if (m->op[2 * at] < 0 || m->op[2 * at] != -m->op[2 * at + 1])
        return;
    for (size_t d = 0; d < m->ndomains; d++)
        if (enter[d] != INT64_MIN)
            m->met[met++] = (int32_t)d;
    for (size_t i = 0; i < met; i++)
        for (size_t j = next_partner(i, i, met); j < met; j = next_partner(i, j, met)) {
            int32_t a = m->met[i], b = m->met[j];
            append_order(out, a, b, enter[a], leave[b]);
            append_order(out, b, a, enter[b], leave[a]);
        }
}

static int collect_meetings(struct pw_orders *out, struct pw_job *job,
                            const struct pw_instances *instances)
{
    size_t domains = (size_t)job->world.ndomains, pairs = count_pairs(domains);
    size_t most = MOST_ORDERS / pairs + 1;
    struct meetings m = {.job = job, .instances = instances, .ndomains = domains};
    m.stride = instances->n / most + 1;
    m.n = (instances->n + m.stride - 1) / m.stride;
    out->v = malloc(sizeof(*out->v) * (m.n * pairs + 1));
    int all_ok = pw_procs_all_ok(&job->procs, allocate_meetings(&m) && out->v);
    if (all_ok) {
        int cells = (int)(m.n * m.ndomains);
        for (size_t i = 0; i < job->ninputs; i++)
            pw_events_read(&job->inputs[i], meet, &m); /* a later pass notes damage */
        pw_ex_allreduce(PW_EX_IN_PLACE, m.enter, cells, PW_EX_INT64_T, PW_EX_MAX, job->procs.comm);
        pw_ex_allreduce(PW_EX_IN_PLACE, m.leave, cells, PW_EX_INT64_T, PW_EX_MIN, job->procs.comm);
        pw_ex_allreduce(PW_EX_IN_PLACE, m.op, (int)(2 * m.n), PW_EX_INT64_T, PW_EX_MAX,
                        job->procs.comm);
        for (size_t at = 0; at < m.n; at++)
            append_meeting(out, &m, at);
    }
    free(m.enter);
    free(m.leave);
    free(m.op);
    free(m.met);
    return all_ok ? 0 : -ENOMEM;
}

/* Messages between domains. When there are too many, only those whose hash ends with `level` zero
 * bits are kept. So the choice depends neither on the number of processes nor on the order of the
 * messages. */
struct crossings {
    const struct pw_job *job;
    struct pw_order *v;
    size_t n;
    int level;
};

enum { MOST_LEVELS = 32 };

static int level_of(const struct pw_order *order)
{
    uint64_t domains = (uint64_t)(uint32_t)order->first << 32 | (uint32_t)order->second;
    uint64_t hash =
        pw_hash_mix(pw_hash_mix(domains, (uint64_t)order->first_ns), (uint64_t)order->second_ns);
    int level = 0;
    while (level < MOST_LEVELS && !(hash >> level & 1))
        level++;
    return level;
}

static void thin_out(struct crossings *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->n; i++)
        if (level_of(&l->v[i]) >= l->level)
            l->v[kept++] = l->v[i];
    l->n = kept;
}

static void take_crossing(void *context, int32_t src, int32_t dst, int64_t send_enter_ns,
                          int64_t receive_leave_ns)
{
    struct crossings *l = context;
    struct pw_order crossing = {l->job->world.domains[src], l->job->world.domains[dst],
                                send_enter_ns, receive_leave_ns};
    while (l->n == MOST_MESSAGES && l->level < MOST_LEVELS) {
        l->level++;
        thin_out(l);
    }
    if (l->n < MOST_MESSAGES && level_of(&crossing) >= l->level)
        l->v[l->n++] = crossing;
}

/* Reduces the messages so that all processes together have at most MOST_MESSAGES. Collective. */
static void thin_out_all(struct crossings *l)
{
    int64_t counts[MOST_LEVELS + 1] = {0};
    for (size_t i = 0; i < l->n; i++)
        for (int level = level_of(&l->v[i]); level >= 0; level--)
            counts[level]++;
    pw_ex_allreduce(PW_EX_IN_PLACE, &l->level, 1, PW_EX_INT, PW_EX_MAX, l->job->procs.comm);
    pw_ex_allreduce(PW_EX_IN_PLACE, counts, MOST_LEVELS + 1, PW_EX_INT64_T, PW_EX_SUM,
                    l->job->procs.comm);
    while (l->level < MOST_LEVELS && counts[l->level] > MOST_MESSAGES)
        l->level++;
    thin_out(l);
}

static int collect_crossings(struct pw_orders *out, struct pw_job *job)
{
    struct crossings l = {.job = job};
    l.v = malloc(sizeof(*l.v) * MOST_MESSAGES);
    int all_ok = pw_procs_all_ok(&job->procs, l.v != NULL);
    int err = all_ok ? pw_messages_visit(job, take_crossing, &l) : -ENOMEM;
    if (!err) {
        void *all;
        thin_out_all(&l);
        size_t n = pw_procs_allgather(&job->procs, l.v, l.n, sizeof(*l.v), &all);
        struct pw_order *v = realloc(out->v, sizeof(*v) * (out->n + n + 1));
        if (v) {
            memcpy(v + out->n, all, sizeof(*v) * n);
            out->v = v;
            out->n += n;
        }
        err = v ? 0 : -ENOMEM;
        free(all);
    }
    free(l.v);
    return err;
}

/* Collects orders from synchronising collectives and from messages. When there are very many, an
 * even selection is taken, which is the same for every number of processes. Times are local: the
 * inputs have no maps yet. `instances` are numbered. Collective. Returns 0 or -ENOMEM. */
static int collect_orders(struct pw_orders *orders, struct pw_job *job,
                          const struct pw_instances *instances)
{
    *orders = (struct pw_orders){0};
    int err = collect_meetings(orders, job, instances);
    err = err ? err : collect_crossings(orders, job);
    return pw_procs_worst(&job->procs, err);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- measured knots ---- */

struct domain_knot {
    int64_t domain;
    struct pw_row_clock knot;
};

static int by_domain_and_time(const void *a, const void *b)
{
    const struct domain_knot *x = a, *y = b;
    if (x->domain != y->domain)
        return x->domain < y->domain ? -1 : 1;
    if (x->knot.local_ns != y->knot.local_ns)
        return x->knot.local_ns < y->knot.local_ns ? -1 : 1;
    return (x->knot.error_ns > y->knot.error_ns) - (x->knot.error_ns < y->knot.error_ns);
}

/* The knots of a domain are taken from the rank with the largest weight: most knots, then the
 * lowest rank. One rank of each domain measured during the run; the others have only the
 * measurements over MPI. */
static int64_t weight(const struct pw_input *input)
{
    return ((int64_t)input->nknots << 25) - input->rank;
}

static int64_t *choose_speakers(const struct pw_job *job)
{
    int64_t *best = malloc(sizeof(*best) * ((size_t)job->world.ndomains + 1));
    for (int32_t d = 0; best && d < job->world.ndomains; d++)
        best[d] = INT64_MIN;
    for (size_t i = 0; best && i < job->ninputs; i++) {
        const struct pw_input *s = &job->inputs[i];
        best[s->domain] = weight(s) > best[s->domain] ? weight(s) : best[s->domain];
    }
    if (pw_procs_all_ok(&job->procs, best != NULL))
        pw_ex_allreduce(PW_EX_IN_PLACE, best, job->world.ndomains, PW_EX_INT64_T, PW_EX_MAX,
                        job->procs.comm);
    return best;
}

static size_t gather_knots(const struct pw_job *job, struct domain_knot **out)
{
    size_t n = 0;
    for (size_t i = 0; i < job->ninputs; i++)
        n += job->inputs[i].nknots;
    struct domain_knot *mine = calloc(n + 1, sizeof(*mine));
    int64_t *speakers = choose_speakers(job);
    n = 0;
    for (size_t i = 0; i < job->ninputs && mine; i++) {
        const struct pw_input *s = &job->inputs[i];
        int speaks = speakers && speakers[s->domain] == weight(s);
        for (size_t k = 0; k < s->nknots && speaks; k++)
            mine[n++] = (struct domain_knot){s->domain, s->knots[k]};
    }
    void *all;
    if (!pw_procs_all_ok(&job->procs, mine && speakers))
        pw_procs_out_of_memory(&job->procs);
    n = pw_procs_allgather(&job->procs, mine, n, sizeof(*mine), &all);
    free(mine);
    free(speakers);
    *out = all;
    pw_sort(all, n, sizeof(**out), by_domain_and_time);
    return n;
}

static int make_measured_maps(const struct pw_job *job, struct pw_domainmap *maps)
{
    struct domain_knot *all;
    size_t n = gather_knots(job, &all);
    int err = 0;
    for (size_t i = 0; i < n && !err; i++) {
        struct pw_domainmap *map = &maps[all[i].domain];
        if (map->n && map->knots[map->n - 1].local_ns >= all[i].knot.local_ns)
            continue;
        err = domainmap_append(map, &all[i].knot);
        map->measured = map->n;
    }
    free(all);
    return err;
}

/* ---- the inputs' maps ---- */

static int give_map(struct pw_input *input, const struct pw_domainmap *map)
{
    struct pw_row_clock *knots = malloc(sizeof(*knots) * (map->n + 1));
    if (!knots)
        return -ENOMEM;
    if (map->n)
        memcpy(knots, map->knots, sizeof(*knots) * map->n);
    free(input->knots);
    input->knots = knots;
    input->nknots = map->n;
    input->aligned = input->domain == 0 || map->n > 0;
    return 0;
}

static int give_maps(struct pw_job *job, const struct pw_domainmap *maps)
{
    int err = 0;
    for (size_t i = 0; i < job->ninputs && !err; i++)
        err = give_map(&job->inputs[i], &maps[job->inputs[i].domain]);
    return err;
}

static int64_t first_time(const struct pw_job *job)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < job->ninputs; i++) {
        const struct pw_input *s = &job->inputs[i];
        if (s->nsteps)
            first = smaller(first, pw_input_time(s, s->steps[0].start));
        else if (s->begin_ns != INT64_MAX)
            first = smaller(first, pw_input_time(s, s->begin_ns));
    }
    return first;
}

static void share_clock_errors(struct pw_job *job)
{
    int64_t *errors = malloc(sizeof(*errors) * (size_t)job->world.nranks), first = first_time(job);
    if (!pw_procs_all_ok(&job->procs, errors != NULL))
        pw_procs_out_of_memory(&job->procs);
    for (int64_t r = 0; r < job->world.nranks; r++)
        errors[r] = -2;
    for (size_t i = 0; i < job->ninputs; i++)
        errors[job->inputs[i].rank] = pw_input_clock_error(&job->inputs[i]);
    pw_ex_allreduce(PW_EX_IN_PLACE, errors, (int)job->world.nranks, PW_EX_INT64_T, PW_EX_MAX,
                    job->procs.comm);
    pw_ex_allreduce(&first, &job->world.epoch_ns, 1, PW_EX_INT64_T, PW_EX_MIN, job->procs.comm);
    job->world.epoch_ns = job->world.epoch_ns == INT64_MAX ? 0 : job->world.epoch_ns;
    for (int64_t r = 0; r < job->world.nranks; r++) {
        if (!job->world.ranks[r].present)
            continue;
        job->world.ranks[r].clock_error_ns = errors[r];
        if (errors[r] < 0)
            job->world.clock_error_max_ns = -1;
        else if (job->world.clock_error_max_ns >= 0 && errors[r] > job->world.clock_error_max_ns)
            job->world.clock_error_max_ns = errors[r];
        /* What was enqueued when is not compared between ranks. */
        if (errors[r] < 0 && job->procs.process == 0 && strcmp(job->world.imported, "flight") != 0)
            pw_job_note(job, r, "unaligned_clock", 1,
                        "neither a measurement nor an event relates its clock to rank 0's");
    }
    free(errors);
}

/* ---- the rows of the cluster file ---- */

static const char *name_source(const struct pw_domainmap *map, int32_t domain)
{
    if (domain == 0)
        return "reference";
    if (map->n == 0)
        return "none";
    if (map->inferred && map->measured)
        return "both";
    return map->inferred ? "passive" : "active";
}

static void describe_drift(const struct pw_domainmap *map, struct pw_row_c_clock *row)
{
    if (map->n < 2)
        return;
    const struct pw_row_clock *a = &map->knots[0], *b = &map->knots[map->n - 1];
    double span = (double)(b->local_ns - a->local_ns);
    /* cluster = local + offset: the offset of a fast clock decreases. */
    row->drift_ppm = -1e6 * (double)(b->offset_ns - a->offset_ns) / span;
    row->drift_error_ppm = 1e6 * (double)(a->error_ns + b->error_ns) / span;
}

static void fill_ranks(struct pw_alignment *a, const struct pw_world *world,
                       const struct pw_domainmap *maps)
{
    for (int64_t r = 0; r < world->nranks; r++) {
        int32_t d = world->domains[r];
        struct pw_row_c_clock *row = &a->ranks[r];
        row->rank = (int32_t)r;
        row->domain = d;
        row->error_ns = world->ranks[r].clock_error_ns;
        memcpy(row->hostname, world->ranks[r].hostname, sizeof(row->hostname));
        snprintf(row->source, sizeof(row->source), "%s", d < 0 ? "none" : name_source(&maps[d], d));
        if (d < 0)
            continue;
        row->offset_ns = maps[d].n ? maps[d].knots[maps[d].n / 2].offset_ns : 0;
        row->knots = (int64_t)maps[d].n;
        row->active_knots = (int64_t)maps[d].measured;
        row->bounds = maps[d].bounds;
        row->violations = maps[d].violations;
        row->violations_beyond = maps[d].violations_beyond;
        describe_drift(&maps[d], row);
    }
}

/* Logs how each clock was related to the cluster clock. */
static void say_maps(const struct pw_world *world, const struct pw_domainmap *maps)
{
    int32_t said = 0;
    for (int64_t r = 0; r < world->nranks; r++) {
        const int32_t d = world->domains[r];
        if (d != said)
            continue; /* domains are numbered in the order of their lowest ranks */
        said++;
        pw_debug(PW_LOG_CLOCK, 2,
                 "clock %d (%.64s): source %s, %zu measurements, %lld bounds from the order of "
                 "events, of which %lld are violated; error %lld ns",
                 (int)d, world->ranks[r].hostname, name_source(&maps[d], d), maps[d].measured,
                 (long long)maps[d].bounds, (long long)maps[d].violations,
                 (long long)world->ranks[r].clock_error_ns);
    }
}

static int fill_knots(struct pw_alignment *a, const struct pw_world *world,
                      const struct pw_domainmap *maps)
{
    size_t n = 0;
    for (int32_t d = 0; d < world->ndomains; d++)
        n += maps[d].n;
    a->knots = malloc(sizeof(*a->knots) * (n + 1));
    if (!a->knots)
        return -ENOMEM;
    for (int32_t d = 0; d < world->ndomains; d++)
        for (size_t k = 0; k < maps[d].n; k++)
            a->knots[a->nknots++] =
                (struct pw_row_c_clock_knot){d, maps[d].knots[k].local_ns,
                                             maps[d].knots[k].offset_ns, maps[d].knots[k].error_ns};
    return 0;
}

static int infer(struct pw_job *job, const struct pw_instances *instances,
                 struct pw_domainmap *maps)
{
    struct pw_orders orders = {0};
    int err = collect_orders(&orders, job, instances);
    struct pw_domainmap_report report = {0};
    err = err ? err
              : domainmaps_infer(maps, (size_t)job->world.ndomains, &orders, job->procs.comm,
                                 &report);
    if (!err && report.contradictions && job->procs.process == 0)
        pw_job_note(job, -1, "clock_contradiction", report.contradictions,
                    "measured clocks and the order of events disagree: a clock has stepped, or "
                    "drifts by more than 100 us/s; error bounds are widened");
    free(orders.v);
    return err;
}

int pw_alignment_make(struct pw_alignment *a, struct pw_job *job,
                      const struct pw_instances *instances)
{
    struct pw_domainmap *maps = calloc((size_t)job->world.ndomains + 1, sizeof(*maps));
    *a = (struct pw_alignment){.ranks = calloc((size_t)job->world.nranks, sizeof(*a->ranks))};
    for (size_t i = 0; i < job->ninputs; i++)
        job->inputs[i].domain = job->world.domains[job->inputs[i].rank];
    int err = maps && a->ranks ? make_measured_maps(job, maps) : -ENOMEM, worst;
    for (size_t i = 0; i < job->ninputs; i++)
        job->inputs[i].nknots = 0;
    worst = pw_procs_worst(&job->procs, err);
    if (!worst && job->world.ndomains > 1 && job->world.infer_clocks)
        err = infer(job, instances, maps);
    err = err ? err : worst ? worst : give_maps(job, maps);
    worst = pw_procs_worst(&job->procs, err);
    if (!worst) {
        share_clock_errors(job);
        fill_ranks(a, &job->world, maps);
        if (job->procs.process == 0)
            say_maps(&job->world, maps);
        err = fill_knots(a, &job->world, maps);
        worst = pw_procs_worst(&job->procs, err);
    }
    for (int32_t d = 0; maps && d < job->world.ndomains; d++)
        free(maps[d].knots);
    free(maps);
    return worst;
}

void pw_alignment_fini(struct pw_alignment *a)
{
    free(a->ranks);
    free(a->knots);
}
