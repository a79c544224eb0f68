/* The map from each clock domain to the cluster clock, from the measurements that were made during
 * the run and from the order of events. Called by aggregate.c on all processes together, before
 * times of different ranks are compared. To use the order of events it reads them once more. The
 * maps are the same for every number of processes. */
#ifndef PW_AGGREGATE_CLOCKS_ALIGNMENT_H
#define PW_AGGREGATE_CLOCKS_ALIGNMENT_H

#include "aggregate/match/instances.h"

struct pw_alignment {
    struct pw_row_c_clock *ranks; /* [job->nranks] */
    struct pw_row_c_clock_knot *knots;
    size_t nknots;
};

/* Gives every input of the job its map, and the job its epoch and clock errors. `instances` are
 * numbered, not yet built. Collective over job->comm. 0 or -ENOMEM, the same on all processes. */
int pw_alignment_make(struct pw_alignment *alignment, struct pw_job *job,
                      const struct pw_instances *instances);

void pw_alignment_fini(struct pw_alignment *alignment);

#endif
