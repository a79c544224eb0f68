/* Builds the nodes of each rank from its events, steps and phases; see graph.h and
 * analysis/replay.h. */
#include "aggregate/findings/graph.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/collectives.h"
#include "analysis/message.h"
#include "core/grow.h"
#include "core/ops.h"
#include "core/sort.h"
#include "core/tables.h"

/* Makes the gates from the ranks' events and the matched messages. Whether a send can wait is
 * judged by other sends of its size. See graph.h. */

/* ---- which sends wait for their receive ---- */

enum { LEAST = 3 };

#define MOSTLY 0.9

void pw_sendmode_see(struct pw_sendmode *mode, const struct pw_graph_op *send,
                     const struct pw_graph_op *receive)
{
    if (send->stands == INT64_MAX || receive->enter <= send->stands)
        return;
    int64_t *counts = send->leave >= receive->enter ? mode->waited : mode->left;
    counts[pw_size_eighth(send->size)]++;
}

int pw_sendmode_waits(const struct pw_sendmode *mode, const struct pw_graph_op *send)
{
    const size_t at = pw_size_eighth(send->size);
    const double waited = (double)mode->waited[at], all = waited + (double)mode->left[at];
    return send->op == PW_OP_Ssend || send->op == PW_OP_Issend ||
           (all >= LEAST && waited >= MOSTLY * all);
}

/* ---- gates ---- */

static int by_rank_and_enter(const void *a, const void *b)
{
    const struct pw_graph_op *x = a, *y = b;
    PW_COMPARE(x->rank, y->rank);
    PW_COMPARE(x->local_enter, y->local_enter);
    PW_COMPARE(x->receives, y->receives);
    return 0;
}

static const struct pw_graph_op *find_op(const struct pw_gates *g, int32_t rank, int64_t enter,
                                         uint8_t receives)
{
    struct pw_graph_op key = {.rank = rank, .local_enter = enter, .receives = receives};
    return bsearch(&key, g->ops, g->nops, sizeof(key), by_rank_and_enter);
}

static void open_at(struct pw_gates *g, int32_t gate, int64_t time)
{
    g->needs[gate]++;
    g->opened[gate] = time > g->opened[gate] ? time : g->opened[gate];
}

static void add_at(struct pw_gates *g, size_t op, int32_t gate, int64_t time)
{
    g->gate_of[op] = gate;
    g->adds_at[op] = time;
    open_at(g, gate, time);
}

static struct pw_message_end end_of(const struct pw_graph_op *op)
{
    return (struct pw_message_end){op->enter, op->leave, op->stands};
}

/* Whether the rank stayed in an operation from or to a root until the last rank had entered, though
 * by its shape it need not wait for that one: it passes data on, or sends more than fits into
 * buffers. If the root was the last, that is the usual wait for the root. */
static bool is_blocked(const struct pw_graph_op *op, const struct pw_instance *instance)
{
    const enum pw_op_shape shape = pw_op_info(op->op)->shape;
    return (shape == PW_SHAPE_FROM_ROOT || shape == PW_SHAPE_TO_ROOT) &&
           instance->root_enter < instance->last_enter && op->stands < instance->last_enter &&
           instance->last_enter <= op->leave;
}

/* Whether the operation is one that a gate is made for. */
static bool has_gate(const struct pw_graph_op *op, const struct pw_instances *in)
{
    return op->instance >= 0 && !in->items[op->instance].mixed &&
           in->items[op->instance].nranks >= 2;
}

/* Of each operation from a root in which a rank was blocked: adds a gate to which all ranks add.
 * The blocked ranks wait for it. In operations to a root all ranks add to the gate that there is.
 * `full` has room for a gate of each instance. */
static void add_blocked(struct pw_gates *g, const struct pw_instances *in, const int32_t *gates,
                        int32_t *full)
{
    for (size_t i = 0; i < in->n; i++)
        full[i] = -1;
    for (size_t i = 0; i < g->nops; i++) {
        const struct pw_graph_op *op = &g->ops[i];
        if (!has_gate(op, in) || !is_blocked(op, &in->items[op->instance]))
            continue;
        int32_t *gate = &full[op->instance];
        if (pw_op_info(op->op)->shape == PW_SHAPE_TO_ROOT)
            *gate = gates[op->instance];
        else if (*gate < 0)
            *gate = (int32_t)g->n++;
        g->waits_at[i] = *gate;
    }
    for (size_t i = 0; i < g->nops; i++) {
        const struct pw_graph_op *op = &g->ops[i];
        if (!has_gate(op, in) || full[op->instance] < 0 ||
            pw_op_info(op->op)->shape != PW_SHAPE_FROM_ROOT)
            continue;
        g->full_of[i] = full[op->instance];
        open_at(g, full[op->instance], op->enter);
    }
}

/* Adds a gate for each collective. When some members did not record it, the others wait for each
 * other; their wait for the missing members is a constant cost. */
static int add_instances(struct pw_gates *g, const struct pw_instances *in)
{
    int32_t *gates = malloc(2 * sizeof(*gates) * (in->n + 1));
    if (!gates)
        return -ENOMEM;
    for (size_t i = 0; i < in->n; i++)
        gates[i] = -1;
    for (size_t i = 0; i < g->nops; i++) {
        int64_t at = g->ops[i].instance;
        if (!has_gate(&g->ops[i], in))
            continue;
        if (gates[at] < 0)
            gates[at] = (int32_t)g->n++;
        if (g->ops[i].adds)
            add_at(g, i, gates[at], g->ops[i].enter);
        g->waits_at[i] = g->ops[i].waits ? gates[at] : -1;
    }
    add_blocked(g, in, gates, gates + in->n);
    free(gates);
    return 0;
}

/* Finds the send and the receive of a link. Returns 0 when one of them is not in the graph. */
static int find_ends(const struct pw_gates *g, const struct pw_graph_link *link,
                     const struct pw_graph_op **send, const struct pw_graph_op **receive)
{
    *send = find_op(g, link->src, link->sent, 0);
    *receive = find_op(g, link->dst, link->received, 1);
    return *send && *receive;
}

/* Adds the gates of messages. A receive waits for its send. A send waits for its receive when it
 * did so in the run, or when sends of its size do: in the replay it may come first. */
static void add_links(struct pw_gates *g, const struct pw_graph_link *links, size_t n)
{
    struct pw_sendmode mode = {{0}, {0}};
    const struct pw_graph_op *send, *receive;
    for (size_t i = 0; i < n; i++)
        if (find_ends(g, &links[i], &send, &receive))
            pw_sendmode_see(&mode, send, receive);
    for (size_t i = 0; i < n; i++) {
        if (!find_ends(g, &links[i], &send, &receive))
            continue;
        size_t s = (size_t)(send - g->ops), r = (size_t)(receive - g->ops);
        const struct pw_message_end sent = end_of(send), received = end_of(receive);
        if (receive->stands != INT64_MAX && g->gate_of[s] < 0 && send->enter <= receive->leave) {
            g->waits_at[r] = (int32_t)g->n++;
            add_at(g, s, g->waits_at[r], pw_message_came(&sent, &received));
        }
        if (send->stands != INT64_MAX && g->gate_of[r] < 0 && receive->enter <= send->leave &&
            (pw_message_waited(&sent, &received) > 0 || pw_sendmode_waits(&mode, send))) {
            g->waits_at[s] = (int32_t)g->n++;
            add_at(g, r, g->waits_at[s], pw_message_came(&received, &sent));
        }
    }
}

static int by_receiver(const void *a, const void *b)
{
    const struct pw_graph_flow *x = a, *y = b;
    PW_COMPARE(x->dst, y->dst);
    PW_COMPARE(x->came, y->came);
    PW_COMPARE(x->src, y->src);
    PW_COMPARE(x->sent, y->sent);
    return 0;
}

/* Adds the gates of sends that waited for room in MPI's buffers: until the receiver returned into
 * MPI. */
static void add_flows(struct pw_gates *g)
{
    pw_sort(g->flows, g->nflows, sizeof(*g->flows), by_receiver);
    for (size_t i = 0; i < g->nflows; i++) {
        const struct pw_graph_op *send = find_op(g, g->flows[i].src, g->flows[i].sent, 0);
        g->flow_gates[i] = -1;
        if (!send || g->waits_at[send - g->ops] >= 0 || g->flows[i].came > send->leave)
            continue;
        g->flow_gates[i] = g->waits_at[send - g->ops] = (int32_t)g->n++;
        open_at(g, g->flow_gates[i], g->flows[i].came);
    }
}

static int allocate(struct pw_gates *g, size_t most)
{
    g->needs = calloc(most + 1, sizeof(*g->needs));
    g->opened = malloc(sizeof(*g->opened) * (most + 1));
    g->gate_of = malloc(sizeof(*g->gate_of) * (g->nops + 1));
    g->full_of = malloc(sizeof(*g->full_of) * (g->nops + 1));
    g->adds_at = malloc(sizeof(*g->adds_at) * (g->nops + 1));
    g->waits_at = malloc(sizeof(*g->waits_at) * (g->nops + 1));
    g->flow_gates = malloc(sizeof(*g->flow_gates) * (g->nflows + 1));
    if (!g->needs || !g->opened || !g->gate_of || !g->full_of || !g->adds_at || !g->waits_at ||
        !g->flow_gates)
        return -ENOMEM;
    for (size_t i = 0; i < most; i++)
        g->opened[i] = INT64_MIN;
    for (size_t i = 0; i < g->nops; i++)
        g->gate_of[i] = g->full_of[i] = g->waits_at[i] = -1;
    return 0;
}

int pw_gates_make(struct pw_gates *g, struct pw_graph_parts *parts, const struct pw_instances *in)
{
    *g = (struct pw_gates){
        .ops = (struct pw_graph_op *)(void *)parts->ops.v,
        .flows = (struct pw_graph_flow *)(void *)parts->flows.v,
        .nops = parts->ops.n,
        .nflows = parts->flows.n,
    };
    pw_sort(parts->ops.v, g->nops, sizeof(*g->ops), by_rank_and_enter);
    int err = allocate(g, 2 * g->nops + 2 * parts->links.n + g->nflows);
    if (err)
        return err;
    err = add_instances(g, in);
    add_links(g, (struct pw_graph_link *)(void *)parts->links.v, parts->links.n);
    add_flows(g);
    return err;
}

void pw_gates_fini(struct pw_gates *g)
{
    free(g->opened);
    free(g->gate_of);
    free(g->full_of);
    free(g->adds_at);
    free(g->waits_at);
    free(g->flow_gates);
}

enum { RETURNED = 1 << 15 }; /* windows whose memory is given back at once */

struct builder {
    struct pw_graph *out;
    const struct pw_world *world;
    const struct pw_graph_op *ops;
    const struct pw_graph_window *windows;
    struct pw_gates gates;
    int64_t *host_of; /* [ranks] */
    size_t nops, nwindows, node_capacity, nwaits, wait_capacity, transfer_capacity;
    int failed;
};

/* The step and phase of a rank at the current time. */
struct place {
    const struct pw_graph_window *windows;
    size_t n;
    int32_t step;
    const struct pw_graph_window *phase;
    size_t next;
};

static int by_rank_and_start(const void *a, const void *b)
{
    const struct pw_graph_window *x = a, *y = b;
    PW_COMPARE(x->rank, y->rank);
    PW_COMPARE(x->start, y->start);
    PW_COMPARE(x->phase, y->phase); /* a step comes before a phase with the same start */
    PW_COMPARE(y->end, x->end);
    return 0;
}

/* ---- nodes of one rank ---- */

static int32_t phase_at(const struct place *at)
{
    return at->phase ? at->phase->phase - PW_PHASE_DATA : PW_PHASES - 1;
}

static struct pw_replay_node *add_node(struct builder *b, int32_t rank, const struct place *at)
{
    struct pw_replay_graph *g = &b->out->replay;
    struct pw_replay_node *nodes =
        pw_grow(b->out->nodes, g->nnodes, sizeof(*nodes), &b->node_capacity);
    b->failed |= !nodes;
    if (!nodes)
        return NULL;
    b->out->nodes = nodes;
    struct pw_replay_node *node = &b->out->nodes[g->nnodes++];
    *node = (struct pw_replay_node){
        .rank = rank,
        .step = at->step,
        .phase = phase_at(at),
        .adds = -1,
    };
    return node;
}

/* Returns the time until which the step and the phase do not change, at most `to`. */
static int64_t stays_until(const struct place *at, int64_t to)
{
    if (at->next < at->n && at->windows[at->next].start < to)
        to = at->windows[at->next].start;
    return at->phase && at->phase->end < to ? at->phase->end : to;
}

/* Enters the steps and phases that begin by `time`, and leaves a phase that has ended. */
static void move_to(struct place *at, int64_t time)
{
    if (at->phase && at->phase->end <= time)
        at->phase = NULL;
    for (; at->next < at->n && at->windows[at->next].start <= time; at->next++) {
        const struct pw_graph_window *w = &at->windows[at->next];
        if (w->phase < 0)
            at->step = w->step;
        else if (w->end > time)
            at->phase = w;
    }
}

/* The rank's last node; NULL when it has none yet. */
static struct pw_replay_node *last_node(const struct builder *b, int32_t rank)
{
    const size_t n = b->out->replay.nnodes;
    return n && b->out->nodes[n - 1].rank == rank ? &b->out->nodes[n - 1] : NULL;
}

/* A node for work in the current step and phase: the last one, if it has only waited so far. */
static struct pw_replay_node *node_to_work(struct builder *b, int32_t rank, const struct place *at)
{
    struct pw_replay_node *last = last_node(b, rank);
    if (!last || last->work_ns || last->adds >= 0 || last->step != at->step)
        return add_node(b, rank, at);
    last->phase = phase_at(at);
    return last;
}

/* Adds the own work from `from` to `to`: one node for each step and phase. */
static void add_work(struct builder *b, int32_t rank, struct place *at, int64_t from, int64_t to)
{
    while (from < to) {
        move_to(at, from);
        int64_t until = stays_until(at, to);
        struct pw_replay_node *node = node_to_work(b, rank, at);
        if (!node)
            return;
        node->work_ns = until - from;
        from = until;
    }
    move_to(at, to);
}

/* Adds a gate to those of the last node, or PW_REPLAY_END. */
static void add_wait(struct builder *b, int32_t gate)
{
    struct pw_replay_graph *g = &b->out->replay;
    int32_t *waits = pw_grow(g->waits, b->nwaits, sizeof(*waits), &b->wait_capacity);
    b->failed |= !waits;
    if (!waits)
        return;
    g->waits = waits;
    g->waits[b->nwaits++] = gate;
}

/* The time at which a rank enters an event, or begins to wait for one. */
struct moment {
    int64_t time, leave;
    int64_t op;   /* the event that it waits for */
    int32_t gate; /* the gate that it adds to */
    int stands;
};

static int by_time(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    PW_COMPARE(x->time, y->time);
    PW_COMPARE(x->stands, y->stands);
    PW_COMPARE(x->leave, y->leave);
    PW_COMPARE(x->op, y->op);
    PW_COMPARE(x->gate, y->gate);
    return 0;
}

/* The operations and flows of one rank. */
struct span {
    size_t first_op, end_op, first_flow, end_flow;
};

/* Returns the number of moments, in *v, which grows to hold them. Sets b->failed when memory is
 * short. */
static size_t list_moments(struct builder *b, const struct span *span, struct moment **v,
                           size_t *capacity)
{
    const size_t most = 3 * (span->end_op - span->first_op) + span->end_flow - span->first_flow;
    size_t n = 0;
    if (most > *capacity) {
        free(*v);
        *v = malloc(sizeof(**v) * most);
        *capacity = *v ? most : 0;
        b->failed |= !*v;
    }
    if (b->failed)
        return 0;
    struct moment *out = *v;
    for (size_t i = span->first_op; i < span->end_op; i++) {
        const struct pw_graph_op *op = &b->ops[i];
        if (b->gates.gate_of[i] >= 0)
            out[n++] = (struct moment){b->gates.adds_at[i], b->gates.adds_at[i], (int64_t)i,
                                       b->gates.gate_of[i], 0};
        if (b->gates.full_of[i] >= 0)
            out[n++] = (struct moment){op->enter, op->enter, (int64_t)i, b->gates.full_of[i], 0};
        if (op->stands != INT64_MAX)
            out[n++] = (struct moment){op->stands, op->leave, (int64_t)i, -1, 1};
    }
    for (size_t i = span->first_flow; i < span->end_flow; i++)
        if (b->gates.flow_gates[i] >= 0)
            out[n++] = (struct moment){b->gates.flows[i].came, b->gates.flows[i].came, -1,
                                       b->gates.flow_gates[i], 0};
    pw_sort(out, n, sizeof(*out), by_time);
    return n;
}

/* Notes which transfer is the cost of the last node. */
static void note_transfer(struct builder *b, const struct pw_graph_op *op, int waited, int is_tail)
{
    struct pw_graph *out = b->out;
    struct pw_graph_transfer *v =
        pw_grow(out->transfers, out->ntransfers, sizeof(*v), &b->transfer_capacity);
    b->failed |= !v;
    if (!v)
        return;
    out->transfers = v;
    out->transfers[out->ntransfers++] = (struct pw_graph_transfer){
        .instance = op->instance,
        .size = op->size,
        .node = (int32_t)(out->replay.nnodes - 1),
        .peer = op->peer,
        .op = op->op,
        .receives = op->receives,
        .waited = (uint8_t)waited,
        .is_tail = (uint8_t)is_tail,
    };
}

static int is_between_hosts(const struct builder *b, int32_t rank, const struct pw_graph_op *op)
{
    return op->peer >= 0 && op->peer < b->world->nranks && b->host_of[op->peer] != b->host_of[rank];
}

/* A walk through the moments of one rank. */
struct walk {
    int32_t rank;
    struct place at;
    const struct moment *m; /* [n] */
    size_t n, next;         /* number of moments; the next one */
    int64_t now, end;
};

/* Adds one node for all operations that one call completed. Its cost is the time after the last
 * partner had come. */
static void stand_still(struct builder *b, struct walk *w)
{
    struct pw_replay_node *node = add_node(b, w->rank, &w->at);
    const struct moment *m = w->m;
    int64_t there = w->now, leave = m[w->next].leave;
    /* `last`: the operation whose partner came last; `outer`: the same between hosts. */
    const struct pw_graph_op *last = &b->ops[m[w->next].op], *outer = NULL;
    int64_t outer_there = INT64_MIN;
    if (!node)
        return;
    const size_t first = b->nwaits;
    for (; w->next < w->n && m[w->next].stands && m[w->next].leave == leave &&
           m[w->next].time <= w->now;
         w->next++) {
        const struct pw_graph_op *op = &b->ops[m[w->next].op];
        int32_t gate = b->gates.waits_at[m[w->next].op];
        if (gate >= 0)
            add_wait(b, gate);
        const int64_t opened = gate >= 0 ? b->gates.opened[gate] : INT64_MIN;
        if (opened > there) {
            there = opened;
            last = op;
        }
        if (opened > outer_there && is_between_hosts(b, w->rank, op)) {
            outer_there = opened;
            outer = op;
        }
    }
    if (b->nwaits > first) {
        node->waits = (int32_t)first + 1;
        add_wait(b, PW_REPLAY_END);
    }
    node->cost_ns = leave - there;
    const int is_tail = outer && outer != last && last->instance < 0;
    last = is_tail ? outer : last;
    if (node->cost_ns > 0 && (last->peer >= 0 || last->instance >= 0))
        note_transfer(b, last, there > w->now, is_tail);
    w->now = leave > w->now ? leave : w->now;
    move_to(&w->at, w->now);
}

static void add_to_gate(struct builder *b, const struct walk *w)
{
    struct pw_replay_node *node = last_node(b, w->rank);
    if (!node || node->adds >= 0)
        node = add_node(b, w->rank, &w->at);
    if (node)
        node->adds = w->m[w->next].gate;
}

static void build_rank(struct builder *b, struct walk *w)
{
    while (w->next < w->n && !b->failed) {
        const struct moment *m = &w->m[w->next];
        if (m->leave < w->now || m->time >= w->end) { /* another thread's, or after the last step */
            if (!m->stands)
                add_to_gate(b, w);
            w->next++;
            continue;
        }
        const int64_t time = m->time > w->now ? m->time : w->now;
        add_work(b, w->rank, &w->at, w->now, time);
        w->now = time;
        if (m->stands) {
            stand_still(b, w);
        } else {
            add_to_gate(b, w);
            w->next++;
        }
    }
    if (w->now < w->end)
        add_work(b, w->rank, &w->at, w->now, w->end);
}

/* Finds the start of the rank's first step and the end of its last. Returns 0 when it has none. */
static int find_span(const struct place *at, int64_t *start, int64_t *end)
{
    *end = INT64_MIN;
    for (size_t i = 0; i < at->n; i++)
        if (at->windows[i].phase < 0) {
            *start = *end == INT64_MIN ? at->windows[i].start : *start;
            *end = at->windows[i].end > *end ? at->windows[i].end : *end;
        }
    return *end != INT64_MIN;
}

/* Gives the pages of [from, to) back, as far as they are whole; what was there is lost. A rank's
 * windows are not read again once its nodes are built, which need about as much memory. */
static void give_back(const void *from, const void *to)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = ((uintptr_t)from + page - 1) / page * page;
    const uintptr_t end = (uintptr_t)to / page * page;
    if (first < end)
        madvise((void *)first, end - first, MADV_DONTNEED);
}

static void build_all(struct builder *b)
{
    struct moment *moments = NULL;
    size_t capacity = 0;
    struct span span = {0};
    size_t window = 0, given = 0;
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (int32_t r = 0; r < b->world->nranks && !b->failed; r++) {
        const size_t begin = window;
        span = (struct span){span.end_op, span.end_op, span.end_flow, span.end_flow};
        while (span.end_op < b->nops && b->ops[span.end_op].rank == r)
            span.end_op++;
        while (span.end_flow < b->gates.nflows && b->gates.flows[span.end_flow].dst == r)
            span.end_flow++;
        while (window < b->nwindows && b->windows[window].rank == r)
            window++;
        struct walk walk = {.rank = r};
        walk.at = (struct place){.windows = b->windows + begin, .n = window - begin, .step = -1};
        int64_t start, end;
        b->out->starts[r] = INT64_MIN / 4;
        if (!find_span(&walk.at, &start, &end))
            continue;
        walk.n = list_moments(b, &span, &moments, &capacity);
        walk.m = moments;
        walk.now = b->out->starts[r] = start;
        walk.end = end;
        build_rank(b, &walk);
        first = start < first ? start : first;
        last = end > last ? end : last;
        if (window - given >= RETURNED) {
            give_back(b->windows + given, b->windows + window);
            given = window;
        }
    }
    b->out->first_ns = first;
    b->out->measured_ns = last - first;
    free(moments);
}

/* Sorts the windows by rank and start. They come rank after rank, and sorting a rank's at a time
 * takes less memory. */
static void sort_windows(struct pw_graph_window *windows, size_t n)
{
    int is_by_rank = 1;
    for (size_t i = 1; i < n; i++)
        is_by_rank &= windows[i - 1].rank <= windows[i].rank;
    for (size_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && (!is_by_rank || windows[end].rank == windows[begin].rank);)
            end++;
        pw_sort(windows + begin, end - begin, sizeof(*windows), by_rank_and_start);
    }
}

static int has_phases(const struct builder *b)
{
    for (size_t i = 0; i < b->nwindows; i++)
        if (b->windows[i].phase >= 0)
            return 1;
    return 0;
}

static int put_in_order(struct pw_graph *out)
{
    struct pw_replay_graph *g = &out->replay;
    int64_t *scratch = malloc(sizeof(*scratch) * (g->ngates + 2 * (g->nranks + 1)));
    out->order = malloc(sizeof(*out->order) * (g->nnodes + 1));
    int ok = scratch && out->order;
    if (ok)
        out->given_up = pw_replay_order(g, out->order, scratch);
    free(scratch);
    return ok ? 0 : -ENOMEM;
}

int pw_graph_build(struct pw_graph *out, struct pw_graph_parts *parts, const struct pw_world *world,
                   const struct pw_instances *in)
{
    struct builder b = {.out = out,
                        .world = world,
                        .ops = (struct pw_graph_op *)(void *)parts->ops.v,
                        .windows = (struct pw_graph_window *)(void *)parts->windows.v,
                        .nops = parts->ops.n,
                        .nwindows = parts->windows.n};
    *out = (struct pw_graph){0};
    if (!b.nwindows || !parts->nsteps || parts->asynchronous)
        return -ENODATA;
    sort_windows((struct pw_graph_window *)(void *)parts->windows.v, b.nwindows);
    int err = pw_gates_make(&b.gates, parts, in);
    size_t nhosts;
    /* About as many nodes as there will be: memory that is not used costs nothing, and growing
     * would need the old and the new array at once. */
    b.node_capacity = b.nwindows + 2 * b.nops;
    out->nodes = malloc(sizeof(*out->nodes) * b.node_capacity);
    out->starts = malloc(sizeof(*out->starts) * (size_t)world->nranks);
    b.host_of = malloc(sizeof(*b.host_of) * ((size_t)world->nranks + 1));
    err = out->nodes && out->starts && b.host_of ? err : -ENOMEM;
    err = err ? err : pw_world_number_hosts(world, b.host_of, &nhosts);
    out->replay.needs = b.gates.needs;
    if (!err) {
        out->replay.is_placed = !has_phases(&b); /* before the windows are given back */
        build_all(&b);
        if (out->replay.is_placed)
            pw_replay_place(out->nodes, out->replay.nnodes);
        out->replay.nodes = out->nodes;
        out->replay.ngates = b.gates.n;
        out->replay.nranks = (size_t)world->nranks;
        out->replay.nsteps = parts->nsteps;
        out->replay.start_ns = out->starts;
        err = b.failed ? -ENOMEM : put_in_order(out);
    }
    pw_gates_fini(&b.gates);
    free(b.host_of);
    return err;
}

void pw_graph_fini(struct pw_graph *graph)
{
    free(graph->nodes);
    free(graph->transfers);
    free(graph->starts);
    free(graph->order);
    free(graph->replay.waits);
    free(graph->replay.needs);
    *graph = (struct pw_graph){0};
}
