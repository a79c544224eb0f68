/* The transfers between hosts: the kind and the link of each, and the usual time of each kind.
 * Called by slownetwork.c on process 0. No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_NETWORKLIST_H
#define PW_AGGREGATE_FINDINGS_NETWORKLIST_H

#include "aggregate/findings/graph.h"

/* The transfer that is the cost of a node: a message, or a rank's part in a collective. */
struct pw_net_transfer {
    int64_t ns;
    int32_t node, step;
    int32_t kind;     /* number of the kind: same operation, size class and number of members */
    int32_t link;     /* number of the pair of ranks, or of the communicator */
    int32_t hosts[2]; /* the hosts of a message; -1: a collective */
    uint8_t waited;   /* 1: the transfer was not hidden */
    uint8_t is_tail;  /* see struct pw_graph_transfer */
};

/* A pair of ranks, or a communicator. */
struct pw_net_link {
    int32_t ranks[2]; /* -1: a communicator */
    int32_t hosts[2];
    double excess_ns; /* of its transfers above the usual time */
};

struct pw_net_list {
    struct pw_net_transfer *transfers;
    struct pw_net_link *links;
    double *usual_ns; /* [nkinds] usual time of a transfer */
    double *fast_ns;  /* [nkinds] the fastest 2 % took at most this; -1: not known */
    size_t n, nlinks, nkinds, nhosts;
    int64_t *host_of; /* [ranks] */
};

/* Lists the transfers between hosts in the graph's steps. Returns 0 or -ENOMEM; call
 * pw_net_list_fini() in both cases. */
int pw_net_list_make(struct pw_net_list *out, const struct pw_graph *graph,
                     const struct pw_world *world, const struct pw_instances *instances);

void pw_net_list_fini(struct pw_net_list *list);

#endif
