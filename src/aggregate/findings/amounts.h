/* The amount of work of each rank in each step: as given to profwrap_work(), else the bytes that
 * the rank moved in collectives with unequal parts (Alltoallv), else the mean size of its messages.
 * aggregate.c calls it on all processes together; process 0 gets the amounts, for imbalance.c.
 * Reads /samples/work. */
#ifndef PW_AGGREGATE_FINDINGS_AMOUNTS_H
#define PW_AGGREGATE_FINDINGS_AMOUNTS_H

#include "aggregate/input/job.h"
#include "aggregate/match/graphparts.h"
#include "aggregate/match/messages.h"

/* Filled on process 0, empty on the others. */
struct pw_amounts {
    int64_t *amount; /* [nsteps * nranks] of the job, -1: not known; NULL: nothing is known */
    const char *how; /* "given", "collectives" or "messages" */
};

/* `parts` are gathered. Collective. Returns 0 or -ENOMEM, the same on all processes. */
int pw_amounts_gather(struct pw_amounts *amounts, struct pw_job *job, const struct pw_pairs *pairs,
                      const struct pw_graph_parts *parts);

void pw_amounts_fini(struct pw_amounts *amounts);

#endif
