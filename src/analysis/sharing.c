/* Scales the work of nodes, piece by piece of a phase: to the mean of the roles, or in proportion
 * to the covariance with the amounts; see sharing.h. */
#include "analysis/sharing.h"

#include "analysis/replay.h"
#include "analysis/statistics.h"

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

static struct sharing begin(const struct pw_replay_graph *g, const int64_t *works,
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
    struct sharing h = begin(g, works, nodes, scratch);
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
    struct sharing h = begin(g, works, nodes, scratch);
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
