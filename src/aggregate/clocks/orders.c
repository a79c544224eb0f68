/* Collects what is known of the order of events; see orders.h. */
#include "aggregate/clocks/orders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/input/events.h"
#include "aggregate/match/messages.h"
#include "core/hash.h"
#include "core/ops.h"

/* What is kept at most on every process: orders from collectives, and from messages. */
enum { MOST_ORDERS = 1 << 20, MOST_MESSAGES = 1 << 17 };

/* So many domains are each bounded against each other, of more a collective bounds fewer pairs. */
enum { FEW_DOMAINS = 48 };

/* No rank leaves a barrier before the last has entered it, nor a collective of blocks of one size
 * if there is any data. */
static int synchronises(const struct pw_row_comm_event *event)
{
    const struct pw_op_info *op = pw_op_info(event->op);
    const int has_data = event->sent_bytes > 0 && event->recv_bytes > 0;
    return pw_op_is_even(op) && (op->sent == PW_AMOUNT_NOTHING || has_data);
}

/* Of every `stride`-th collective, per domain: the last entry and the first exit. */
struct meetings {
    const struct pw_job *job;
    const struct pw_instances *instances;
    size_t stride, n, ndomains;
    int64_t *enter, *leave; /* [n * ndomains] */
    int64_t *op;            /* [2 * n] the operation, and its negative: largest over the ranks */
    int32_t *met;           /* [ndomains] scratch: those that took part in one */
};

static void meet(void *context, const struct pw_input *input, const struct pw_row_comm_event *event)
{
    struct meetings *m = context;
    int64_t instance = pw_instances_find(m->instances, input, event);
    if (instance < 0 || (size_t)instance % m->stride || (event->flags & PW_FLAG_ERROR) ||
        pw_events_is_enqueued(event))
        return;
    size_t at = (size_t)instance / m->stride, cell = at * m->ndomains + (size_t)input->domain;
    int64_t enter = pw_input_time(input, event->start), leave = pw_input_time(input, event->end);
    int64_t op = synchronises(event) ? event->op : -1;
    m->op[2 * at] = op > m->op[2 * at] ? op : m->op[2 * at];
    m->op[2 * at + 1] = -op > m->op[2 * at + 1] ? -op : m->op[2 * at + 1];
    m->enter[cell] = enter > m->enter[cell] ? enter : m->enter[cell];
    m->leave[cell] = leave < m->leave[cell] ? leave : m->leave[cell];
}

static int allocate(struct meetings *m)
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

/* The domain after j, of those that met, that is bounded against domain i < j: each of few; of
 * many, all against the first, and those whose numbers differ in one digit of base two, so that few
 * hops lead from any to any. */
static size_t next_partner(size_t i, size_t j, size_t met)
{
    if (met <= FEW_DOMAINS || i == 0)
        return j + 1;
    for (size_t digit = i == j ? 1 : (i ^ j) << 1; (i | digit) < met && digit < met; digit <<= 1)
        if (!(i & digit))
            return i | digit;
    return met;
}

/* Orders of a meeting of so many domains, at most. */
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
    /* All ranks took part in the same operation, or the match is none. */
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
    int all_ok = pw_procs_all_ok(&job->procs, allocate(&m) && out->v);
    if (all_ok) {
        int cells = (int)(m.n * m.ndomains);
        for (size_t i = 0; i < job->ninputs; i++)
            pw_events_read(&job->inputs[i], meet, &m); /* damage is noted by a later pass */
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

/* Messages between domains; of too many, those whose hash ends with `level` zeros. Which these are
 * depends neither on how many processes share them nor on the order in which they come. */
struct letters {
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

static void thin_out(struct letters *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->n; i++)
        if (level_of(&l->v[i]) >= l->level)
            l->v[kept++] = l->v[i];
    l->n = kept;
}

static void take_letter(void *context, int32_t src, int32_t dst, int64_t send_enter_ns,
                        int64_t receive_leave_ns)
{
    struct letters *l = context;
    struct pw_order letter = {l->job->world.domains[src], l->job->world.domains[dst], send_enter_ns,
                              receive_leave_ns};
    while (l->n == MOST_MESSAGES && l->level < MOST_LEVELS) {
        l->level++;
        thin_out(l);
    }
    if (l->n < MOST_MESSAGES && level_of(&letter) >= l->level)
        l->v[l->n++] = letter;
}

/* All processes' together are no more than one may have. Collective. */
static void thin_out_all(struct letters *l)
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

static int collect_letters(struct pw_orders *out, struct pw_job *job)
{
    struct letters l = {.job = job};
    l.v = malloc(sizeof(*l.v) * MOST_MESSAGES);
    int all_ok = pw_procs_all_ok(&job->procs, l.v != NULL);
    int err = all_ok ? pw_messages_visit(job, take_letter, &l) : -ENOMEM;
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

int pw_orders_collect(struct pw_orders *orders, struct pw_job *job,
                      const struct pw_instances *instances)
{
    *orders = (struct pw_orders){0};
    int err = collect_meetings(orders, job, instances);
    err = err ? err : collect_letters(orders, job);
    return pw_procs_worst(&job->procs, err);
}

void pw_orders_fini(struct pw_orders *orders)
{
    free(orders->v);
}
