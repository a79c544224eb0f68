/* The GPUs that the program can use, as CUPTI says; and of those it uses, samples by NVML. */
#ifndef PW_CUDA_DEVICE_H
#define PW_CUDA_DEVICE_H

#include "rank/collect/collector.h"

struct pw_cuda_devices;

/* NULL when memory is short. */
struct pw_cuda_devices *pw_cuda_devices_create(struct pw_rankfile *file);

/* Of PW_REC_GPU_DEVICE. */
void pw_cuda_devices_add(struct pw_cuda_devices *devices, const struct pw_record *record,
                         const struct pw_origin *origin);

/* Something ran on the device with this number. */
void pw_cuda_devices_use(struct pw_cuda_devices *devices, unsigned number);

/* Asks for a row of /samples/gpu for each device in use, and appends those that are there. Never
 * waits for NVML. */
void pw_cuda_devices_sample(struct pw_cuda_devices *devices, int64_t now_ns);

/* Rows of /devices, and the last samples. */
void pw_cuda_devices_finish(struct pw_cuda_devices *devices, int64_t end_ns);

void pw_cuda_devices_destroy(struct pw_cuda_devices *devices);

#endif
