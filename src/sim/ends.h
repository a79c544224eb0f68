/* What comes before a run's first step and after its last: MPI_Init, set-up, the program's end,
 * MPI_Finalize. */
#ifndef PW_SIM_ENDS_H
#define PW_SIM_ENDS_H

#include "sim/stage.h"

void pw_sim_ends_start(struct pw_sim_play *play);
void pw_sim_ends_finish(struct pw_sim_play *play);

#endif
