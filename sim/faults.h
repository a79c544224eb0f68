/* Applies the declared faults: adds to a rank's work, stops the rank, and reports both to the sink.
 * The stages (stage.c), scripts and patterns call it whenever a rank works, and play.c at the begin
 * and end of steps. It only changes clocks of the play; which faults there are is in params.h, and
 * files are written elsewhere (runwrite.h). */
#ifndef PW_SIM_FAULTS_H
#define PW_SIM_FAULTS_H

#include "sim/stage.h"

/* Returns the ns that fault i adds to a piece of work, which is the share `share` of the phase's
 * work in the step. */
double pw_sim_extra_of(const struct pw_sim_play *play, size_t i, int64_t rank, enum pw_phase phase,
                       double share);

/* Returns the sum of pw_sim_extra_of() over all faults. */
double pw_sim_extra(const struct pw_sim_play *play, int64_t rank, enum pw_phase phase,
                    double share);

/* Returns the time at which a piece of work that takes `own_ns` and begins now has ended. Reports
 * to the sink which part each fault has caused, and which part was off the CPU. */
int64_t pw_sim_extra_work(struct pw_sim_play *play, int64_t rank, enum pw_phase phase, double share,
                          int64_t own_ns);

/* Adds the pauses at the end of this step to every rank's clock. */
void pw_sim_extra_pauses(struct pw_sim_play *play);

/* Stops: times in which a process does not run, neither in work nor in calls, because of a quota,
 * other processes on its CPU, SIGSTOP, or a frozen host. As in LogGOPSim, noise is time that is
 * taken from a process whatever it does (Hoefler, Schneider, Lumsdaine, "Characterizing the
 * Influence of System Noise on Large-Scale Applications by Simulation", SC 2010). */

/* Sets the time from which the faults of this step count. To be called when the ranks' clocks at
 * the begin of the step are known. */
void pw_sim_stops_step(struct pw_sim_play *play);

/* Returns the time at which `rank` has run for `ns` since `at`, stops excluded; with `ns` 0, the
 * time at which it runs again. */
int64_t pw_sim_advance(const struct pw_sim_play *play, int64_t rank, int64_t at, int64_t ns);

/* As pw_sim_advance(), for time in which two ranks must run together. */
int64_t pw_sim_advance_both(const struct pw_sim_play *play, int64_t a, int64_t b, int64_t at,
                            int64_t ns);

/* Reports the rank's stops up to `until`, its present time, to the sink. */
void pw_sim_tell_stops(struct pw_sim_play *play, int64_t rank, int64_t until);

/* Reports to the sink that the rank was in the fault's state from start to end, after the stops
 * before. */
void pw_sim_tell_fault(struct pw_sim_play *play, int64_t rank, size_t fault, int64_t start,
                       int64_t end);

#endif
