/* Builds the run's dependency graph for the replay (analysis/replay.h) on process 0, from the parts
 * that all processes gathered. findings.c builds the graph; whatif.c, slownetwork.c and
 * imbalance.c replay it. A graph does not change once it is built: a replay with changed nodes
 * uses a copy of them. No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_GRAPH_H
#define PW_AGGREGATE_FINDINGS_GRAPH_H

#include "aggregate/match/graphparts.h"
#include "analysis/replay.h"

/* The gates of the run's dependency graph (analysis/replay.h): a collective, one direction of a
 * matched message, or the return of a receiver into MPI. Also decides which sends wait for their
 * receive. No MPI, no I/O. */

/* ---- which sends wait for their receive ---- */

enum { PW_SENDMODE_SIZES = 520 }; /* number of size classes: pw_size_eighth() */

/* For each size, the sends that began to block before their receive: how many waited for the
 * receive, and how many had ended before it. */
struct pw_sendmode {
    int64_t waited[PW_SENDMODE_SIZES], left[PW_SENDMODE_SIZES];
};

void pw_sendmode_see(struct pw_sendmode *mode, const struct pw_graph_op *send,
                     const struct pw_graph_op *receive);

/* Returns 1 when the send would wait for a late receive: it is synchronous, or 90 % of at least 3
 * sends of its size waited. */
int pw_sendmode_waits(const struct pw_sendmode *mode, const struct pw_graph_op *send);

struct pw_gates {
    const struct pw_graph_op *ops; /* [nops] sorted by rank, then local_enter */
    struct pw_graph_flow *flows;   /* [nflows] sorted by receiver, then time */
    size_t nops, nflows, n;
    int32_t *needs;      /* [n] how many nodes add to the gate */
    int64_t *opened;     /* [n] measured time at which the last node added */
    int32_t *gate_of;    /* [nops] the gate that the operation adds to, or -1 */
    int32_t *full_of;    /* [nops] the gate of all ranks of an operation from a root, or -1 */
    int64_t *adds_at;    /* [nops] the time at which it adds */
    int32_t *waits_at;   /* [nops] the gate that it waits for, or -1 */
    int32_t *flow_gates; /* [nflows] the gate that the receiver adds to, or -1 */
};

/* Makes the gates; sorts the operations and flows of the gathered parts. Returns 0 or -ENOMEM. In
 * both cases the caller must free `needs`, and call pw_gates_fini() for the rest. */
int pw_gates_make(struct pw_gates *gates, struct pw_graph_parts *parts,
                  const struct pw_instances *instances);

void pw_gates_fini(struct pw_gates *gates);

/* The transfer that is a node's cost: the rank's part in a collective, or a message. When a call
 * completed several messages, this is the message that began last, or that began last between
 * hosts. */
struct pw_graph_transfer {
    int64_t instance, size; /* instance -1: a message */
    int32_t node, peer;     /* peer: world rank of a message; -1: not known */
    uint16_t op;
    uint8_t receives, waited; /* waited: 1 when the rank was ready before its partner */
    uint8_t is_tail; /* 1: the call also completed a message within the host that began later */
};

struct pw_graph {
    struct pw_replay_graph replay;
    /* in the order of nodes; only of nodes with a cost above 0 */
    struct pw_graph_transfer *transfers;
    size_t ntransfers;
    int32_t *order;
    size_t given_up;
    int64_t measured_ns; /* first start to last end of the steps replayed */
    int64_t first_ns;    /* the start of the first step */
    /* memory that `replay` points to */
    struct pw_replay_node *nodes;
    int64_t *starts;
};

/* Builds the graph from gathered parts, on process 0. Returns 0, -ENOMEM, or -ENODATA when there is
 * nothing to replay, or when collectives are asynchronous. */
int pw_graph_build(struct pw_graph *graph, struct pw_graph_parts *parts,
                   const struct pw_world *world, const struct pw_instances *instances);

void pw_graph_fini(struct pw_graph *graph);

#endif
