/* The GPU work of a rank in runs with GPUs: kernels one after another, launched by a host that is
 * ahead of the GPU unless a fault makes it late. stage.c calls it for the length of work,
 * runwrite.c for the kernels in rank files, truth.c for their sums. Everything is a function of the
 * parameters; no clock is changed. */
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

/* Calls `take` for the kernels and copies of a piece of work, in order. */
void pw_sim_gpu_tell(const struct pw_sim_params *params, const struct pw_sim_piece *piece,
                     pw_sim_gpu_taker *take, void *context);

/* Returns how far the rank's host is ahead of its GPU, ns. */
int64_t pw_sim_gpu_lead(const struct pw_sim_params *params, int64_t rank, int64_t step);

/* Returns the factor by which work takes longer on a slow GPU; bit i of `without` ignores fault
 * i. */
double pw_sim_gpu_growth(const struct pw_sim_params *params, uint32_t without, int64_t rank,
                         int64_t step, enum pw_phase phase);

#endif
