/* Balances unequal work in a replay graph: changes the work of the nodes to what it would be if all
 * ranks had the same amount. The caller replays the changed graph to find out what balancing would
 * save. Called by aggregate/findings. Pure arithmetic: no I/O, no allocation; the caller gives the
 * scratch memory.
 *
 * In all functions `works` is the result of pw_replay_sum_works(), and `nodes` is a copy of the
 * graph's nodes, which the function changes. The work of a node changes by a factor between 1/20
 * and 20. */
#ifndef PW_ANALYSIS_SHARING_H
#define PW_ANALYSIS_SHARING_H

#include "analysis/replay.h"

/* Subtracts more_ns[step * nranks + rank] from the rank's work in the step; a negative value adds
 * work. Only the phases whose bits are set in `phases` change, each node in proportion to its work.
 */
void pw_share_cells(const struct pw_replay_graph *graph, const int64_t *works, const float *more_ns,
                    uint32_t phases, struct pw_replay_node *nodes);

/* Number of scratch values that the functions below need. */
size_t pw_share_scratch(const struct pw_replay_graph *graph, size_t nroles);

/* Like pw_share_cells(), for amounts whose phase is unknown. The mean of more_ns over the ranks
 * must be 0 in each step. The amount is subtracted from the pieces of all phases (see sharing.c),
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
