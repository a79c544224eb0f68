/* What the declared faults add to a rank's work, when they stop it, and what the sink learns of
 * that. The stages (stage.c), scripts and patterns call it whenever a rank works, and play.c at the
 * begin and end of steps. It only changes clocks of the play; which faults there are is in
 * params.h, and files are written elsewhere (runwrite.h). */
#ifndef PW_SIM_FAULTS_H
#define PW_SIM_FAULTS_H

#include "sim/stage.h"

/* ns that fault i adds to a piece of work; `share`: how much of the phase's work in the step it is.
 */
double pw_sim_extra_of(const struct pw_sim_play *play, size_t i, int64_t rank, enum pw_phase phase,
                       double share);

/* The sum over all faults. */
double pw_sim_extra(const struct pw_sim_play *play, int64_t rank, enum pw_phase phase,
                    double share);

/* When a piece of work that takes `own_ns` and begins now is done; tells the sink which
 * fault was the doer of which part, and what of it was off the CPU. */
int64_t pw_sim_extra_work(struct pw_sim_play *play, int64_t rank, enum pw_phase phase, double share,
                          int64_t own_ns);

/* Moves every rank over the pauses at the end of this step. */
void pw_sim_extra_pauses(struct pw_sim_play *play);

/* When processes stand still, in work and in calls alike: a quota, other processes on their CPU,
 * SIGSTOP, a frozen host. As in LogGOPSim, noise is time that is taken away from a process whatever
 * it does (Hoefler, Schneider, Lumsdaine, "Characterizing the Influence of System Noise on
 * Large-Scale Applications by Simulation", SC 2010). */

/* Where the faults of this step begin to count from; after the clocks of its begin are known. */
void pw_sim_stops_step(struct pw_sim_play *play);

/* When `rank` has run for `ns` from `at` on. With 0: when it runs again. */
int64_t pw_sim_advance(const struct pw_sim_play *play, int64_t rank, int64_t at, int64_t ns);

/* The same for what two ranks must both be there for. */
int64_t pw_sim_advance_both(const struct pw_sim_play *play, int64_t a, int64_t b, int64_t at,
                            int64_t ns);

/* Tells the sink of the stops up to `until`, where the rank is now. */
void pw_sim_tell_stops(struct pw_sim_play *play, int64_t rank, int64_t until);

/* Tells it that the rank was in the fault's state from start to end, and of the stops before. */
void pw_sim_tell_fault(struct pw_sim_play *play, int64_t rank, size_t fault, int64_t start,
                       int64_t end);

#endif
