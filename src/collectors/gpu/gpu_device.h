/* The GPUs that the program can use: it owns the rows of /devices. gpu_tool.c adds what the
 * application reported, and a maker's collector completes a row before it is written. Tool half. */
#ifndef PW_GPU_DEVICE_H
#define PW_GPU_DEVICE_H

#include "rank/collect/collector.h"

enum { PW_GPU_DEVICES = 64 };

struct pw_gpu_devices;

/* NULL when memory is short. */
struct pw_gpu_devices *pw_gpu_devices_create(struct pw_rankfile *file);

/* Adds the device of a PW_REC_GPU_DEVICE. `identify` fills in what only the maker's collector
 * knows. */
void pw_gpu_devices_add(struct pw_gpu_devices *devices, const struct pw_record *record,
                        const struct pw_origin *origin,
                        void (*identify)(const struct pw_record *record,
                                         struct pw_row_device *row));

/* Something ran on the device with this number. */
void pw_gpu_devices_use(struct pw_gpu_devices *devices, unsigned number);

/* Its row so far; NULL: nothing ran on it, or nothing else is known of it. */
struct pw_row_device *pw_gpu_devices_used(struct pw_gpu_devices *devices, unsigned number);

/* Rows of /devices. */
void pw_gpu_devices_finish(struct pw_gpu_devices *devices);

void pw_gpu_devices_destroy(struct pw_gpu_devices *devices);

#endif
