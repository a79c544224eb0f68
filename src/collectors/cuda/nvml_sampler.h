/* A thread that reads NVML, so that nothing waits for it: nvmlInit takes seconds on some nodes, and
 * a GPU that is lost keeps a call from returning. The collector asks for samples, takes those that
 * are finished, and learns which it does not get. Used by cuda_samples.c. */
#ifndef PW_NVML_SAMPLER_H
#define PW_NVML_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/tables.h"

struct pw_nvml_sampler;

/* What is not sampled: NVML was still at an earlier sample. */
struct pw_nvml_gap {
    int64_t start, end; /* ns: when the first of them was asked for; when it answered again */
    int64_t lost;       /* samples, of a device each */
};

/* Calls that take longer are a gap; so long, too, is waited for the last at the end. */
#define PW_NVML_LATE_NS ((int64_t)1000000000)

/* NULL when memory is short. */
struct pw_nvml_sampler *pw_nvml_sampler_create(void);

/* From now on samples are also of this GPU, "GPU-xxxxxxxx-...". The first starts the thread. */
void pw_nvml_sampler_add(struct pw_nvml_sampler *sampler, int device, const char *uuid);

/* All GPUs are to be read now. Does nothing while NVML is at an earlier sample, but counts. */
void pw_nvml_sampler_ask(struct pw_nvml_sampler *sampler, int64_t now_ns);

/* The next row that is finished. False: there is none yet. */
bool pw_nvml_sampler_take(struct pw_nvml_sampler *sampler, struct pw_row_gpu *row);

/* The next gap that is over. False: there is none. */
bool pw_nvml_sampler_gap(struct pw_nvml_sampler *sampler, struct pw_nvml_gap *gap);

/* The next error that the driver told of. False: there is none. */
bool pw_nvml_sampler_error(struct pw_nvml_sampler *sampler, struct pw_row_gpu_error *error);

/* Fills in the device's place on the PCI bus, and whether it was measured (GPM); "" not known.
 * Whether it is an instance of a divided GPU. */
bool pw_nvml_sampler_describe(struct pw_nvml_sampler *sampler, int device,
                              struct pw_row_device *row);

/* Waits for the sample that is being read, and ends the last gap. When that takes too long the
 * thread is left to itself. Rows and gaps can be taken afterwards. */
void pw_nvml_sampler_stop(struct pw_nvml_sampler *sampler, int64_t now_ns);

struct pw_nvml_costs {
    int64_t missed;   /* samples that were asked for and not read, those of gaps too */
    double sample_ns; /* what one took; 0 none was read */
};
void pw_nvml_sampler_costs(struct pw_nvml_sampler *sampler, struct pw_nvml_costs *out);

/* Stops first. What a thread still uses that does not answer is left to it. */
void pw_nvml_sampler_destroy(struct pw_nvml_sampler *sampler);

#endif
