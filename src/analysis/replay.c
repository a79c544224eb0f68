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
static void visit(const struct restoring *r, size_t first, size_t end,
                  void (*each)(const struct restoring *, const struct pw_replay_node *, int64_t))
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
        visit(&r, begin, end, sum_delaying);
        visit(&r, begin, end, scale_node);
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
