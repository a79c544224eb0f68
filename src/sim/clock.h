/* The clocks of a synthetic run's hosts. */
#ifndef PW_SIM_CLOCK_H
#define PW_SIM_CLOCK_H

#include "sim/params.h"

/* A host's clock: local = time + offset + drift x time. */
struct pw_sim_clock {
    int64_t offset_ns, error_ns;
    double drift;
};

/* Host 0 keeps the cluster clock. */
struct pw_sim_clock pw_sim_clock_of(const struct pw_sim_params *params, int64_t rank);

static inline int64_t pw_sim_local_time(const struct pw_sim_clock *clock, int64_t time)
{
    return time + clock->offset_ns + (int64_t)(clock->drift * (double)time);
}

#endif
