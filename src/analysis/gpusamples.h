/* What samples of one GPU say of it over the run: memory, power, heat, clocks, and what NVML
 * measured on it (GPM). */
#ifndef PW_ANALYSIS_GPUSAMPLES_H
#define PW_ANALYSIS_GPUSAMPLES_H

#include "analysis/gpuclocks.h"

enum { PW_GPM_METRICS = 12 };

/* A sum over samples, and how much they weigh. */
struct pw_gpu_mean {
    double sum, weight;
};

/* Something that only grows: when it was first read, and last; both 0: never. */
struct pw_gpu_counter {
    int64_t first, last;
    int is_known;
};

/* {0} is of no samples. */
struct pw_gpu_samples {
    struct pw_gpu_clocks clocks;
    struct pw_gpu_mean power_mw, gpm[PW_GPM_METRICS];
    int64_t memory_most, power_most_mw, temperature_most; /* 0: never read */
    int64_t gpm_ns;
    struct pw_gpu_counter power_capped, heat, brake;
};

void pw_gpu_samples_add(struct pw_gpu_samples *samples, const struct pw_row_gpu *sample);

/* The mean of what is measured, in the order of PW_GPM_FIELDS; -1: not known. */
double pw_gpu_mean_value(const struct pw_gpu_mean *mean);

/* Fills in what samples say; -1 where nothing does. */
void pw_gpu_samples_fill(const struct pw_gpu_samples *samples, struct pw_row_c_gpu_device *out);

#endif
