/* What the faults that are on add to a rank's work. */
#ifndef PW_SIM_EXTRA_H
#define PW_SIM_EXTRA_H

#include "sim/stage.h"

/* ns that fault i adds to a piece of work; `share`: how much of the phase's work in the step it is.
 */
double pw_sim_extra_of(const struct pw_sim_play *play, size_t i, int64_t rank, enum pw_phase phase,
                       double share);

/* The sum over all faults. */
double pw_sim_extra(const struct pw_sim_play *play, int64_t rank, enum pw_phase phase,
                    double share);

/* When a piece of work that takes `own_ns` and begins at `start` is done; tells the sink which
 * fault was the doer of which part, and what of it was off the CPU. */
int64_t pw_sim_extra_work(struct pw_sim_play *play, int64_t rank, enum pw_phase phase, double share,
                          int64_t start, int64_t own_ns);

/* Moves every rank over the pauses at the end of this step. */
void pw_sim_extra_pauses(struct pw_sim_play *play);

#endif
