/* How much work each rank had in each step: what profwrap_work() said, else the bytes that it moved
 * in collectives of unequal parts (Alltoallv), else the mean size of its messages. aggregate.c has
 * the amounts gathered, on all processes together; process 0 alone has them, for imbalance.c. Reads
 * /samples/work. */
#ifndef PW_AGGREGATE_FINDINGS_AMOUNTS_H
#define PW_AGGREGATE_FINDINGS_AMOUNTS_H

#include "aggregate/input/job.h"
#include "aggregate/match/graphparts.h"
#include "aggregate/match/messages.h"

/* On process 0; the others have none. */
struct pw_amounts {
    int64_t *amount; /* [nsteps * nranks] of the job, -1: not known; NULL: nothing is known */
    const char *how; /* "given", "collectives" or "messages" */
};

/* `parts` are gathered. Collective. 0 or -ENOMEM, the same on all. */
int pw_amounts_gather(struct pw_amounts *amounts, struct pw_job *job, const struct pw_pairs *pairs,
                      const struct pw_graph_parts *parts);

void pw_amounts_fini(struct pw_amounts *amounts);

#endif
