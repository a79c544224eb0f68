/* Replays a run from its graph of dependencies, with some of its work changed: what the job would
 * take if a rank, a host or a phase were like the others, and along which ranks and phases the time
 * of the job runs (the critical path). Called by aggregate/findings, which builds the graph, and by
 * sharing.h. Pure arithmetic: no I/O, no allocation; the caller gives the scratch memory.
 *
 * A node is what one rank does next: its own work, then, if it waits for anything, the time until
 * the last of that is there, then a cost of its own (the transfer). What is waited for is a gate: a
 * matched collective or message, open when all nodes that add to it have done their work. Times are
 * ns; with all work as measured the replay gives the measured times back. */
#ifndef PW_ANALYSIS_REPLAY_H
#define PW_ANALYSIS_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/straggler.h"

struct pw_replay_node {
    int64_t work_ns;
    int64_t cost_ns;            /* may be negative, by the clocks' error */
    int32_t rank, step;         /* step -1: outside */
    int32_t adds;               /* gate, or -1 */
    int32_t first_wait, nwaits; /* in the graph's waits */
    int32_t phase;              /* 0 .. PW_PHASES - 1; PW_PHASES - 1 is other; or a place */
};

struct pw_replay_graph {
    const struct pw_replay_node *nodes; /* a rank's nodes in its order, ranks in theirs */
    size_t nnodes;
    int32_t *waits; /* gates; those that can never open are set to -1 by pw_replay_order() */
    int32_t *needs; /* [ngates] nodes that add to it */
    size_t ngates, nranks, nsteps;
    const int64_t *start_ns; /* [nranks] */
    int is_placed;           /* no phases are known: `phase` is the place in the step */
};

/* Numbers work by its place in its step, where no phases are known: of n pieces between calls the
 * i-th gets i * PW_PHASES / n. So a rank's work is compared with what others do in the same place,
 * not spread over all of a step whose pieces each wait for other ranks. A rank's nodes in its
 * order, ranks in theirs, as in the graph. */
void pw_replay_place(struct pw_replay_node *nodes, size_t n);

/* Puts the nodes' indices into `order` so that whatever opens a gate comes before who waits at it.
 * Scratch: ngates + 2 * (nranks + 1) values. Returns how many waits were dropped because they wait
 * for each other (damaged or mismatched input). */
size_t pw_replay_order(struct pw_replay_graph *graph, int32_t *order, int64_t *scratch);

/* The end of the last rank. work_ns of node i counts times scale[i]; `scale` NULL: as measured.
 * With `network` 0 no transfer costs anything. Scratch: nranks + ngates values; on return the first
 * nranks are the ranks' ends. */
int64_t pw_replay_run(const struct pw_replay_graph *graph, const int32_t *order, const float *scale,
                      int network, int64_t *scratch);

/* The path from the job's last end back to its start: time on it per rank and phase, ns, into
 * path[rank * (PW_PHASES + 1) + phase], where phase PW_PHASES is transfer. Into delays[nnodes],
 * what others waited at most for what a node adds to, ns. Scratch: nranks + 2 * ngates + nnodes
 * values. Returns the path's length. */
int64_t pw_replay_path(const struct pw_replay_graph *graph, const int32_t *order, int64_t *path,
                       int64_t *delays, int64_t *scratch);

/* Sums the nodes' work into works[(step * nranks + rank) * PW_PHASES + phase]. */
void pw_replay_sum_works(const struct pw_replay_graph *graph, int64_t *works);

/* What was measured of each cell (step, rank, phase), ns: its work, and what others waited for it.
 */
struct pw_replay_measured {
    const int64_t *works, *delays;
};

/* Whose work in which steps: of each rank r with member[r], in steps first .. last, and in the one
 * phase unless phase < 0. */
struct pw_replay_part {
    const uint8_t *member;
    size_t first, last;
    int phase;
};

/* Sets `scale` of the nodes of the part to what makes its work in each step and phase the median of
 * those without. What it works more is taken first from where others wait for it. Scratch: nranks +
 * 2 * nsteps * PW_PHASES values. */
void pw_replay_restore(const struct pw_replay_graph *graph,
                       const struct pw_replay_measured *measured, const struct pw_replay_part *part,
                       float *scale, int64_t *scratch);

/* Sets `scale` of the nodes in a phase, of all where it is < 0, to what gives every rank the mean
 * work of all in each step and phase. Scratch: nsteps * PW_PHASES values. */
void pw_replay_balance(const struct pw_replay_graph *graph, const int64_t *works, int phase,
                       float *scale, int64_t *scratch);

#endif
