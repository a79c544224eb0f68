/* The gates of the run's dependency graph (analysis/replay.h): a collective, one direction of a
 * matched message, or the return of a receiver into MPI. Also decides which sends wait for their
 * receive. Called by graph.c, which builds the nodes that add to gates and wait for them. No MPI,
 * no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_GATES_H
#define PW_AGGREGATE_FINDINGS_GATES_H

#include "aggregate/match/graphparts.h"

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

#endif
