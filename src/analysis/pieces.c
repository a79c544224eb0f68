/* Counts and numbers the pieces of a phase; see pieces.h. */
#include "analysis/pieces.h"

#define LEAST_PIECE 0.1  /* of the cell's mean node: less is between two calls */
#define LEAST_ALIKE 0.95 /* of the cells have as many pieces */

int64_t pw_pieces_work(const struct pw_pieces *w, size_t cell)
{
    const int64_t *works = w->works + cell * PW_PHASES;
    int64_t sum = 0;
    if (w->phase != PW_PIECES_ALL)
        return works[w->phase];
    for (size_t p = 0; p < PW_PHASES; p++)
        sum += works[p];
    return sum;
}

int pw_pieces_has(const struct pw_pieces *w, const struct pw_replay_node *node)
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

int pw_pieces_is_alike(const struct pw_pieces *w, size_t cell)
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

void pw_pieces_look(struct pw_pieces *w, int phase)
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

void pw_pieces_visit(const struct pw_pieces *w, void (*visit)(void *, size_t, size_t),
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
