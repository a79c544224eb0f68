/* The gates of the replay (analysis/replay.h): a collective instance, one direction of a matched
 * message, or a receiver's coming back into MPI. */
#ifndef PW_AGGREGATE_FINDINGS_GRAPHGATES_H
#define PW_AGGREGATE_FINDINGS_GRAPHGATES_H

#include "aggregate/match/graph.h"

struct pw_gates {
    const struct pw_graph_op *ops; /* [nops] sorted by rank, then local_enter */
    struct pw_graph_flow *flows;   /* [nflows] sorted by receiver, then time */
    size_t nops, nflows, n;
    int32_t *needs;      /* [n] how often it is added to */
    int64_t *opened;     /* [n] measured time of the last to add */
    int32_t *gate_of;    /* [nops] gate that an operation adds to, or -1 */
    int64_t *adds_at;    /* [nops] and when */
    int32_t *waits_at;   /* [nops] gate that it waits at, or -1 */
    int32_t *flow_gates; /* [nflows] gate that the receiver adds to, or -1 */
};

/* Sorts the operations and flows of gathered parts. 0 or -ENOMEM; then, too, `needs` is the
 * caller's, and the rest for pw_gates_fini(). */
int pw_gates_make(struct pw_gates *gates, struct pw_graph_parts *parts,
                  const struct pw_instances *in);

void pw_gates_fini(struct pw_gates *gates);

#endif
