/* What each rank's GPU did with its time in a played run, for truth.json. */
#ifndef PW_SIM_GPUTRUTH_H
#define PW_SIM_GPUTRUTH_H

#include <stdio.h>

#include "sim/params.h"

/* Prints a JSON array, empty for runs without GPUs. 0 or -ENOMEM. */
int pw_sim_gputruth_print(FILE *out, const struct pw_sim_params *params);

#endif
