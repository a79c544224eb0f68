/* Replays a run from its dependency graph, with changed work: how long the job would take if a
 * rank, a host or a phase were like the others. Also finds the critical path of the run. Called by
 * aggregate/findings, which builds the graph, and by replay.h. Pure arithmetic: no I/O, no
 * allocation; the caller gives the scratch memory.
 *
 * A rank's run is a sequence of nodes. In each node the rank waits until all gates of the node are
 * open, then spends the node's cost (the transfer), then does its own work. A gate is a matched
 * collective or message; it opens when all nodes that add to it have finished their work. Times are
 * ns. With unchanged work the replay gives the measured times. */
#ifndef PW_ANALYSIS_REPLAY_H
#define PW_ANALYSIS_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/straggler.h"

struct pw_replay_node {
    int64_t cost_ns; /* of the transfer after the waits; negative values come from clock errors */
    int64_t work_ns;
    int32_t rank;
    int32_t step : 28; /* -1: outside the steps */
    int32_t phase : 4; /* of the work: 0 .. PW_PHASES - 1 (other); with is_placed, a place */
    int32_t waits; /* waits[waits - 1 ...] of the graph are the gates that it waits for; 0: none */
    int32_t adds;  /* the gate that it adds to at its end; -1: none */
};

enum { PW_REPLAY_END = -2 }; /* after the gates of a node in `waits` */

struct pw_replay_graph {
    const struct pw_replay_node *nodes; /* sorted by rank; a rank's nodes in time order */
    size_t nnodes;
    /* gates, and PW_REPLAY_END after those of each node that waits; pw_replay_order() sets a gate
     * that can never open to -1 */
    int32_t *waits;
    int32_t *needs; /* [ngates] number of nodes that add to the gate */
    size_t ngates, nranks, nsteps;
    const int64_t *start_ns; /* [nranks] */
    int is_placed;           /* 1: phases are unknown, `phase` is the place in the step */
};

/* Sets `phase` to the place of the work in its step, for runs without known phases: the i-th of n
 * nodes with work in a step gets i * PW_PHASES / n. So work is compared with the work of other
 * ranks at the same place of the step, not with their whole step. `nodes` is sorted as in the
 * graph. */
void pw_replay_place(struct pw_replay_node *nodes, size_t n);

/* Fills order[nnodes] with the indices of the nodes in topological order: the nodes that open a
 * gate come before the nodes that wait for it. Waits that form a cycle (damaged or mismatched
 * input) are dropped. Scratch: ngates + 2 * (nranks + 1) values. Returns the number of dropped
 * waits. */
size_t pw_replay_order(struct pw_replay_graph *graph, int32_t *order, int64_t *scratch);

/* Replays the run and returns the end of the last rank. The work of node i is multiplied by
 * scale[i]; `scale` NULL: work as measured. With `network` 0 all transfers cost 0. Scratch: nranks
 * + ngates values; on return the first nranks values are the ends of the ranks. */
int64_t pw_replay_run(const struct pw_replay_graph *graph, const int32_t *order, const float *scale,
                      int network, int64_t *scratch);

/* Finds the critical path: from the end of the last rank back to the start. Fills
 * path[rank * (PW_PHASES + 1) + phase] with the time on the path, ns; phase PW_PHASES is transfer.
 * Fills delays[i] with the longest time that another node waited for node i to open a gate, ns.
 * Scratch: nranks + 2 * ngates + nnodes values. Returns the length of the path. */
int64_t pw_replay_path(const struct pw_replay_graph *graph, const int32_t *order, int64_t *path,
                       int64_t *delays, int64_t *scratch);

/* Sums the work of the nodes into works[(step * nranks + rank) * PW_PHASES + phase]. */
void pw_replay_sum_works(const struct pw_replay_graph *graph, int64_t *works);

/* The measured run, ns. */
struct pw_replay_measured {
    const int64_t *works;  /* pw_replay_sum_works() */
    const int64_t *delays; /* [nnodes] pw_replay_path() */
};

enum { PW_REPLAY_MEMBER = 1, PW_REPLAY_LEFT_OUT };

/* A part of the run's work. */
struct pw_replay_part {
    /* [nranks] PW_REPLAY_MEMBER: the rank's work is in the part; 0: it is another rank, with which
     * members are compared; PW_REPLAY_LEFT_OUT: neither */
    const uint8_t *member;
    size_t first, last; /* steps */
    int phase;          /* < 0: all phases */
};

/* Sets scale[i] for the nodes of the part, so that each member's work in each step and phase
 * becomes the median of the other ranks that work in that step; where there are none
 * it stays as it is. The surplus is removed first from the nodes that others waited for. Scratch:
 * nranks + 2 * nsteps * PW_PHASES values. */
void pw_replay_restore(const struct pw_replay_graph *graph,
                       const struct pw_replay_measured *measured, const struct pw_replay_part *part,
                       float *scale, int64_t *scratch);

/* Sets scale[i] for the nodes of a phase (< 0: all phases), so that each rank with work in a step
 * and phase gets the mean work of these ranks. Scratch: nsteps * PW_PHASES values. */
void pw_replay_balance(const struct pw_replay_graph *graph, const int64_t *works, int phase,
                       float *scale, int64_t *scratch);

/* Balances unequal work in a replay graph: changes the work of the nodes to what it would be if all
 * ranks had the same amount. The caller replays the changed graph to find out what balancing would
 * save. Pure arithmetic: no I/O, no allocation; the caller gives the scratch memory.
 *
 * In all functions `works` is the result of pw_replay_sum_works(), and `nodes` is a copy of the
 * graph's nodes, which the function changes. The work of a node changes by a factor between 1/20
 * and 20. */

/* Subtracts more_ns[step * nranks + rank] from the rank's work in the step; a negative value adds
 * work. Only the phases whose bits are set in `phases` change, each node in proportion to its work.
 */
void pw_share_cells(const struct pw_replay_graph *graph, const int64_t *works, const float *more_ns,
                    uint32_t phases, struct pw_replay_node *nodes);

/* Number of scratch values that the functions below need. */
size_t pw_share_scratch(const struct pw_replay_graph *graph, size_t nroles);

/* Like pw_share_cells(), for amounts whose phase is unknown. The mean of more_ns over the ranks
 * must be 0 in each step. The amount is subtracted from the pieces of all phases (see replay.c),
 * in proportion to the covariance between the work of the piece and more_ns. A piece whose
 * covariance is less than a tenth of the largest one does not change. */
void pw_share_amounts(const struct pw_replay_graph *graph, const int64_t *works,
                      const float *more_ns, struct pw_replay_node *nodes, int64_t *scratch);

/* The role of each rank, and whether the rank is slow. */
struct pw_share_ranks {
    const int32_t *role_of; /* [nranks] 0 .. nroles - 1 */
    size_t nroles;
    const uint8_t *is_slow; /* [nranks]; NULL: no rank is slow */
};

/* Gives all roles the same usual work in each phase. The usual work of a role is the median over
 * the steps and over the ranks of the role that are not slow. The new usual work of all roles is
 * the mean over the ranks. A node's work is multiplied by new usual work / old usual work of its
 * role, so noise and slow ranks stay visible.
 *
 * When a phase has the same number of pieces on all ranks (the passes of a pipeline), each piece
 * gets the same usual work, too: work that exists in one part of the model only is distributed over
 * all parts. When a role has almost no work in a phase that other roles have, the phases are not
 * balanced one by one: all work of a step is treated as one phase. */
void pw_share_roles(const struct pw_replay_graph *graph, const int64_t *works,
                    const struct pw_share_ranks *ranks, struct pw_replay_node *nodes,
                    int64_t *scratch);

#endif
