/* What a rank's GPU does while it works, in runs with GPUs: kernels one after another, launched by
 * a host that is ahead unless a fault makes it late. stage.c asks how much longer work takes;
 * runwrite.c has the kernels handed to it for the rank files, and truth.c for its sums. All of it
 * is a function of the parameters; it changes no clock. */
#ifndef PW_SIM_GPUWORK_H
#define PW_SIM_GPUWORK_H

#include "sim/play.h"

enum { PW_SIM_STREAM = 7, PW_SIM_COMM_STREAM = 13 };

struct pw_sim_gpu_event {
    int is_copy;
    int64_t start, end, launch;
    uint32_t name, launched_by; /* texts */
    int32_t grid;
};

typedef void pw_sim_gpu_taker(void *context, int64_t rank, const struct pw_sim_gpu_event *event);

/* The kernels and copies of a piece of work, in order. */
void pw_sim_gpu_tell(const struct pw_sim_params *params, const struct pw_sim_piece *piece,
                     pw_sim_gpu_taker *take, void *context);

/* How far the host of the rank is ahead of its GPU, ns. */
int64_t pw_sim_gpu_lead(const struct pw_sim_params *params, int64_t rank, int64_t step);

/* How many times as long a piece of work takes on a slow GPU; bit i of `without` leaves fault i
 * out. */
double pw_sim_gpu_growth(const struct pw_sim_params *params, uint32_t without, int64_t rank,
                         int64_t step, enum pw_phase phase);

#endif
