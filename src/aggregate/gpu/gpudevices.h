/* Each GPU of a rank: its activities, its samples, and its errors. gputrace.c calls it while it
 * reads the GPU events of a rank; aggregate.c gathers the rows and calls pw_gpuhealth_note(). A
 * table that cannot be read counts as empty. */
#ifndef PW_AGGREGATE_GPU_GPUDEVICES_H
#define PW_AGGREGATE_GPU_GPUDEVICES_H

#include "aggregate/input/input.h"
#include "aggregate/input/job.h"
#include "analysis/gpu.h"

enum { PW_GPUDEVICES_MOST = 64 };

struct pw_gpudevices;

/* Creates the devices of a rank. NULL when memory is short. */
struct pw_gpudevices *pw_gpudevices_create(const struct pw_input *input);

void pw_gpudevices_kernel(struct pw_gpudevices *devices, const struct pw_row_kernel *kernel);
void pw_gpudevices_copy(struct pw_gpudevices *devices, const struct pw_row_memcpy *copy);

/* Adds an activity. Activities come in the order of their starts. */
void pw_gpudevices_activity(struct pw_gpudevices *devices, const struct pw_gpu_activity *activity);

/* After the last activity: completes the rank's row, and makes a row for each GPU that was used.
 * Returns the number of rows. */
size_t pw_gpudevices_finish(struct pw_gpudevices *devices, struct pw_row_c_gpu_rank *rank,
                            struct pw_row_c_gpu_device rows[PW_GPUDEVICES_MOST]);

void pw_gpudevices_destroy(struct pw_gpudevices *devices);

/* Gathers the rows of all processes, sorted by rank and device, in *all (malloc'ed). Collective.
 * Returns how many. */
size_t pw_gpudevices_gather(const struct pw_procs *procs, const struct pw_row_c_gpu_device *mine,
                            size_t nmine, struct pw_row_c_gpu_device **all);

/* ---- the devices of a rank, and the samples of their clocks ---- */

/* Fills in the number of devices and the clocks; 0 and -1 when the file has no samples. */
void pw_gpuclocks_read(const struct pw_input *input, struct pw_row_c_gpu_rank *row);

/* ---- GPUs with errors, or with lowered clocks, for /completeness ---- */

/* Notes gpu_errors for each rank whose GPUs had errors: XIDs, uncorrectable ECC errors and errors
 * of NVLink in the run, and rows of memory that wait to be remapped or could not be. Notes
 * gpu_slowed for each rank whose GPUs' clocks were lowered by heat or by the power brake. */
void pw_gpuhealth_note(struct pw_job *job);

#endif
