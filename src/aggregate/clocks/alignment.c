/* Collects orders of events, combines them with measured knots into one map for each clock domain,
 * and gives each input its map; see alignment.h. */
#include "aggregate/clocks/alignment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/clocks/domainmap.h"
#include "aggregate/input/events.h"
#include "aggregate/match/messages.h"
#include "core/clockmap.h"
#include "core/h5/h5reader.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/ops.h"
#include "core/sort.h"

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
        MPI_Allreduce(MPI_IN_PLACE, m.enter, cells, MPI_INT64_T, MPI_MAX, job->procs.comm);
        MPI_Allreduce(MPI_IN_PLACE, m.leave, cells, MPI_INT64_T, MPI_MIN, job->procs.comm);
        MPI_Allreduce(MPI_IN_PLACE, m.op, (int)(2 * m.n), MPI_INT64_T, MPI_MAX, job->procs.comm);
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
    MPI_Allreduce(MPI_IN_PLACE, &l->level, 1, MPI_INT, MPI_MAX, l->job->procs.comm);
    MPI_Allreduce(MPI_IN_PLACE, counts, MOST_LEVELS + 1, MPI_INT64_T, MPI_SUM, l->job->procs.comm);
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
        MPI_Allreduce(MPI_IN_PLACE, best, job->world.ndomains, MPI_INT64_T, MPI_MAX,
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
        err = pw_domainmap_append(map, &all[i].knot);
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
    MPI_Allreduce(MPI_IN_PLACE, errors, (int)job->world.nranks, MPI_INT64_T, MPI_MAX,
                  job->procs.comm);
    MPI_Allreduce(&first, &job->world.epoch_ns, 1, MPI_INT64_T, MPI_MIN, job->procs.comm);
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
              : pw_domainmaps_infer(maps, (size_t)job->world.ndomains, &orders, job->procs.comm,
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
