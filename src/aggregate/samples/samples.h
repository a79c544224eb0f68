/* What was sampled on all ranks, as rows of the cluster file: queues, processes, memory and GPUs.
 * Called by aggregate.c on all processes together. One pass over each file, block by block. */
#ifndef PW_AGGREGATE_SAMPLES_SAMPLES_H
#define PW_AGGREGATE_SAMPLES_SAMPLES_H

#include "aggregate/input/cursor.h"
#include "aggregate/output/clusterfile.h"
#include "aggregate/samples/pipelinequeues.h"
#include "aggregate/samples/usage.h"

/* ---- clocks, power and temperature of GPUs over the run ---- */

/* Rows of all ranks of this process, by rank, device and time. */
struct pw_gpuseries {
    struct pw_row_c_gpu_series *rows;
    size_t n;
};

/* Adds one rank's, at most `points` of them where it used no more devices than that. 0, -ENOMEM, or
 * another -errno when the table ends early: what could be read is in then. */
int pw_gpuseries_read(struct pw_gpuseries *series, const struct pw_openfile *file, size_t points);

void pw_gpuseries_fini(struct pw_gpuseries *series);

struct pw_samples {
    struct pw_queues queues; /* rows: on all processes, by rank and place */
    struct pw_usages usages; /* rows and memory: on all processes, by rank */
    struct pw_gpuseries gpus;
};

/* Collective. 0 or -ENOMEM, the same on all. Tables that end early are noted. */
int pw_samples_make(struct pw_samples *samples, struct pw_job *job);

/* Collective. */
void pw_samples_write(struct pw_clusterfile *file, const struct pw_procs *procs,
                      const struct pw_samples *samples);

void pw_samples_fini(struct pw_samples *samples);

#endif
