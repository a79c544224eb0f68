/* Finds the captured calls of replayed kernels; see nccl_graph.h. */
#include "collectors/nccl/nccl_graph.h"

#include <stdlib.h>
#include <string.h>

#include "core/ops.h"

/* ---- captured calls, and the kernels ("units") that NCCL launched for them during the capture;
 * each becomes a node of the graph ---- */

/* Kinds of operations that the names of NCCL's kernels distinguish. */
enum pw_nccl_kernel_kind {
    PW_NCCL_KERNEL_ALLREDUCE = 1,
    PW_NCCL_KERNEL_ALLGATHER = 2,
    PW_NCCL_KERNEL_REDUCESCATTER = 4,
    PW_NCCL_KERNEL_BROADCAST = 8,
    PW_NCCL_KERNEL_REDUCE = 16,
    PW_NCCL_KERNEL_MESSAGES = 32,
    PW_NCCL_KERNEL_OTHER = 64,
    PW_NCCL_KERNEL_ANY = 127,
};

struct captured_call {
    struct pw_nccl_op op;
    struct pw_row_comms comm;
    uint32_t unit; /* 1 + number of the unit that has the call; 0: not known yet */
};

/* A kernel and its calls. `ncalls` 0: a further kernel for the calls of the unit before. */
struct captured_unit {
    uint32_t comm, ncalls, first; /* first: index in `calls` of its first call; calls of other units
                                   * may be between */
    int64_t time;
    unsigned kinds; /* kinds of its calls, bits of enum pw_nccl_kernel_kind */
    bool is_taken;  /* assigned to a graph for which no other unit fits */
};

struct captured {
    struct pw_budget *budget;
    struct captured_call *calls;
    struct captured_unit *units; /* in the order of their records */
    uint32_t ncalls, calls_capacity, nunits, units_capacity;
    uint32_t nsorted; /* the calls before this index have a unit */
    bool is_mixed;    /* records are not in order of time, as when several threads capture */
};

enum { MOST_CALLS = 1 << 16 };

static const struct {
    const char *text; /* part of the kernel's name */
    uint16_t op;
    unsigned kind;
} kinds[] = {
    {"AllReduce", PW_OP_Allreduce, PW_NCCL_KERNEL_ALLREDUCE},
    {"AllGather", PW_OP_Allgather, PW_NCCL_KERNEL_ALLGATHER},
    {"ReduceScatter", PW_OP_Reduce_scatter_block, PW_NCCL_KERNEL_REDUCESCATTER},
    {"Broadcast", PW_OP_Bcast, PW_NCCL_KERNEL_BROADCAST},
    {"Reduce_", PW_OP_Reduce, PW_NCCL_KERNEL_REDUCE},
    {"SendRecv", PW_OP_Send, PW_NCCL_KERNEL_MESSAGES},
    {NULL, PW_OP_Recv, PW_NCCL_KERNEL_MESSAGES},
    {NULL, PW_OP_Alltoall, PW_NCCL_KERNEL_MESSAGES},
    {NULL, PW_OP_Gather, PW_NCCL_KERNEL_MESSAGES},
    {NULL, PW_OP_Scatter, PW_NCCL_KERNEL_MESSAGES},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Returns the kinds (bits) of operations that a kernel of this name can run. */
static unsigned kernel_kinds(const char *name)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].text && strstr(name, kinds[i].text))
            return kinds[i].kind;
    return PW_NCCL_KERNEL_ANY;
}

static unsigned kind_of(uint16_t op)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].op == op)
            return kinds[i].kind;
    return PW_NCCL_KERNEL_OTHER;
}

/* Makes room for one more item in an array of `n`. Returns false when memory or budget is short. */
static bool grow(struct pw_budget *budget, void **array, uint32_t n, uint32_t *capacity,
                 size_t size)
{
    if (n < *capacity)
        return true;
    const uint32_t more = *capacity ? *capacity * 2 : 16;
    const bool is_allowed =
        more <= MOST_CALLS && pw_budget_take(budget, (int64_t)((more - *capacity) * size));
    void *grown = is_allowed ? realloc(*array, more * size) : NULL;
    if (!grown)
        return false;
    *array = grown;
    *capacity = more;
    return true;
}

/* Adds a call. Returns false when there is no more room. */
static bool captured_add_call(struct captured *c, const struct pw_nccl_op *op,
                              const struct pw_row_comms *comm)
{
    void *calls = c->calls;
    const bool has_room = grow(c->budget, &calls, c->ncalls, &c->calls_capacity, sizeof(*c->calls));
    c->calls = calls;
    if (has_room)
        c->calls[c->ncalls++] = (struct captured_call){.op = *op, .comm = *comm};
    return has_room;
}

/* Adds a kernel. Returns false when there is no more room. */
static bool captured_add_launch(struct captured *c, uint32_t comm, int64_t time)
{
    void *units = c->units;
    const bool has_room = grow(c->budget, &units, c->nunits, &c->units_capacity, sizeof(*c->units));
    c->units = units;
    c->is_mixed |= c->nunits > 0 && c->units[c->nunits - 1].time > time;
    if (has_room)
        c->units[c->nunits++] =
            (struct captured_unit){.comm = comm, .time = time, .first = UINT32_MAX};
    return has_room;
}

/* Returns the number of the first kernel that was launched at `time` or later. */
static uint32_t first_from(const struct captured *c, int64_t time)
{
    uint32_t low = 0, high = c->is_mixed ? 0 : c->nunits;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (c->units[middle].time < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the kernel of the communicator that was launched next after the call; `nunits` when none
 * is known. */
static uint32_t next_launch(const struct captured *c, const struct pw_nccl_op *op)
{
    uint32_t found = c->nunits;
    for (uint32_t i = first_from(c, op->call.start); i < c->nunits; i++) {
        const struct captured_unit *unit = &c->units[i];
        if (unit->comm != op->comm || unit->time < op->call.start ||
            (found < c->nunits && c->units[found].time <= unit->time))
            continue;
        found = i;
        if (!c->is_mixed)
            break;
    }
    return found;
}

static void sort_call(struct captured *c, uint32_t i)
{
    struct captured_call *call = &c->calls[i];
    const uint32_t at = call->unit ? c->nunits : next_launch(c, &call->op);
    if (at == c->nunits) /* its launch may be reported later */
        return;
    struct captured_unit *unit = &c->units[at];
    call->unit = at + 1;
    unit->first = i < unit->first ? i : unit->first;
    unit->kinds |= kind_of(call->op.op);
    unit->ncalls++;
}

/* Assigns each call to the kernel that was launched next. Done later, because the record of a call
 * may come after that of its kernel. */
static void captured_sort(struct captured *c)
{
    for (uint32_t i = c->nsorted; i < c->ncalls; i++)
        sort_call(c, i);
    while (c->nsorted < c->ncalls && c->calls[c->nsorted].unit)
        c->nsorted++;
}

/* Returns the nth call of a unit; NULL when it has fewer. */
static const struct captured_call *captured_borrow(const struct captured *c, uint32_t unit,
                                                   uint32_t nth)
{
    for (uint32_t i = c->units[unit].first; i < c->ncalls; i++)
        if (c->calls[i].unit == unit + 1 && nth-- == 0)
            return &c->calls[i];
    return NULL;
}

static void captured_fini(struct captured *c)
{
    free(c->calls);
    free(c->units);
}

/* ---- graphs ---- */

/* Limits: incomplete replays, kernels in a replay, graphs. */
enum { OPEN = 16, MOST_NODES = 1 << 12, GRAPHS = 1 << 10 };

struct node {
    uint64_t id;
    uint32_t unit, ncalls;
    bool is_known, knows_count;
    int64_t before, all; /* collectives of its communicator in the graph: before this node; in
                          * all */
};

struct graph {
    struct node *nodes; /* rising */
    uint32_t nnodes;
    int64_t replays;
};

struct virtual_comm {
    uint32_t graph, comm;
    int32_t file_row;
    struct pw_row_comms row;
};

struct replay {
    uint64_t correlation;
    struct pw_row_kernel *kernels;
    unsigned *kinds; /* kinds of the kernels' names, while units are searched */
    uint32_t n, capacity;
};

struct pw_nccl_graphs {
    struct pw_rankfile *file;
    struct pw_nccl_ops *ops;
    struct captured captured;
    struct graph graphs[GRAPHS];
    uint32_t ngraphs;
    struct virtual_comm *comms;
    uint32_t ncomms, comms_capacity;
    struct replay open[OPEN]; /* oldest first */
    int nopen;
    bool is_interrupted;
    int64_t lacking_until; /* kernels */
    int64_t placed, unplaced;
};

struct pw_nccl_graphs *pw_nccl_graphs_create(struct pw_rankfile *file, struct pw_nccl_ops *ops)
{
    struct pw_nccl_graphs *g = calloc(1, sizeof(*g));
    if (g) {
        g->file = file;
        g->ops = ops;
        g->captured.budget = pw_rankfile_borrow_budget(file);
    }
    return g;
}

void pw_nccl_graphs_call(struct pw_nccl_graphs *g, const struct pw_nccl_op *op,
                         const struct pw_row_comms *comm)
{
    g->is_interrupted |= !captured_add_call(&g->captured, op, comm);
    g->is_interrupted |= op->call.start < g->lacking_until;
}

void pw_nccl_graphs_launch(struct pw_nccl_graphs *g, uint32_t comm, int64_t time)
{
    g->is_interrupted |= !captured_add_launch(&g->captured, comm, time);
}

/* ---- finding the calls of kernels ---- */

/* Whether the units from `first` on fit all kernels of the replay. The kernel of several calls has
 * the name of one of them; a unit without calls fits every kernel. */
static bool fits_all(const struct pw_nccl_graphs *g, const struct replay *r, uint32_t first)
{
    for (uint32_t i = 0; i < r->n; i++) {
        const struct captured_unit *unit = &g->captured.units[first + i];
        if (unit->is_taken || (unit->ncalls && !(unit->kinds & r->kinds[i])))
            return false;
    }
    return true;
}

/* Keeps the fields of a node that are equal in both matching sequences of units. */
static void compare(const struct pw_nccl_graphs *g, struct node *node, uint32_t other)
{
    const struct captured_unit *a = &g->captured.units[node->unit], *b = &g->captured.units[other];
    node->is_known = node->is_known && a->comm == b->comm && a->ncalls == b->ncalls;
    for (uint32_t i = 0; node->is_known && i < a->ncalls; i++) {
        const struct pw_nccl_op *x = &captured_borrow(&g->captured, node->unit, i)->op,
                                *y = &captured_borrow(&g->captured, other, i)->op;
        node->is_known = x->op == y->op && x->peer == y->peer && x->flags == y->flags;
        node->knows_count = node->knows_count && x->count == y->count && x->datatype == y->datatype;
    }
}

static bool is_collective(const struct captured_call *call)
{
    return pw_op_info(call->op.op)->cls == PW_CLASS_COLL;
}

static int64_t count_collectives(const struct pw_nccl_graphs *g, const struct node *node)
{
    int64_t n = 0;
    for (uint32_t i = 0; node->is_known && i < node->ncalls; i++)
        n += is_collective(captured_borrow(&g->captured, node->unit, i));
    return n;
}

static void number_collectives(const struct pw_nccl_graphs *g, struct graph *graph)
{
    for (uint32_t i = 0; i < graph->nnodes; i++)
        for (uint32_t k = 0; graph->nodes[i].is_known && k < graph->nnodes; k++) {
            const struct node *other = &graph->nodes[k];
            if (!other->is_known ||
                g->captured.units[other->unit].comm != g->captured.units[graph->nodes[i].unit].comm)
                continue;
            const int64_t n = count_collectives(g, other);
            graph->nodes[i].all += n;
            graph->nodes[i].before += k < i ? n : 0;
        }
}

static void take_place(struct pw_nccl_graphs *g, struct graph *graph, struct replay *r)
{
    uint32_t places = 0, at = 0;
    captured_sort(&g->captured);
    for (uint32_t first = 0; first + r->n <= g->captured.nunits; first++) {
        if (!fits_all(g, r, first))
            continue;
        for (uint32_t i = 0; i < r->n; i++)
            if (places == 0)
                graph->nodes[i] = (struct node){.id = r->kernels[i].graph_node,
                                                .unit = first + i,
                                                .ncalls = g->captured.units[first + i].ncalls,
                                                .is_known = true,
                                                .knows_count = true};
            else
                compare(g, &graph->nodes[i], first + i);
        at = first;
        places++;
    }
    for (uint32_t i = 0; i < r->n; i++) {
        graph->nodes[i].id = r->kernels[i].graph_node;
        if (places == 1)
            g->captured.units[at + i].is_taken = true;
    }
    number_collectives(g, graph);
}

static struct graph *add_graph(struct pw_nccl_graphs *g, struct replay *r)
{
    struct graph *graph = g->ngraphs < GRAPHS ? &g->graphs[g->ngraphs] : NULL;
    struct node *nodes = graph ? calloc(r->n, sizeof(*nodes)) : NULL;
    r->kinds = nodes ? calloc(r->n, sizeof(*r->kinds)) : NULL;
    if (!r->kinds) {
        free(nodes);
        return NULL;
    }
    for (uint32_t i = 0; i < r->n; i++)
        r->kinds[i] = kernel_kinds(pw_rankfile_borrow_text(g->file, r->kernels[i].name));
    *graph = (struct graph){.nodes = nodes, .nnodes = r->n};
    g->ngraphs++;
    take_place(g, graph, r);
    free(r->kinds);
    r->kinds = NULL;
    return graph;
}

static struct node *find_node(struct graph *graph, uint64_t id)
{
    uint32_t low = 0, high = graph->nnodes;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (graph->nodes[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < graph->nnodes && graph->nodes[low].id == id ? &graph->nodes[low] : NULL;
}

static struct graph *find_graph(struct pw_nccl_graphs *g, struct replay *r)
{
    for (uint32_t i = 0; i < g->ngraphs; i++)
        if (find_node(&g->graphs[i], r->kernels[0].graph_node))
            return &g->graphs[i];
    return add_graph(g, r);
}

/* ---- rows ---- */

static uint64_t mix(uint64_t uid, uint64_t nth)
{
    uint64_t x = uid ^ (nth + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    return (x ^ x >> 31) | 1;
}

/* Returns how many graphs with this communicator were seen before; the number is the same on all
 * its ranks. */
static uint64_t count_before(const struct pw_nccl_graphs *g, uint32_t comm)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < g->ncomms; i++)
        n += g->comms[i].comm == comm;
    return n;
}

static struct virtual_comm *comm_of(struct pw_nccl_graphs *g, uint32_t graph,
                                    const struct captured_call *call)
{
    for (uint32_t i = 0; i < g->ncomms; i++)
        if (g->comms[i].graph == graph && g->comms[i].comm == call->op.comm)
            return &g->comms[i];
    void *comms = g->comms;
    const bool has_room =
        grow(g->captured.budget, &comms, g->ncomms, &g->comms_capacity, sizeof(*g->comms));
    g->comms = comms;
    const int32_t file_row = has_room ? pw_rankfile_new_comm(g->file) : -1;
    if (file_row < 0)
        return NULL;
    struct virtual_comm *c = &g->comms[g->ncomms];
    *c = (struct virtual_comm){
        .graph = graph, .comm = call->op.comm, .file_row = file_row, .row = call->comm};
    c->row.uid = mix(call->comm.uid, count_before(g, call->op.comm));
    c->row.collectives = 0;
    g->ncomms++;
    return c;
}

/* A kernel of a replay and its node in the graph. */
struct run {
    struct graph *graph;
    const struct node *node;
    const struct pw_row_kernel *kernel;
};

/* Writes the rows of a node's call; `nth`: number of the collective in the node. */
static void write_call(struct pw_nccl_graphs *g, const struct run *run,
                       const struct captured_call *call, int64_t nth)
{
    const struct graph *graph = run->graph;
    const struct node *node = run->node;
    const struct pw_row_kernel *kernel = run->kernel;
    struct virtual_comm *c = comm_of(g, (uint32_t)(graph - g->graphs), call);
    if (!c || (!is_collective(call) && call->op.peer < 0))
        return;
    struct pw_nccl_op op = call->op;
    op.comm_row = c->file_row;
    op.seq = is_collective(call) ? graph->replays * node->all + node->before + nth : -1;
    op.count = node->knows_count ? op.count : -1;
    op.kernel = *kernel;
    op.has_kernel = op.has_call = true;
    op.call.start = kernel->launch;
    op.call.end = op.call.start;
    op.call_thread = kernel->thread >= 0 ? (uint16_t)kernel->thread : 0;
    op.id = 0;
    if (op.seq >= c->row.collectives)
        c->row.collectives = op.seq + 1;
    pw_nccl_ops_write(g->ops, &op);
}

static bool write_kernel(struct pw_nccl_graphs *g, struct graph *graph,
                         const struct pw_row_kernel *kernel)
{
    const struct node *node = find_node(graph, kernel->graph_node);
    if (!node || !node->is_known)
        return false;
    const struct run run = {graph, node, kernel};
    int64_t nth = 0;
    for (uint32_t i = 0; i < node->ncalls; i++) {
        const struct captured_call *call = captured_borrow(&g->captured, node->unit, i);
        write_call(g, &run, call, nth);
        nth += is_collective(call);
    }
    return true;
}

static int by_node(const void *a, const void *b)
{
    const uint64_t x = ((const struct pw_row_kernel *)a)->graph_node,
                   y = ((const struct pw_row_kernel *)b)->graph_node;
    return (x > y) - (x < y);
}

static void finish_replay(struct pw_nccl_graphs *g, struct replay *r)
{
    qsort(r->kernels, r->n, sizeof(*r->kernels), by_node);
    struct graph *graph = g->is_interrupted || !g->captured.nunits ? NULL : find_graph(g, r);
    for (uint32_t i = 0; i < r->n; i++)
        if (graph && write_kernel(g, graph, &r->kernels[i]))
            g->placed++;
        else
            g->unplaced++;
    if (graph)
        graph->replays++;
    free(r->kernels);
    *r = (struct replay){0};
}

static void finish_oldest(struct pw_nccl_graphs *g)
{
    finish_replay(g, &g->open[0]);
    memmove(&g->open[0], &g->open[1], (size_t)(OPEN - 1) * sizeof(g->open[0]));
    g->nopen--;
    g->open[g->nopen] = (struct replay){0};
}

static struct replay *replay_of(struct pw_nccl_graphs *g, uint64_t correlation)
{
    for (int i = 0; i < g->nopen; i++)
        if (g->open[i].correlation == correlation)
            return &g->open[i];
    if (g->nopen == OPEN)
        finish_oldest(g);
    g->open[g->nopen] = (struct replay){.correlation = correlation};
    return &g->open[g->nopen++];
}

void pw_nccl_graphs_kernel(struct pw_nccl_graphs *g, const struct pw_row_kernel *kernel)
{
    struct replay *r = kernel->correlation ? replay_of(g, kernel->correlation) : NULL;
    if (r && r->n == r->capacity && r->capacity < MOST_NODES) {
        const uint32_t capacity = r->capacity ? r->capacity * 2 : 4;
        struct pw_row_kernel *more = realloc(r->kernels, capacity * sizeof(*more));
        r->kernels = more ? more : r->kernels;
        r->capacity = more ? capacity : r->capacity;
    }
    if (r && r->n < r->capacity)
        r->kernels[r->n++] = *kernel;
    else
        g->unplaced++;
}

/* ---- the end ---- */

static void finish_all(struct pw_nccl_graphs *g)
{
    while (g->nopen > 0)
        finish_oldest(g);
}

void pw_nccl_graphs_interrupt(struct pw_nccl_graphs *g)
{
    finish_all(g);
    g->is_interrupted = true;
}

void pw_nccl_graphs_lack(struct pw_nccl_graphs *g, int64_t end)
{
    if (g->captured.ncalls)
        pw_nccl_graphs_interrupt(g);
    g->lacking_until = end > g->lacking_until ? end : g->lacking_until;
}

void pw_nccl_graphs_flush(struct pw_nccl_graphs *g)
{
    finish_all(g);
    for (uint32_t i = 0; i < g->ncomms; i++)
        pw_rankfile_set_comm(g->file, g->comms[i].file_row, &g->comms[i].row);
    for (uint32_t i = 0; i < g->ngraphs; i++)
        free(g->graphs[i].nodes);
    g->ngraphs = g->ncomms = 0;
    g->captured.ncalls = g->captured.nunits = g->captured.nsorted = 0;
    g->captured.is_mixed = false;
    g->is_interrupted = false;
    g->lacking_until = 0;
}

void pw_nccl_graphs_destroy(struct pw_nccl_graphs *g)
{
    if (!g)
        return;
    for (uint32_t i = 0; i < g->ngraphs; i++)
        free(g->graphs[i].nodes);
    for (int i = 0; i < g->nopen; i++)
        free(g->open[i].kernels);
    captured_fini(&g->captured);
    free(g->comms);
    free(g);
}

int64_t pw_nccl_graphs_placed(const struct pw_nccl_graphs *g)
{
    return g->placed;
}

int64_t pw_nccl_graphs_unplaced(const struct pw_nccl_graphs *g)
{
    return g->unplaced;
}
