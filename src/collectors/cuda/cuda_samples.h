/* Takes samples of the GPUs that the program uses, with the thread that reads NVML
 * (nvml_sampler.h), and writes them into the rank's file. Called by gpu_tool.c in the collector. It
 * never waits for NVML, except one second at the end. */
#ifndef PW_CUDA_SAMPLES_H
#define PW_CUDA_SAMPLES_H

#include "collectors/gpu/gpu_device.h"

/* As in struct pw_gpu_vendor. NULL when memory is short. */
void *pw_cuda_samples_create(struct pw_rankfile *file, struct pw_gpu_devices *devices);

/* Requests a sample of each device in use, and appends rows of /samples/gpu for those that are
 * finished. Never waits for NVML. */
void pw_cuda_samples_take(void *samples, int64_t now_ns);

/* Appends the last samples, and sets the bus addresses of the devices from NVML. */
void pw_cuda_samples_finish(void *samples, int64_t end_ns);

void pw_cuda_samples_destroy(void *samples);

#endif
