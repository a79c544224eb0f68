/* The GPU tables of a synthetic rank file. */
#ifndef PW_SIM_GPUWRITE_H
#define PW_SIM_GPUWRITE_H

#include "rank/file/rankfile.h"
#include "sim/clock.h"
#include "sim/gpuwork.h"

/* Of one rank. */
struct pw_sim_gpufile {
    struct pw_rankfile *file;
    const struct pw_sim_params *params;
    const struct pw_sim_clock *clock;
    int64_t comm_rows; /* of /events/comm so far */
    uint64_t correlation;
};

void pw_sim_gpufile_device(struct pw_sim_gpufile *g, int64_t rank);
void pw_sim_gpufile_take(struct pw_sim_gpufile *g, const struct pw_sim_gpu_event *event);

/* The kernel and details of an NCCL operation that is about to be appended to /events/comm, in true
 * time. */
void pw_sim_gpufile_nccl(struct pw_sim_gpufile *g, int64_t rank, int64_t step,
                         const struct pw_row_comm_event *event);

/* A sample of the clocks in the middle of a step. */
void pw_sim_gpufile_sample(struct pw_sim_gpufile *g, int64_t rank, int64_t step, int64_t time);

#endif
