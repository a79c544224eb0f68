/* Draws the offset and drift of each host; see clock.h. */
#include "sim/clock.h"

#include "sim/random.h"

struct pw_sim_clock pw_sim_clock_of(const struct pw_sim_params *p, int64_t rank)
{
    uint64_t host = (uint64_t)pw_sim_host(p, rank);
    struct pw_sim_clock clock = {0, 0, 0};
    if (host > 0) {
        clock.offset_ns = (int64_t)(pw_sim_bits(p->seed, host, 2, 1) % 100000000) - 50000000;
        clock.drift = 40e-6 * (pw_sim_uniform(pw_sim_bits(p->seed, host, 2, 2)) - 0.5);
        clock.error_ns = p->clock_error_ns;
    }
    for (size_t i = 0; i < p->nfaults; i++)
        if (p->faults[i].kind == PW_SIM_CLOCK_SKEW && p->faults[i].host == (int64_t)host) {
            clock.offset_ns += p->faults[i].offset_ns;
            clock.error_ns = p->faults[i].error_ns;
        }
    return clock;
}
