/* Sums up clock samples; see gpuclocks.h. */
#include "analysis/gpuclocks.h"

void pw_gpu_clocks_add(struct pw_gpu_clocks *c, const struct pw_row_gpu *sample)
{
    enum { HIGHEST_MHZ = 1000000 };
    uint64_t reasons = sample->clock_reasons;
    if (sample->sm_clock_mhz <= 0 || sample->sm_clock_mhz > HIGHEST_MHZ)
        return;
    if (reasons == UINT64_MAX) /* not readable */
        reasons = 0;
    if (reasons & PW_CLOCKS_IDLE)
        return;
    c->samples++;
    c->mhz += sample->sm_clock_mhz;
    c->slowed += (reasons & PW_CLOCKS_SLOWED) != 0;
    for (int bit = 0; bit < PW_CLOCKS_BITS; bit++)
        c->by_bit[bit] += (int64_t)(reasons >> bit & 1);
}

double pw_gpu_clocks_mean(const struct pw_gpu_clocks *c)
{
    return c->samples ? (double)c->mhz / (double)c->samples : -1;
}

uint64_t pw_gpu_clocks_reasons(const struct pw_gpu_clocks *c)
{
    uint64_t reasons = 0;
    for (int bit = 0; bit < PW_CLOCKS_BITS; bit++)
        if (c->by_bit[bit] > 0 && 10 * c->by_bit[bit] >= c->samples)
            reasons |= (uint64_t)1 << bit;
    return reasons & PW_CLOCKS_SLOWED;
}

const char *pw_gpu_clocks_word(uint64_t reasons)
{
    if (reasons & (PW_CLOCKS_THERMAL | PW_CLOCKS_HARDWARE_THERMAL))
        return "heat";
    if (reasons & PW_CLOCKS_POWER_BRAKE)
        return "the power brake";
    if (reasons & PW_CLOCKS_HARDWARE)
        return "the hardware's slowdown";
    return reasons & PW_CLOCKS_POWER_CAP ? "the power cap" : "";
}
