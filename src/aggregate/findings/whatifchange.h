/* The replay of a run with balanced work: between roles, between ranks in each step, or with equal
 * parts of the collectives whose parts differ. Called by whatif.c. The graph of the run is not
 * changed. No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_WHATIFCHANGE_H
#define PW_AGGREGATE_FINDINGS_WHATIFCHANGE_H

#include "aggregate/findings/whatif.h"

/* Returns the length of the job with the change, ns, or -ENOMEM. `works` is from
 * pw_replay_sum_works(). */
int64_t pw_whatif_replay_change(const struct pw_graph *graph, const struct pw_instances *in,
                                const int64_t *works, const struct pw_whatif_change *change);

#endif
