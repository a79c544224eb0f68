/* A thread that reads NVML, so that the collector does not wait for it: nvmlInit() takes seconds on
 * some hosts, and calls for a lost GPU may never return. The collector requests samples, takes
 * finished ones, and learns of gaps. Used by cuda_tool.c. */
#ifndef PW_NVML_H
#define PW_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "core/tables.h"

/* A thread that reads NVML, so that the collector does not wait for it: nvmlInit() takes seconds on
 * some hosts, and calls for a lost GPU may never return. The collector requests samples, takes
 * finished ones, and learns of gaps. */

struct pw_nvml_sampler;

/* An interval without samples, because NVML had not finished an earlier one. */
struct pw_nvml_gap {
    int64_t start, end; /* ns: request of the first missing sample; time at which NVML returned */
    int64_t lost;       /* number of missing samples, each of one device */
};

/* A sample that takes longer is a gap. Also the longest wait for the last sample at the end. */
#define PW_NVML_LATE_NS ((int64_t)1000000000)

/* Returns NULL when memory is short. */
struct pw_nvml_sampler *pw_nvml_sampler_create(void);

/* Adds a GPU, "GPU-xxxxxxxx-...", to the samples. The first one starts the thread. */
void pw_nvml_sampler_add(struct pw_nvml_sampler *sampler, int device, const char *uuid);

/* Requests a sample of all GPUs. While NVML has not finished an earlier one, only counts it as
 * missing. */
void pw_nvml_sampler_ask(struct pw_nvml_sampler *sampler, int64_t now_ns);

/* Takes the next finished row. Returns false when there is none. */
bool pw_nvml_sampler_take(struct pw_nvml_sampler *sampler, struct pw_row_gpu *row);

/* Takes the next gap that has ended. Returns false when there is none. */
bool pw_nvml_sampler_gap(struct pw_nvml_sampler *sampler, struct pw_nvml_gap *gap);

/* Takes the next error that the driver reported. Returns false when there is none. */
bool pw_nvml_sampler_error(struct pw_nvml_sampler *sampler, struct pw_row_gpu_error *error);

/* Fills in the device's address on the PCI bus, and whether GPM measured it; "": not known. Returns
 * whether it is an instance of a divided GPU. */
bool pw_nvml_sampler_describe(struct pw_nvml_sampler *sampler, int device,
                              struct pw_row_device *row);

/* Waits for the current sample, at most PW_NVML_LATE_NS, and ends the last gap. If NVML does not
 * return, the thread is abandoned. Rows and gaps can be taken afterwards. */
void pw_nvml_sampler_stop(struct pw_nvml_sampler *sampler, int64_t now_ns);

struct pw_nvml_costs {
    int64_t missed;   /* samples that were requested and not read, including those of gaps */
    double sample_ns; /* time that a sample took; 0: none was read */
};
void pw_nvml_sampler_costs(struct pw_nvml_sampler *sampler, struct pw_nvml_costs *out);

/* Stops the thread first. Memory that an abandoned thread may still use is not freed. */
void pw_nvml_sampler_destroy(struct pw_nvml_sampler *sampler);

#endif
