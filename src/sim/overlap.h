/* Collectives beside the work that follows them, of which a part only moves on meanwhile: MPI
 * without a progress thread moves data when the program is inside MPI. */
#ifndef PW_SIM_OVERLAP_H
#define PW_SIM_OVERLAP_H

#include "sim/stage.h"

/* Every rank begins an Iallreduce. */
void pw_sim_overlap_begin(struct pw_sim_play *play, int64_t bytes);

/* Every rank waits for all that it has begun. */
void pw_sim_overlap_end(struct pw_sim_play *play);

#endif
