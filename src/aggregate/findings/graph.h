/* Builds the run's dependency graph for the replay (analysis/replay.h) on process 0, from the parts
 * that all processes gathered. findings.c builds the graph; whatif.c, slownetwork.c and
 * imbalancerows.c replay it. A graph does not change once it is built: a replay with changed nodes
 * uses a copy of them. No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_GRAPH_H
#define PW_AGGREGATE_FINDINGS_GRAPH_H

#include "aggregate/match/graphparts.h"
#include "analysis/replay.h"

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
