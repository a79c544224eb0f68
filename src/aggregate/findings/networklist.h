/* Transfers between hosts: which are alike, on which link each was, and what is usual for it.
 * Called by slownetwork.c on process 0. No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_NETWORKLIST_H
#define PW_AGGREGATE_FINDINGS_NETWORKLIST_H

#include "aggregate/findings/graph.h"

/* What one node's cost is: a message of a link, or a rank's part in a collective. */
struct pw_net_transfer {
    int64_t ns;
    int32_t node, step;
    int32_t kind;     /* number of those that are alike: operation, size, communicator's size */
    int32_t link;     /* number of the pair of ranks, or of the communicator */
    int32_t hosts[2]; /* of a message; -1: of a collective */
    uint8_t waited;   /* nothing hid it */
    uint8_t is_tail;  /* of pw_graph_transfer */
};

/* A pair of ranks, or a communicator. */
struct pw_net_link {
    int32_t ranks[2]; /* -1: a communicator */
    int32_t hosts[2];
    double excess_ns; /* of its transfers, over what is usual */
};

struct pw_net_list {
    struct pw_net_transfer *transfers;
    struct pw_net_link *links;
    double *usual_ns; /* [nkinds] */
    double *fast_ns;  /* [nkinds] the fastest 2 % took at most this; -1: not known */
    size_t n, nlinks, nkinds, nhosts;
    int64_t *host_of; /* [ranks] */
};

/* Those of measured steps that are between hosts. 0 or -ENOMEM; pw_net_list_fini() after either. */
int pw_net_list_make(struct pw_net_list *out, const struct pw_graph *graph,
                     const struct pw_world *world, const struct pw_instances *instances);

void pw_net_list_fini(struct pw_net_list *list);

#endif
