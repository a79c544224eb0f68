/* What samples of a GPU say of its clocks, and why these were not higher. */
#ifndef PW_ANALYSIS_GPUCLOCKS_H
#define PW_ANALYSIS_GPUCLOCKS_H

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

/* {0} is of no samples. Samples of an idle GPU, or without a clock, do not count. */
struct pw_gpu_clocks {
    int64_t samples, mhz, slowed; /* their number, sum of clocks, those that heat or power slows */
    int64_t by_bit[PW_CLOCKS_BITS];
};

void pw_gpu_clocks_add(struct pw_gpu_clocks *clocks, const struct pw_row_gpu *sample);

/* Mean clock, MHz; -1 without samples. */
double pw_gpu_clocks_mean(const struct pw_gpu_clocks *clocks);

/* Those of PW_CLOCKS_SLOWED that are on in at least a tenth of the samples. */
uint64_t pw_gpu_clocks_reasons(const struct pw_gpu_clocks *clocks);

/* "heat" and the like for the first of the reasons; "" for none of PW_CLOCKS_SLOWED. */
const char *pw_gpu_clocks_word(uint64_t reasons);

#endif
