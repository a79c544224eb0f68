/* Samples of the GPUs that the program uses: it owns the thread that reads NVML (nvml_sampler.h),
 * and writes its samples into the rank's file. gpu_tool.c calls it in the collector. It never
 * waits for NVML, except one second at the end. */
#ifndef PW_CUDA_SAMPLES_H
#define PW_CUDA_SAMPLES_H

#include "collectors/gpu/gpu_device.h"

/* As in struct pw_gpu_vendor. NULL when memory is short. */
void *pw_cuda_samples_create(struct pw_rankfile *file, struct pw_gpu_devices *devices);

/* Asks for a row of /samples/gpu for each device in use, and appends those that are there. Never
 * waits for NVML. */
void pw_cuda_samples_take(void *samples, int64_t now_ns);

/* The last samples, and what NVML knows of the devices' places. */
void pw_cuda_samples_finish(void *samples, int64_t end_ns);

void pw_cuda_samples_destroy(void *samples);

#endif
