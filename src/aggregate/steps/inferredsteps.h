/* Infers steps from recurring calls, when the program marks none. Called by aggregate.c on all
 * processes together, after clocks are aligned. It does nothing when any rank has marked steps. */
#ifndef PW_AGGREGATE_STEPS_INFERREDSTEPS_H
#define PW_AGGREGATE_STEPS_INFERREDSTEPS_H

#include "aggregate/input/job.h"

/* Finds iterations in the calls of the lowest rank. If they begin with a collective of all ranks,
 * the steps of each rank begin at the end of that collective on the rank. Otherwise, and only when
 * the clocks are aligned, all ranks' steps are cut at the times of the lowest rank's calls. Without
 * iterations, the time in which all ranks communicated is divided into slices of equal length. Sets
 * steps_inferred, steps_cut and steps_found in `job`. Collective. */
void pw_infer_steps(struct pw_job *job);

/* Notes what pw_infer_steps() did, if anything. */
void pw_infer_note(struct pw_job *job);

#endif
