/* Builds the nodes of each rank from its events, steps and phases; see graph.h and
 * analysis/replay.h. */
#include "aggregate/findings/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aggregate/findings/gates.h"
#include "core/grow.h"
#include "core/ops.h"
#include "core/sort.h"
#include "core/tables.h"

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
