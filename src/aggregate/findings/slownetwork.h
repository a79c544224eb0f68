/* Finds the links, hosts and stretches of the run whose transfers took longer than other transfers
 * of the same kind. Computes their cost by the replay. Called by findings.c, and by aggregate.c
 * when the samples are known; on process 0. No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_SLOWNETWORK_H
#define PW_AGGREGATE_FINDINGS_SLOWNETWORK_H

#include "aggregate/findings/graph.h"

enum { PW_MOST_NETWORK = 10 };

struct pw_network {
    struct pw_row_c_network rows[PW_MOST_NETWORK]; /* largest gain first */
    size_t n;
};

/* Finds the rows with a gain of at least 1 % of the replayed steps. Returns 0 or -ENOMEM. */
int pw_network_find(struct pw_network *out, const struct pw_graph *graph,
                    const struct pw_world *world, const struct pw_instances *instances);

/* Drops the rows with scope "unsteady" unless, by the samples, each of the `nranks` ranks waited
 * for a CPU for at most 5 % of its time: ranks that wait for CPUs make transfers unsteady, too. */
void pw_network_drop_contended(struct pw_network *network, size_t nranks,
                               const struct pw_row_c_utilisation *rows, size_t n);

#endif
