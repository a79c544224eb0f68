/* Orders the graph topologically, then computes each node's end in that order; see replay.h. */
#include "analysis/replay.h"

#include "analysis/statistics.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static const int32_t no_waits[] = {PW_REPLAY_END};

/* The gates that the node waits for, before PW_REPLAY_END. */
static const int32_t *waits_of(const struct pw_replay_graph *g, const struct pw_replay_node *node)
{
    return node->waits ? g->waits + node->waits - 1 : no_waits;
}

/* ---- order ---- */

struct ordering {
    struct pw_replay_graph *g;
    int32_t *order;
    size_t done;
    int64_t *open; /* [ngates] number of nodes that have added to the gate so far */
    int64_t *next; /* [nranks + 1] each rank's next node; its first is next[r] at the start */
    int64_t *end;  /* [nranks + 1] */
};

static int must_wait(const struct ordering *o, const struct pw_replay_node *node)
{
    for (const int32_t *gate = waits_of(o->g, node); *gate != PW_REPLAY_END; gate++)
        if (*gate >= 0 && o->open[*gate] < o->g->needs[*gate])
            return 1;
    return 0;
}

static void take(struct ordering *o, size_t rank)
{
    const struct pw_replay_node *node = &o->g->nodes[o->next[rank]];
    if (node->adds >= 0)
        o->open[node->adds]++;
    o->order[o->done++] = (int32_t)o->next[rank]++;
}

/* Orders the next nodes of one rank until one must wait. Returns 1 when there was any. */
static int go(struct ordering *o, size_t rank)
{
    int64_t from = o->next[rank];
    while (o->next[rank] < o->end[rank] && !must_wait(o, &o->g->nodes[o->next[rank]]))
        take(o, rank);
    return o->next[rank] > from;
}

/* Called when all ranks wait, in a cycle: drops the waits of the first waiting node. Returns how
 * many. */
static size_t give_up(struct ordering *o)
{
    size_t rank = 0, given = 0;
    while (o->next[rank] == o->end[rank])
        rank++;
    const struct pw_replay_node *node = &o->g->nodes[o->next[rank]];
    int32_t *gate = o->g->waits + node->waits - 1; /* it waits, so there are some */
    for (; *gate != PW_REPLAY_END; gate++) {
        if (*gate >= 0 && o->open[*gate] < o->g->needs[*gate]) {
            *gate = -1;
            given++;
        }
    }
    return given;
}

size_t pw_replay_order(struct pw_replay_graph *g, int32_t *order, int64_t *scratch)
{
    struct ordering o = {.g = g, .order = order, .open = scratch};
    size_t given = 0, at = 0;
    o.next = scratch + g->ngates;
    o.end = o.next + g->nranks + 1;
    for (size_t i = 0; i < g->ngates; i++)
        o.open[i] = 0;
    for (size_t r = 0; r < g->nranks; r++) {
        o.next[r] = (int64_t)at;
        while (at < g->nnodes && (size_t)g->nodes[at].rank == r)
            at++;
        o.end[r] = (int64_t)at;
    }
    while (o.done < at) {
        int moved = 0;
        for (size_t r = 0; r < g->nranks; r++)
            moved |= go(&o, r);
        if (!moved)
            given += give_up(&o);
    }
    return given;
}

/* ---- replay ---- */

static int64_t scaled(const struct pw_replay_graph *g, int32_t at, const float *scale)
{
    const int64_t work = g->nodes[at].work_ns;
    return scale ? (int64_t)((double)work * (double)scale[at]) : work;
}

/* The time at which the last gate that the node waits for opens, at least `here`. */
static int64_t ready(const struct pw_replay_graph *g, const struct pw_replay_node *node,
                     const int64_t *gates, int64_t here)
{
    for (const int32_t *gate = waits_of(g, node); *gate != PW_REPLAY_END; gate++)
        if (*gate >= 0)
            here = larger(here, gates[*gate]);
    return here;
}

/* How many nodes ahead of a replay its data are fetched into the cache. The order jumps from rank
 * to rank, so the processor cannot predict what it needs next. */
enum { AHEAD = 24 };

/* Asks for the data of a node that is computed soon, and for the waits of one that is nearer, whose
 * node is in the cache by then. `scale` NULL: there is none. Always inlined, because GCC removes
 * calls of functions that only fetch. */
static inline __attribute__((always_inline)) void
fetch_ahead(const struct pw_replay_graph *g, const int32_t *order, size_t at, const float *scale)
{
    if (at + AHEAD >= g->nnodes)
        return;
    __builtin_prefetch(&g->nodes[order[at + AHEAD]]);
    if (scale)
        __builtin_prefetch(&scale[order[at + AHEAD]]);
    __builtin_prefetch(waits_of(g, &g->nodes[order[at + AHEAD / 2]]));
}

static void begin(const struct pw_replay_graph *g, int64_t *now, int64_t *gates)
{
    for (size_t r = 0; r < g->nranks; r++)
        now[r] = g->start_ns[r];
    for (size_t i = 0; i < g->ngates; i++)
        gates[i] = INT64_MIN;
}

int64_t pw_replay_run(const struct pw_replay_graph *g, const int32_t *order, const float *scale,
                      int network, int64_t *scratch)
{
    int64_t *now = scratch, *gates = scratch + g->nranks, last = INT64_MIN;
    begin(g, now, gates);
    for (size_t i = 0; i < g->nnodes; i++) {
        fetch_ahead(g, order, i, scale);
        const struct pw_replay_node *node = &g->nodes[order[i]];
        const int64_t entered = now[node->rank];
        const int64_t left = ready(g, node, gates, entered) + (network ? node->cost_ns : 0);
        const int64_t end = larger(left, entered) + scaled(g, order[i], scale);
        if (node->adds >= 0)
            gates[node->adds] = larger(gates[node->adds], end);
        now[node->rank] = end;
    }
    for (size_t r = 0; r < g->nranks; r++)
        last = larger(last, now[r]);
    return last;
}

/* ---- critical path ---- */

struct walk {
    const struct pw_replay_graph *g;
    int64_t *now;
    int64_t *gates;
    int64_t *opener; /* [ngates] the node that added last, and so opened the gate */
    int64_t *held;   /* [nnodes] the gate that the node waited for last; -1: it did not wait */
    /* [nnodes] the longest wait of another node for the gate that the node adds to */
    int64_t *delays;
};

static void note(struct walk *w, int32_t at)
{
    const struct pw_replay_node *node = &w->g->nodes[at];
    const int64_t entered = w->now[node->rank];
    int64_t left = entered;
    w->held[at] = -1;
    for (const int32_t *gate = waits_of(w->g, node); *gate != PW_REPLAY_END; gate++)
        if (*gate >= 0 && w->gates[*gate] > left) {
            left = w->gates[*gate];
            w->held[at] = *gate;
        }
    if (w->held[at] >= 0) {
        int64_t *delay = &w->delays[w->opener[w->held[at]]];
        *delay = larger(*delay, left - entered);
    }
    const int64_t end = larger(left + node->cost_ns, entered) + node->work_ns;
    if (node->adds >= 0 && end >= w->gates[node->adds]) {
        w->gates[node->adds] = end;
        w->opener[node->adds] = at;
    }
    w->now[node->rank] = end;
}

static int64_t last_node(const struct walk *w)
{
    size_t rank = 0;
    for (size_t r = 1; r < w->g->nranks; r++)
        if (w->now[r] > w->now[rank])
            rank = r;
    for (size_t i = w->g->nnodes; i-- > 0;)
        if ((size_t)w->g->nodes[i].rank == rank)
            return (int64_t)i;
    return -1;
}

/* Follows the path back from the end. Where a node waited for a gate, the path continues at the
 * node that opened the gate. Returns the length, ns. */
static int64_t walk_back(const struct walk *w, int64_t *path)
{
    int64_t at = last_node(w), length = 0;
    while (at >= 0) {
        const struct pw_replay_node *node = &w->g->nodes[at];
        int64_t *mine = path + (size_t)node->rank * (PW_PHASES + 1);
        const int is_first = at == 0 || w->g->nodes[at - 1].rank != node->rank;
        mine[w->g->is_placed ? PW_PHASES - 1 : node->phase] += node->work_ns;
        mine[PW_PHASES] += node->cost_ns;
        length += node->work_ns + node->cost_ns;
        at = w->held[at] >= 0 ? w->opener[w->held[at]] : is_first ? -1 : at - 1;
    }
    return length;
}

int64_t pw_replay_path(const struct pw_replay_graph *g, const int32_t *order, int64_t *path,
                       int64_t *delays, int64_t *scratch)
{
    struct walk w = {.g = g, .now = scratch, .gates = scratch + g->nranks, .delays = delays};
    w.opener = w.gates + g->ngates;
    w.held = w.opener + g->ngates;
    begin(g, w.now, w.gates);
    for (size_t i = 0; i < g->nnodes; i++)
        delays[i] = 0;
    for (size_t i = 0; i < g->nnodes; i++) {
        fetch_ahead(g, order, i, NULL);
        note(&w, order[i]);
    }
    for (size_t i = 0; i < g->nranks * (PW_PHASES + 1); i++)
        path[i] = 0;
    return g->nnodes ? walk_back(&w, path) : 0;
}

/* ---- places in a step ---- */

void pw_replay_place(struct pw_replay_node *nodes, size_t n)
{
    for (size_t first = 0, end; first < n; first = end) {
        int64_t pieces = 0, at = 0;
        for (end = first; end < n && nodes[end].rank == nodes[first].rank &&
                          nodes[end].step == nodes[first].step;
             end++)
            pieces += nodes[end].work_ns > 0;
        for (size_t i = first; i < end; i++)
            if (nodes[i].work_ns > 0)
                nodes[i].phase = at++ * PW_PHASES / pieces;
    }
}

/* ---- changed work ---- */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static size_t cell_of(const struct pw_replay_graph *g, const struct pw_replay_node *node)
{
    return ((size_t)node->step * g->nranks + (size_t)node->rank) * PW_PHASES + (size_t)node->phase;
}

void pw_replay_sum_works(const struct pw_replay_graph *g, int64_t *works)
{
    for (size_t i = 0; i < g->nsteps * g->nranks * PW_PHASES; i++)
        works[i] = 0;
    for (size_t i = 0; i < g->nnodes; i++)
        if (g->nodes[i].step >= 0)
            works[cell_of(g, &g->nodes[i])] += g->nodes[i].work_ns;
}

/* A rank's work in a step and phase. When phases are places, its work in the whole step, because a
 * late rank is at another place than the others at the same time. */
static int64_t work_in(const struct pw_replay_graph *g, const int64_t *works, size_t step,
                       size_t rank, size_t phase)
{
    const int64_t *of = &works[(step * g->nranks + rank) * PW_PHASES];
    int64_t sum = 0;
    if (!g->is_placed)
        return of[phase];
    for (size_t p = 0; p < PW_PHASES; p++)
        sum += of[p];
    return sum;
}

/* Restores the nodes of one rank. */
struct restoring {
    const struct pw_replay_graph *g;
    const int64_t *works, *delays;
    const int64_t *wanted; /* [nsteps * PW_PHASES] new work of the rank; -1: unchanged */
    int64_t *delaying;     /* [nsteps * PW_PHASES] work that delayed others */
    float *scale;
};

/* A rank that is not recorded, or has ended, works in no phase of the step. */
static int is_in_step(const struct restoring *restoring, size_t step, size_t rank)
{
    const int64_t *of = &restoring->works[(step * restoring->g->nranks + rank) * PW_PHASES];
    for (size_t p = 0; p < PW_PHASES; p++)
        if (of[p])
            return 1;
    return 0;
}

/* Median work of the ranks in the step that are no members; -1 when there are none. */
static int64_t others_median(const struct restoring *restoring, const uint8_t *member, size_t step,
                             size_t phase, int64_t *scratch)
{
    size_t n = 0;
    for (size_t r = 0; r < restoring->g->nranks; r++)
        if (!member[r] && is_in_step(restoring, step, r))
            scratch[n++] = work_in(restoring->g, restoring->works, step, r, phase);
    return n ? pw_median_i64(scratch, n) : -1;
}

static size_t index_of(const struct restoring *r, const struct pw_replay_node *node)
{
    return (size_t)node->step * PW_PHASES + (r->g->is_placed ? 0 : (size_t)node->phase);
}

/* The part of the node's work that delays others: at most `delay`, which is the longest wait of
 * others that the rank causes before its own next wait. */
static int64_t delaying(const struct pw_replay_node *node, int64_t delay)
{
    return smaller(node->work_ns, delay);
}

static double less_of(const struct restoring *r, const struct pw_replay_node *node, int64_t delay)
{
    const double work = (double)work_in(r->g, r->works, (size_t)node->step, (size_t)node->rank,
                                        (size_t)node->phase),
                 excess = work - (double)r->wanted[index_of(r, node)],
                 most = (double)r->delaying[index_of(r, node)],
                 mine = (double)delaying(node, delay);
    if (excess <= 0 || most <= 0)
        return excess * (double)node->work_ns / work;
    if (excess <= most)
        return excess * mine / most;
    /* Removes all delaying work, and the same share of the remaining work of each node. */
    return mine + (excess - most) * ((double)node->work_ns - mine) / (work - most);
}

static void sum_delaying(const struct restoring *r, const struct pw_replay_node *node,
                         int64_t delay)
{
    r->delaying[index_of(r, node)] += delaying(node, delay);
}

static void scale_node(const struct restoring *r, const struct pw_replay_node *node, int64_t delay)
{
    if (r->wanted[index_of(r, node)] >= 0 && node->work_ns > 0)
        r->scale[node - r->g->nodes] = (float)(1 - less_of(r, node, delay) / (double)node->work_ns);
}

/* Calls `each` for the nodes first .. end - 1 that are in a step, with the longest wait of others
 * that the rank caused from that node to its own next wait. */
static void each_restored(const struct restoring *r, size_t first, size_t end,
                          void (*each)(const struct restoring *, const struct pw_replay_node *,
                                       int64_t))
{
    int64_t delay = 0;
    for (size_t i = end; i-- > first;) {
        const struct pw_replay_node *node = &r->g->nodes[i];
        delay = r->delays[i] > delay ? r->delays[i] : delay;
        if (node->step >= 0)
            each(r, node, delay);
        if (node->waits)
            delay = 0;
    }
}

/* Returns the first node of a rank; *end: the node after its last. */
static size_t nodes_of(const struct pw_replay_graph *g, int32_t rank, size_t *end)
{
    size_t of[2];
    for (int32_t i = 0; i < 2; i++) {
        size_t low = 0, high = g->nnodes;
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (g->nodes[middle].rank < rank + i)
                low = middle + 1;
            else
                high = middle;
        }
        of[i] = low;
    }
    *end = of[1];
    return of[0];
}

void pw_replay_restore(const struct pw_replay_graph *g, const struct pw_replay_measured *measured,
                       const struct pw_replay_part *part, float *scale, int64_t *scratch)
{
    const int phase = part->phase;
    const size_t cells = g->nsteps * PW_PHASES;
    int64_t *wanted = scratch + g->nranks;
    const struct restoring r = {g,      measured->works, measured->delays,
                                wanted, wanted + cells,  scale};
    for (size_t i = 0; i < cells; i++) {
        const size_t s = i / PW_PHASES, p = i % PW_PHASES;
        const int is_wanted = s >= part->first && s <= part->last &&
                              (phase < 0 || p == (size_t)phase) && (!g->is_placed || p == 0);
        wanted[i] = is_wanted ? others_median(&r, part->member, s, p, scratch) : -1;
    }
    for (size_t i = 0; i < g->nranks; i++) {
        size_t end;
        if (part->member[i] != PW_REPLAY_MEMBER)
            continue;
        const size_t begin = nodes_of(g, (int32_t)i, &end);
        for (size_t k = 0; k < cells; k++)
            r.delaying[k] = 0;
        each_restored(&r, begin, end, sum_delaying);
        each_restored(&r, begin, end, scale_node);
    }
}

void pw_replay_balance(const struct pw_replay_graph *g, const int64_t *works, int phase,
                       float *scale, int64_t *scratch)
{
    for (size_t s = 0; s < g->nsteps; s++)
        for (size_t p = 0; p < PW_PHASES; p++) {
            int64_t n = 0, sum = 0;
            for (size_t r = 0; r < g->nranks; r++) {
                const int64_t work = works[(s * g->nranks + r) * PW_PHASES + p];
                sum += work;
                n += work > 0;
            }
            scratch[s * PW_PHASES + p] = n ? sum / n : 0;
        }
    for (size_t i = 0; i < g->nnodes; i++) {
        const struct pw_replay_node *node = &g->nodes[i];
        const int is_meant = node->step >= 0 && (phase < 0 || node->phase == phase);
        const int64_t work = is_meant && node->work_ns > 0 ? works[cell_of(g, node)] : 0;
        if (work > 0)
            scale[i] =
                (float)((double)scratch[(size_t)node->step * PW_PHASES + (size_t)node->phase] /
                        (double)work);
    }
}

/* Scales the work of nodes, piece by piece of a phase: to the mean of the roles, or in proportion
 * to the covariance with the amounts. */

/* ---- pieces: the work of a phase between two calls, such as one pass of a pipeline. When a phase
 * has the same number of pieces on all ranks and in all steps, the k-th pieces of two ranks can be
 * compared. ---- */

enum { PW_PIECES_MOST = 1024, PW_PIECES_ALL = PW_PHASES };

struct pw_pieces {
    const struct pw_replay_graph *graph;
    const int64_t *works; /* pw_replay_sum_works() */
    int phase;            /* or PW_PIECES_ALL */
    size_t n;             /* pieces in each cell (a step of a rank); 1 also when cells differ */
    int64_t *nodes;       /* [nsteps * nranks] number of nodes that have work */
    int64_t *longs; /* [nsteps * nranks] number of these that count as pieces: a tenth of the mean
                       node or more */
};

static inline size_t pw_pieces_cell(const struct pw_replay_graph *g,
                                    const struct pw_replay_node *node)
{
    return (size_t)node->step * g->nranks + (size_t)node->rank;
}

#define LEAST_PIECE 0.1  /* of the cell's mean node: shorter ones are only between two calls */
#define LEAST_ALIKE 0.95 /* share of the cells that must have the same number of pieces */

/* Work of the phase in a cell, step * nranks + rank. */
static int64_t pw_pieces_work(const struct pw_pieces *w, size_t cell)
{
    const int64_t *works = w->works + cell * PW_PHASES;
    int64_t sum = 0;
    if (w->phase != PW_PIECES_ALL)
        return works[w->phase];
    for (size_t p = 0; p < PW_PHASES; p++)
        sum += works[p];
    return sum;
}

/* 1 when the node has work in the phase. */
static int pw_pieces_has(const struct pw_pieces *w, const struct pw_replay_node *node)
{
    return node->step >= 0 && node->work_ns > 0 &&
           (w->phase == PW_PIECES_ALL || node->phase == w->phase);
}

static int is_piece(const struct pw_pieces *w, const struct pw_replay_node *node)
{
    const size_t cell = pw_pieces_cell(w->graph, node);
    const double mean = (double)pw_pieces_work(w, cell) / (double)w->nodes[cell];
    return (double)node->work_ns >= LEAST_PIECE * mean;
}

/* 1 when the cell has work, and the usual number of pieces. */
static int pw_pieces_is_alike(const struct pw_pieces *w, size_t cell)
{
    return w->nodes[cell] > 0 && (w->n == 1 || w->longs[cell] == (int64_t)w->n);
}

static void count(struct pw_pieces *w, size_t cells)
{
    const struct pw_replay_graph *g = w->graph;
    for (size_t c = 0; c < cells; c++)
        w->nodes[c] = w->longs[c] = 0;
    for (size_t i = 0; i < g->nnodes; i++)
        if (pw_pieces_has(w, &g->nodes[i]))
            w->nodes[pw_pieces_cell(g, &g->nodes[i])]++;
    for (size_t i = 0; i < g->nnodes; i++)
        if (pw_pieces_has(w, &g->nodes[i]))
            w->longs[pw_pieces_cell(g, &g->nodes[i])] += is_piece(w, &g->nodes[i]);
}

/* Sets `phase` and `n`; with PW_PIECES_ALL all phases are one piece. The caller has set the other
 * members. */
static void pw_pieces_look(struct pw_pieces *w, int phase)
{
    const size_t cells = w->graph->nsteps * w->graph->nranks;
    size_t known = 0, alike = 0;
    w->phase = phase;
    w->n = 0;
    count(w, cells);
    for (size_t c = 0; c < cells && !w->n; c++)
        w->n = (size_t)w->longs[c];
    for (size_t c = 0; c < cells; c++) {
        known += w->nodes[c] > 0;
        alike += w->nodes[c] > 0 && w->longs[c] == (int64_t)w->n;
    }
    if (phase == PW_PIECES_ALL || !w->n || w->n > PW_PIECES_MOST ||
        (double)alike < LEAST_ALIKE * (double)known)
        w->n = 1;
}

/* Calls visit(context, node, piece) for the pieces of the cells that are alike, in the order of
 * nodes; where there is one piece, for all nodes with work. */
static void pw_pieces_visit(const struct pw_pieces *w, void (*visit)(void *, size_t, size_t),
                            void *context)
{
    const struct pw_replay_graph *g = w->graph;
    size_t at = SIZE_MAX, piece = 0;
    for (size_t i = 0; i < g->nnodes; i++) {
        if (!pw_pieces_has(w, &g->nodes[i]) || (w->n > 1 && !is_piece(w, &g->nodes[i])))
            continue;
        const size_t cell = pw_pieces_cell(g, &g->nodes[i]);
        piece = cell == at && w->n > 1 ? piece + 1 : 0;
        at = cell;
        if (pw_pieces_is_alike(w, cell))
            visit(context, i, piece);
    }
}

#define LEAST_PHASE 0.01  /* of all work: a smaller phase is not changed */
#define LEAST_OF_MEAN 0.2 /* of the mean work: a role with less in a phase lacks the phase */
#define LEAST_WEIGHT 0.1  /* of the largest covariance: a piece with less does not change */

enum { MOST_WEIGHED = 256 }; /* with more pieces, the phase is one piece */

struct sharing {
    struct pw_pieces pieces;
    struct pw_replay_node *changed; /* [nnodes] */
    /* roles */
    const int32_t *role_of;
    const uint8_t *is_slow;
    size_t nroles;
    int64_t *first;  /* [nroles + 1] where the values of each role begin, for one piece */
    int64_t *usual;  /* [nroles * pieces] -1: not known */
    int64_t *values; /* [nnodes + cells] */
    int64_t mean;    /* mean over the ranks of the usual work of their roles, all pieces together */
    /* amounts */
    const float *more_ns;
    double *weights; /* [MOST_WEIGHED] of the phase's pieces */
};

static double limited(double factor)
{
    return factor < 0.05 ? 0.05 : factor > 20 ? 20 : factor;
}

static size_t cells_of(const struct pw_replay_graph *g)
{
    return g->nsteps * g->nranks;
}

size_t pw_share_scratch(const struct pw_replay_graph *g, size_t nroles)
{
    return 3 * cells_of(g) + g->nnodes + nroles * (PW_PIECES_MOST + 1) + 1;
}

static struct sharing scaling_begin(const struct pw_replay_graph *g, const int64_t *works,
                                    struct pw_replay_node *nodes, int64_t *scratch)
{
    return (struct sharing){
        .pieces = {.graph = g, .works = works, .nodes = scratch, .longs = scratch + cells_of(g)},
        .changed = nodes};
}

void pw_share_cells(const struct pw_replay_graph *g, const int64_t *works, const float *more_ns,
                    uint32_t phases, struct pw_replay_node *nodes)
{
    for (size_t i = 0; i < g->nnodes; i++) {
        if (nodes[i].step < 0 || !(phases >> nodes[i].phase & 1))
            continue;
        const size_t cell = pw_pieces_cell(g, &nodes[i]);
        double work = 0;
        for (size_t p = 0; p < PW_PHASES; p++)
            work += phases >> p & 1 ? (double)works[cell * PW_PHASES + p] : 0;
        if (work > 0)
            nodes[i].work_ns =
                (int64_t)((double)nodes[i].work_ns * limited(1 - (double)more_ns[cell] / work));
    }
}

/* ---- amounts ---- */

/* The work's covariance with `more`, which has the mean 0 in each step. */
static void add_product(void *context, size_t i, size_t piece)
{
    struct sharing *h = context;
    const struct pw_replay_node *node = &h->pieces.graph->nodes[i];
    const size_t cell = pw_pieces_cell(h->pieces.graph, node);
    h->weights[piece] += (double)node->work_ns * (double)h->more_ns[cell];
}

static void look_at_weighed(struct sharing *h, int phase, double weights[MOST_WEIGHED])
{
    pw_pieces_look(&h->pieces, phase);
    h->pieces.n = h->pieces.n > MOST_WEIGHED ? 1 : h->pieces.n;
    h->weights = weights;
}

static void take_more_out(void *context, size_t i, size_t piece)
{
    struct sharing *h = context;
    struct pw_replay_node *node = &h->changed[i];
    const size_t cell = pw_pieces_cell(h->pieces.graph, node);
    double more = h->weights[piece] * (double)h->more_ns[cell];
    if (h->pieces.n == 1) /* one piece: all nodes of the phase */
        more *= (double)node->work_ns / (double)pw_pieces_work(&h->pieces, cell);
    if (node->work_ns > 0)
        node->work_ns =
            (int64_t)((double)node->work_ns * limited(1 - more / (double)node->work_ns));
}

void pw_share_amounts(const struct pw_replay_graph *g, const int64_t *works, const float *more_ns,
                      struct pw_replay_node *nodes, int64_t *scratch)
{
    struct sharing h = scaling_begin(g, works, nodes, scratch);
    double weights[PW_PHASES][MOST_WEIGHED] = {{0}}, most = 0, sum = 0;
    h.more_ns = more_ns;
    for (int p = 0; p < PW_PHASES; p++) {
        look_at_weighed(&h, p, weights[p]);
        pw_pieces_visit(&h.pieces, add_product, &h);
        for (size_t i = 0; i < MOST_WEIGHED; i++)
            most = weights[p][i] > most ? weights[p][i] : most;
    }
    for (int p = 0; p < PW_PHASES; p++)
        for (size_t i = 0; i < MOST_WEIGHED; i++) {
            weights[p][i] = weights[p][i] < LEAST_WEIGHT * most ? 0 : weights[p][i];
            sum += weights[p][i];
        }
    for (int p = 0; p < PW_PHASES && sum > 0; p++) {
        look_at_weighed(&h, p, weights[p]);
        for (size_t i = 0; i < MOST_WEIGHED; i++)
            weights[p][i] /= sum;
        pw_pieces_visit(&h.pieces, take_more_out, &h);
    }
}

/* ---- roles ---- */

/* 1 when the cell counts in the usual work of its role. */
static int counts(const struct sharing *h, size_t rank, size_t cell)
{
    return pw_pieces_is_alike(&h->pieces, cell) && !(h->is_slow && h->is_slow[rank]);
}

/* Sets where the values of each role begin: the cells of the role, piece by piece. */
static void place_values(struct sharing *h)
{
    const struct pw_replay_graph *g = h->pieces.graph;
    for (size_t k = 0; k <= h->nroles; k++)
        h->first[k] = 0;
    for (size_t c = 0; c < cells_of(g); c++)
        h->first[h->role_of[c % g->nranks] + 1] += counts(h, c % g->nranks, c);
    for (size_t k = 0; k < h->nroles; k++)
        h->first[k + 1] += h->first[k];
}

static void add_value(struct sharing *h, size_t role, size_t piece, int64_t value)
{
    /* `usual` first serves as the number of values. */
    const size_t n = (size_t)h->usual[role * h->pieces.n + piece]++;
    h->values[(size_t)h->first[h->nroles] * piece + (size_t)h->first[role] + n] = value;
}

static void collect(void *context, size_t i, size_t piece)
{
    struct sharing *h = context;
    const struct pw_replay_node *node = &h->pieces.graph->nodes[i];
    if (!h->is_slow || !h->is_slow[node->rank])
        add_value(h, (size_t)h->role_of[node->rank], piece, node->work_ns);
}

static void find_mean(struct sharing *h)
{
    const size_t pieces = h->pieces.n;
    double sum = 0, ranks = 0;
    for (size_t r = 0; r < h->pieces.graph->nranks; r++)
        for (size_t i = 0; i < pieces; i++) {
            const int64_t usual = h->usual[(size_t)h->role_of[r] * pieces + i];
            sum += usual > 0 ? (double)usual : 0;
            ranks += usual >= 0 && i == 0;
        }
    h->mean = ranks > 0 ? (int64_t)(sum / ranks) : 0;
}

/* Finds the usual work of each role in each piece; with one piece, in the whole phase. */
static void find_usual(struct sharing *h)
{
    const struct pw_replay_graph *g = h->pieces.graph;
    const size_t pieces = h->pieces.n, all = (size_t)h->first[h->nroles];
    for (size_t i = 0; i < h->nroles * pieces; i++)
        h->usual[i] = 0;
    if (pieces > 1)
        pw_pieces_visit(&h->pieces, collect, h);
    for (size_t c = 0; c < cells_of(g) && pieces == 1; c++)
        if (counts(h, c % g->nranks, c))
            add_value(h, (size_t)h->role_of[c % g->nranks], 0, pw_pieces_work(&h->pieces, c));
    for (size_t k = 0; k < h->nroles; k++) {
        const size_t n = (size_t)(h->first[k + 1] - h->first[k]);
        for (size_t i = 0; i < pieces; i++)
            h->usual[k * pieces + i] =
                n ? pw_median_i64(h->values + all * i + (size_t)h->first[k], n) : -1;
    }
}

static void look_at(struct sharing *h, int phase)
{
    pw_pieces_look(&h->pieces, phase);
    place_values(h);
    find_usual(h);
    find_mean(h);
}

static void change(void *context, size_t i, size_t piece)
{
    struct sharing *h = context;
    struct pw_replay_node *node = &h->changed[i];
    const int64_t usual = h->usual[(size_t)h->role_of[node->rank] * h->pieces.n + piece];
    if (usual > 0)
        node->work_ns = (int64_t)((double)node->work_ns *
                                  limited((double)h->mean / (double)h->pieces.n / (double)usual));
}

/* 1 when a role has almost no work in the phase. */
static int is_missing(const struct sharing *h)
{
    for (size_t k = 0; k < h->nroles; k++) {
        double sum = 0;
        for (size_t i = 0; i < h->pieces.n; i++)
            sum += (double)h->usual[k * h->pieces.n + i];
        if (sum < LEAST_OF_MEAN * (double)h->mean)
            return 1;
    }
    return 0;
}

void pw_share_roles(const struct pw_replay_graph *g, const int64_t *works,
                    const struct pw_share_ranks *ranks, struct pw_replay_node *nodes,
                    int64_t *scratch)
{
    struct sharing h = scaling_begin(g, works, nodes, scratch);
    int missing = 0;
    h.role_of = ranks->role_of;
    h.nroles = ranks->nroles;
    h.is_slow = ranks->is_slow;
    h.first = scratch + 2 * cells_of(g);
    h.usual = h.first + h.nroles + 1;
    h.values = h.usual + h.nroles * PW_PIECES_MOST;
    look_at(&h, PW_PIECES_ALL);
    const double all = (double)h.mean;
    for (int p = 0; p < PW_PHASES && !missing; p++) {
        look_at(&h, p);
        missing = (double)h.mean >= LEAST_PHASE * all && is_missing(&h);
    }
    const int last = missing ? PW_PIECES_ALL : PW_PHASES - 1;
    for (int p = missing ? PW_PIECES_ALL : 0; p <= last; p++) {
        look_at(&h, p);
        if ((double)h.mean >= LEAST_PHASE * all)
            pw_pieces_visit(&h.pieces, change, &h);
    }
}
