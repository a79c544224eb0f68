/* Ranks that have different amounts of work by design: a pipeline's first and last stage, experts,
 * sequences of different lengths. These, and pauses of garbage collectors (noise.h), were the most
 * frequent causes of delay in large trainings (Lin et al., "Understanding Stragglers in Large Model
 * Training Using What-if Analysis", OSDI 2025). Called by the stages and patterns for the work of a
 * rank, and by runwrite.c and truth.c. These are not faults: nothing here may depend on the
 * declared faults. */
#ifndef PW_SIM_UNEQUAL_H
#define PW_SIM_UNEQUAL_H

#include <stdio.h>

#include "sim/params.h"

/* Returns the tokens of this rank's experts in this step divided by the mean; the mean over the
 * ranks is 1, apart from 3 % of noise. */
double pw_sim_tokens(const struct pw_sim_params *params, int64_t rank, int64_t step);

/* Returns the length of the rank's sequences in this step divided by the mean; the same on all
 * ranks of a replica of the model. */
double pw_sim_length(const struct pw_sim_params *params, int64_t rank, int64_t step);

/* Returns the mean of pw_sim_length() over the ranks. */
double pw_sim_mean_length(const struct pw_sim_params *params, int64_t step);

/* Returns the work of a pipeline's stage divided by that of a middle one. The first stage has half
 * as much additional work as the last. With even_stages, all have the mean. */
double pw_sim_stage_growth(const struct pw_sim_params *params, int64_t stage);

/* Writes the rank's role; "" when all ranks have the same role. */
void pw_sim_role(const struct pw_sim_params *params, int64_t rank, char *out, size_t size);

/* Returns the amount of work in the step, as the program would pass it to profwrap_work(). */
int64_t pw_sim_amount(const struct pw_sim_params *params, int64_t rank, int64_t step);

/* Prints a JSON array: the kinds of unequal work in the run, and by how much the run would be
 * shorter if each were distributed evenly. Returns 0 or -errno. */
int pw_sim_unequal_print(FILE *out, const struct pw_sim_params *params, int64_t elapsed_ns);

#endif
