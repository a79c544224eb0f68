/* What a report should say of a synthetic run's operators. */
#ifndef PW_SIM_OPTRUTH_H
#define PW_SIM_OPTRUTH_H

#include <stdio.h>

#include "sim/params.h"

/* The JSON array of the operators with their calls and times over all ranks and on each. 0 or
 * -ENOMEM. */
int pw_sim_optruth_print(FILE *out, const struct pw_sim_params *params);

#endif
