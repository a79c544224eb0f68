/* Each GPU of a rank for itself. */
#ifndef PW_AGGREGATE_GPU_GPUDEVICES_H
#define PW_AGGREGATE_GPU_GPUDEVICES_H

#include "aggregate/input/input.h"
#include "aggregate/input/job.h"
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

#endif
