/* What the programs that can be simulated have in common. */
#ifndef PW_SIM_PATTERN_H
#define PW_SIM_PATTERN_H

#include "sim/stage.h"

enum { PW_SIM_NORM_BYTES = 8 };

/* Shares of a step's work, alike in all patterns. */
#define DATA_SHARE 0.05
#define FORWARD_SHARE 0.30
#define BACKWARD_SHARE 0.60
#define OPTIMIZER_SHARE 0.05

/* Of the step's mean work, ns. */
static inline double pw_sim_part(const struct pw_sim_play *play, double share)
{
    return share * (double)play->params->step_ns;
}

/* A phase of nothing but work; one of a collective. */
void pw_sim_work_phase(struct pw_sim_play *play, enum pw_phase phase, double share);
void pw_sim_reduce_phase(struct pw_sim_play *play, enum pw_sim_comm comm, int64_t bytes);

/* One step of training with a pipeline, and of one with experts; pattern.c. */
void pw_sim_pipeline_step(struct pw_sim_play *play);
void pw_sim_moe_step(struct pw_sim_play *play);

#endif
