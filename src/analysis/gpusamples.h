/* Sums up the samples of one GPU: its clocks and the reasons that lowered them, memory, power,
 * temperature, and NVML's metrics (GPM). Called by aggregate/gpu, and by cause.h for the clocks.
 * Sums only: no I/O, no allocation; the caller reads the samples and keeps the sums. */
#ifndef PW_ANALYSIS_GPUSAMPLES_H
#define PW_ANALYSIS_GPUSAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

/* Bits of clock_reasons as NVML numbers them. */
enum {
    PW_CLOCKS_IDLE = 0x1,
    PW_CLOCKS_POWER_CAP = 0x4,
    PW_CLOCKS_HARDWARE = 0x8,
    PW_CLOCKS_THERMAL = 0x20,
    PW_CLOCKS_HARDWARE_THERMAL = 0x40,
    PW_CLOCKS_POWER_BRAKE = 0x80,
    PW_CLOCKS_SLOWED = PW_CLOCKS_POWER_CAP | PW_CLOCKS_HARDWARE | PW_CLOCKS_THERMAL |
                       PW_CLOCKS_HARDWARE_THERMAL | PW_CLOCKS_POWER_BRAKE,
    PW_CLOCKS_BITS = 9,
};

/* {0}: no samples yet. Samples of an idle GPU, or without a clock, do not count. */
struct pw_gpu_clocks {
    int64_t samples, mhz, slowed; /* number of samples; sum of clocks, MHz; number of samples slowed
                                     by heat or power */
    int64_t by_bit[PW_CLOCKS_BITS];
};

void pw_gpu_clocks_add(struct pw_gpu_clocks *clocks, const struct pw_row_gpu *sample);

/* Mean clock, MHz; -1 without samples. */
double pw_gpu_clocks_mean(const struct pw_gpu_clocks *clocks);

/* The bits of PW_CLOCKS_SLOWED that are set in at least a tenth of the samples. */
uint64_t pw_gpu_clocks_reasons(const struct pw_gpu_clocks *clocks);

/* The first of the reasons in words, such as "heat"; "" when there is none of PW_CLOCKS_SLOWED. */
const char *pw_gpu_clocks_word(uint64_t reasons);

/* All samples of a GPU over the run. */

enum { PW_GPM_METRICS = 12 };

/* A weighted sum over samples, and the sum of the weights. */
struct pw_gpu_mean {
    double sum, weight;
};

/* A counter that only grows: its first and its last value; both 0: it was never read. */
struct pw_gpu_counter {
    int64_t first, last;
    int is_known;
};

/* {0}: no samples yet. */
struct pw_gpu_samples {
    struct pw_gpu_clocks clocks;
    struct pw_gpu_mean power_mw, gpm[PW_GPM_METRICS];
    int64_t memory_most, power_most_mw, temperature_most; /* 0: never read */
    int64_t gpm_ns;
    struct pw_gpu_counter power_capped, heat, brake;
};

void pw_gpu_samples_add(struct pw_gpu_samples *samples, const struct pw_row_gpu *sample);

/* The weighted mean; -1: not known. */
double pw_gpu_mean_value(const struct pw_gpu_mean *mean);

/* Fills the members of *out that come from samples; -1 when no sample has the value. */
void pw_gpu_samples_fill(const struct pw_gpu_samples *samples, struct pw_row_c_gpu_device *out);

#endif
