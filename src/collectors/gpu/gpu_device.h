/* The table of the GPUs that the program can use, and the rows of /devices. gpu_tool.c adds the
 * devices that the application reported; the vendor's collector completes a row before it is
 * written. Tool half; it only keeps rows and writes them at the end. */
#ifndef PW_GPU_DEVICE_H
#define PW_GPU_DEVICE_H

#include "rank/collect/collector.h"

enum { PW_GPU_DEVICES = 64 };

struct pw_gpu_devices;

/* Returns NULL when memory is short. */
struct pw_gpu_devices *pw_gpu_devices_create(struct pw_rankfile *file);

/* Adds the device of a PW_REC_GPU_DEVICE. `identify` fills in the fields that only the vendor's
 * collector knows. */
void pw_gpu_devices_add(struct pw_gpu_devices *devices, const struct pw_record *record,
                        const struct pw_origin *origin,
                        void (*identify)(const struct pw_record *record,
                                         struct pw_row_device *row));

/* Marks the device with this number as used. */
void pw_gpu_devices_use(struct pw_gpu_devices *devices, unsigned number);

/* Returns the row of the device so far; NULL when nothing ran on it or it was not reported. */
struct pw_row_device *pw_gpu_devices_used(struct pw_gpu_devices *devices, unsigned number);

/* Writes the rows of /devices. */
void pw_gpu_devices_finish(struct pw_gpu_devices *devices);

void pw_gpu_devices_destroy(struct pw_gpu_devices *devices);

#endif
