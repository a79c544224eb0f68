/* Changes the work in a replay's nodes to what it would be if it were shared out evenly: what
 * balancing unequal work would save is the replay with it. Called by aggregate/findings. Pure
 * arithmetic: no I/O, no allocation; the caller gives the scratch memory.
 *
 * `works` are pw_replay_sum_works(); `nodes` is a copy of the graph's nodes, which is changed. No
 * piece of work is changed by a factor of more than 20. */
#ifndef PW_ANALYSIS_SHARING_H
#define PW_ANALYSIS_SHARING_H

#include "analysis/replay.h"

/* Takes more_ns[step * nranks + rank] (below 0: adds) out of the rank's work in those phases whose
 * bits are set in `phases`, in proportion to it. */
void pw_share_cells(const struct pw_replay_graph *graph, const int64_t *works, const float *more_ns,
                    uint32_t phases, struct pw_replay_node *nodes);

/* Values of scratch that the functions below need. */
size_t pw_share_scratch(const struct pw_replay_graph *graph, size_t nroles);

/* The same where it is not known in which phases it is more, and each step's mean is 0: out of the
 * pieces of phases (analysis/sharing.c) in proportion to their covariance with it; pieces with less
 * than a tenth of the most do not depend on it. */
void pw_share_amounts(const struct pw_replay_graph *graph, const int64_t *works,
                      const float *more_ns, struct pw_replay_node *nodes, int64_t *scratch);

/* Each rank's role, and whether it is slow. */
struct pw_share_ranks {
    const int32_t *role_of; /* [nranks] 0 .. nroles - 1 */
    size_t nroles;
    const uint8_t *is_slow; /* [nranks]; NULL: none is */
};

/* Gives all roles the mean of their usual works, phase by phase. Where a phase has pieces that can
 * be compared (a pipeline's passes), each piece has the mean, too: what is in one part of the model
 * only is shared out over all parts. What a rank's work differs from the usual of its role in the
 * same piece stays, as a factor: noise, and slow ranks. Usual are medians over the steps and the
 * role's ranks, without those that are slow. Where a role has no work in a phase of others all its
 * work is taken as one. */
void pw_share_roles(const struct pw_replay_graph *graph, const int64_t *works,
                    const struct pw_share_ranks *ranks, struct pw_replay_node *nodes,
                    int64_t *scratch);

#endif
