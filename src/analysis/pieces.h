/* The pieces that a phase of a step consists of on each rank, between its calls: a pipeline's
 * passes, a layer before and after its experts. Where all ranks have as many in all steps, the k-th
 * piece of one can be compared with the k-th of another. */
#ifndef PW_ANALYSIS_PIECES_H
#define PW_ANALYSIS_PIECES_H

#include "analysis/replay.h"

enum { PW_PIECES_MOST = 1024, PW_PIECES_ALL = PW_PHASES };

struct pw_pieces {
    const struct pw_replay_graph *graph;
    const int64_t *works; /* pw_replay_sum_works() */
    int phase;            /* or PW_PIECES_ALL */
    size_t n;             /* pieces of each cell; 1 also where they differ */
    int64_t *nodes;       /* [nsteps * nranks] that have work */
    int64_t *longs;       /* [nsteps * nranks] of these, pieces: a tenth of the mean or more */
};

/* Looks at the phase, or all phases as one piece; all but phase and n is set before. */
void pw_pieces_look(struct pw_pieces *pieces, int phase);

/* Work of the phase in a cell, step * nranks + rank. */
int64_t pw_pieces_work(const struct pw_pieces *pieces, size_t cell);

/* 1 when the node is work of the phase. */
int pw_pieces_has(const struct pw_pieces *pieces, const struct pw_replay_node *node);

/* 1 when the cell has work, and as many pieces as the others. */
int pw_pieces_is_alike(const struct pw_pieces *pieces, size_t cell);

/* Calls visit(context, node, piece) for the pieces of the cells that are alike, in the order of
 * nodes; where there is one piece, for all nodes with work. */
void pw_pieces_visit(const struct pw_pieces *pieces, void (*visit)(void *, size_t, size_t),
                     void *context);

static inline size_t pw_pieces_cell(const struct pw_replay_graph *g,
                                    const struct pw_replay_node *node)
{
    return (size_t)node->step * g->nranks + (size_t)node->rank;
}

#endif
