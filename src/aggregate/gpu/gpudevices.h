/* Each GPU of a rank: what ran on it, its samples, and whether it is well. gputrace.c fills it
 * while it reads the GPU events of a rank; aggregate.c gathers the rows and has the notes written.
 * A table that cannot be read counts as empty. */
#ifndef PW_AGGREGATE_GPU_GPUDEVICES_H
#define PW_AGGREGATE_GPU_GPUDEVICES_H

#include "aggregate/input/input.h"
#include "aggregate/input/job.h"
#include "analysis/gpusamples.h"
#include "analysis/gputime.h"

enum { PW_GPUDEVICES_MOST = 64 };

struct pw_gpudevices;

/* NULL when memory is short. */
struct pw_gpudevices *pw_gpudevices_create(const struct pw_input *input);

void pw_gpudevices_kernel(struct pw_gpudevices *devices, const struct pw_row_kernel *kernel);
void pw_gpudevices_copy(struct pw_gpudevices *devices, const struct pw_row_memcpy *copy);

/* In the order of their starts. */
void pw_gpudevices_activity(struct pw_gpudevices *devices, const struct pw_gpu_activity *activity);

/* After the last activity: completes the rank's row, and makes a row of each GPU that was used.
 * Their number. */
size_t pw_gpudevices_finish(struct pw_gpudevices *devices, struct pw_row_c_gpu_rank *rank,
                            struct pw_row_c_gpu_device rows[PW_GPUDEVICES_MOST]);

void pw_gpudevices_destroy(struct pw_gpudevices *devices);

/* All processes' rows, by rank and device. Collective. Their number. */
size_t pw_gpudevices_gather(const struct pw_procs *procs, const struct pw_row_c_gpu_device *mine,
                            size_t nmine, struct pw_row_c_gpu_device **all);

/* ---- the devices of a rank, and the samples of their clocks ---- */

/* Fills in devices and clocks; what the file does not have stays 0, clocks -1. */
void pw_gpuclocks_read(const struct pw_input *input, struct pw_row_c_gpu_rank *row);

/* ---- GPUs that are not well, for /completeness ---- */

/* Notes gpu_errors for each rank whose GPUs had errors: XIDs, uncorrectable ECC errors and errors
 * of NVLink in the run, and rows of memory that wait to be remapped or could not be. Notes
 * gpu_slowed for each rank whose GPUs' clocks were lowered by heat or by the power brake. */
void pw_gpuhealth_note(struct pw_job *job);

#endif
