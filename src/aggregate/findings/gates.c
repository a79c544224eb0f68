/* Makes the gates from the ranks' events and the matched messages. Whether a send can wait is
 * judged by other sends of its size. See gates.h. */
#include "aggregate/findings/gates.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/collectives.h"
#include "analysis/message.h"
#include "core/ops.h"
#include "core/sort.h"

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
