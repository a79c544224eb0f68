/* What process 0 concludes about the network: links, hosts and stretches of the run whose transfers
 * took longer than others like them, and what the replay says they cost. Called by findings.c, and
 * by aggregate.c when the samples are known. No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_SLOWNETWORK_H
#define PW_AGGREGATE_FINDINGS_SLOWNETWORK_H

#include "aggregate/findings/graph.h"

enum { PW_MOST_NETWORK = 10 };

struct pw_network {
    struct pw_row_c_network rows[PW_MOST_NETWORK]; /* most gain first */
    size_t n;
};

/* Rows gain a hundredth of the replayed steps or more. 0 or -ENOMEM. */
int pw_network_find(struct pw_network *out, const struct pw_graph *graph,
                    const struct pw_world *world, const struct pw_instances *instances);

/* Ranks that wait for CPUs are unsteady in MPI, too. Drops what is `unsteady`, unless each of the
 * `nranks` ranks was seen to wait for a CPU for at most 5 % of its time. */
void pw_network_drop_contended(struct pw_network *network, size_t nranks,
                               const struct pw_row_c_utilisation *rows, size_t n);

#endif
