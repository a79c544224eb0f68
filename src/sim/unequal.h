/* Ranks that have different amounts of work by design: a pipeline's first and last stage, experts,
 * sequences of different lengths. These, and pauses of garbage collectors (noise.h), are what held
 * large trainings back most often (Lin et al., "Understanding Stragglers in Large Model Training
 * Using What-if Analysis", OSDI 2025). The stages and patterns ask how much work a rank has;
 * runwrite.c and truth.c write what was asked. No fault: nothing here may depend on the declared
 * faults. */
#ifndef PW_SIM_UNEQUAL_H
#define PW_SIM_UNEQUAL_H

#include <stdio.h>

#include "sim/params.h"

/* How many times the mean this rank's experts have in this step; mean 1 over the ranks, but for 3 %
 * of noise. */
double pw_sim_tokens(const struct pw_sim_params *params, int64_t rank, int64_t step);

/* How many times the mean the rank's sequences are long in this step. The ranks of one replica of
 * the model have the same ones. */
double pw_sim_length(const struct pw_sim_params *params, int64_t rank, int64_t step);

/* The mean of that over the ranks. */
double pw_sim_mean_length(const struct pw_sim_params *params, int64_t step);

/* How many times as much work as a middle one the pipeline's stage has: the first by half of what
 * the last has more. With even_stages all have the mean of these. */
double pw_sim_stage_growth(const struct pw_sim_params *params, int64_t stage);

/* The rank's part in the job, in words; "" where all have the same. */
void pw_sim_role(const struct pw_sim_params *params, int64_t rank, char *out, size_t size);

/* What it would have done per step, as profwrap_work() would say it. */
int64_t pw_sim_amount(const struct pw_sim_params *params, int64_t rank, int64_t step);

/* Prints a JSON array: what of this is in the run, and by how much it would be shorter if the same
 * work were shared out evenly. 0 or -errno. */
int pw_sim_unequal_print(FILE *out, const struct pw_sim_params *params, int64_t elapsed_ns);

#endif
