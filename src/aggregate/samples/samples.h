/* Makes the rows of the cluster file from samples of all ranks: queues, processes, memory and GPUs.
 * Called by aggregate.c on all processes together. One pass over each file, block by block. */
#ifndef PW_AGGREGATE_SAMPLES_SAMPLES_H
#define PW_AGGREGATE_SAMPLES_SAMPLES_H

#include "aggregate/input/cursor.h"
#include "aggregate/output/clusterfile.h"
#include "aggregate/samples/pipelinequeues.h"
#include "aggregate/samples/reported.h"
#include "aggregate/samples/usage.h"

/* ---- clocks, power and temperature of GPUs over the run ---- */

/* The rows of this process's ranks, sorted by rank, device and time. */
struct pw_gpuseries {
    struct pw_row_c_gpu_series *rows;
    size_t n;
};

/* Adds the rows of one rank, at most `points`, but at least one for each device. Returns 0,
 * -ENOMEM, or another -errno when the table is damaged; then the rows before the damage were
 * added. */
int pw_gpuseries_read(struct pw_gpuseries *series, const struct pw_openfile *file, size_t points);

void pw_gpuseries_fini(struct pw_gpuseries *series);

struct pw_samples {
    struct pw_queues queues; /* `rows` is the same on all processes, sorted by rank and place */
    struct pw_usages usages; /* `rows` and `memory` are the same on all processes, sorted by rank */
    struct pw_gpuseries gpus;
    struct pw_hccl hccl;         /* on all processes */
    struct pw_reported reported; /* the same on all processes */
};

/* Reads the samples of all ranks. Collective. Returns 0 or -ENOMEM, the same on all processes.
 * Damaged tables are noted. */
int pw_samples_make(struct pw_samples *samples, struct pw_job *job);

/* Collective. */
void pw_samples_write(struct pw_clusterfile *file, const struct pw_procs *procs,
                      const struct pw_samples *samples);

void pw_samples_fini(struct pw_samples *samples);

#endif
