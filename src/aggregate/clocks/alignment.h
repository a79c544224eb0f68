/* Makes the map from each clock domain to the cluster clock, from measurements during the run and
 * from the order of events. Called by aggregate.c on all processes together, before times of
 * different ranks are compared. The events are read once more for this. The maps are the same for
 * every number of processes. */
#ifndef PW_AGGREGATE_CLOCKS_ALIGNMENT_H
#define PW_AGGREGATE_CLOCKS_ALIGNMENT_H

#include "aggregate/match/instances.h"

struct pw_alignment {
    struct pw_row_c_clock *ranks; /* [job->nranks] */
    struct pw_row_c_clock_knot *knots;
    size_t nknots;
};

/* Sets the map of every input of the job, and the epoch and the clock errors of the job.
 * `instances` are numbered, not yet built. Collective over job->comm. Returns 0 or -ENOMEM, the
 * same on all processes. */
int pw_alignment_make(struct pw_alignment *alignment, struct pw_job *job,
                      const struct pw_instances *instances);

void pw_alignment_fini(struct pw_alignment *alignment);

#endif
