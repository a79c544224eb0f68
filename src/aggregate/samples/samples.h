/* What was sampled on all ranks, as rows of the cluster file: queues, processes and memory. One
 * pass over each file, block by block. */
#ifndef PW_AGGREGATE_SAMPLES_SAMPLES_H
#define PW_AGGREGATE_SAMPLES_SAMPLES_H

#include "aggregate/gpu/gpuseries.h"
#include "aggregate/output/clusterfile.h"
#include "aggregate/samples/pipelinequeues.h"
#include "aggregate/samples/usage.h"

struct pw_samples {
    struct pw_queues queues; /* rows: on all processes, by rank and place */
    struct pw_usages usages; /* rows and memory: likewise, by rank */
    struct pw_gpuseries gpus;
};

/* Collective. 0 or -ENOMEM, the same on all. Tables that end early are noted. */
int pw_samples_make(struct pw_samples *samples, struct pw_job *job);

/* Collective. */
void pw_samples_write(struct pw_clusterfile *file, const struct pw_procs *procs,
                      const struct pw_samples *samples);

void pw_samples_fini(struct pw_samples *samples);

#endif
