/* Collectives whose ranks send unequal parts (Alltoallv and its like) as if the parts were equal.
 * Called by whatif.c on process 0. Pure arithmetic: no MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_UNEQUALPARTS_H
#define PW_AGGREGATE_FINDINGS_UNEQUALPARTS_H

#include "aggregate/findings/graph.h"

/* Changes the costs of collectives in `nodes`, a copy of the graph's, to those with equal parts: a
 * transfer takes as long as its largest part. Returns 0 or -ENOMEM. */
int pw_unequalparts_share(const struct pw_graph *graph, const struct pw_instances *in,
                          struct pw_replay_node *nodes);

#endif
