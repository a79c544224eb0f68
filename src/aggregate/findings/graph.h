/* The run's dependency graph for the replay (analysis/replay.h), built on process 0 of the parts
 * that all processes gathered; and which sends wait for their receive. findings.c builds it;
 * whatif.c, slownetwork.c and imbalancerows.c replay it. A graph does not change once it is built:
 * a replay that changes nodes has a copy of them. No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_GRAPH_H
#define PW_AGGREGATE_FINDINGS_GRAPH_H

#include "aggregate/match/graphparts.h"
#include "analysis/replay.h"

/* ---- which sends wait for their receive ---- */

enum { PW_SENDMODE_SIZES = 520 }; /* eighths of powers of two */

/* How many of the sends that stood still before their receive came waited for it, and how many had
 * left by then; by size. */
struct pw_sendmode {
    int64_t waited[PW_SENDMODE_SIZES], left[PW_SENDMODE_SIZES];
};

void pw_sendmode_see(struct pw_sendmode *mode, const struct pw_graph_op *send,
                     const struct pw_graph_op *receive);

/* 1: it would wait, were the receive late: it is synchronous, or 9 of 10 of its size did, of 3 or
 * more. */
int pw_sendmode_waits(const struct pw_sendmode *mode, const struct pw_graph_op *send);

/* What a node's cost is of: a rank's part in a collective, or, of the messages that one call
 * completed, the last to be begun, or the last between hosts. */
struct pw_graph_transfer {
    int64_t instance, size; /* instance -1: a message */
    int32_t node, peer;     /* peer: world rank of a message; -1: not known */
    uint16_t op;
    uint8_t receives, waited; /* waited: the rank was there before its partner */
    uint8_t is_tail;          /* a message within the host, of the same call, was begun after it */
};

struct pw_graph {
    struct pw_replay_graph replay;
    struct pw_graph_transfer *transfers; /* in the order of nodes; costs above 0 only */
    size_t ntransfers;
    int32_t *order;
    size_t given_up;
    int64_t measured_ns; /* first start to last end of the steps replayed */
    int64_t first_ns;    /* the first start */
    /* owned memory behind `replay` */
    struct pw_replay_node *nodes;
    int64_t *starts;
};

/* Builds the graph of gathered parts; for process 0. 0, -ENODATA when there is nothing to replay
 * or collectives are asynchronous, or -ENOMEM. */
int pw_graph_build(struct pw_graph *graph, struct pw_graph_parts *parts,
                   const struct pw_world *world, const struct pw_instances *instances);

void pw_graph_fini(struct pw_graph *graph);

#endif
