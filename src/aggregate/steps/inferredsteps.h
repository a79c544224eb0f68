/* Steps of a job that marks none, from what its ranks call again and again. Called by aggregate.c
 * on all processes together, once clocks are aligned. Does nothing where a rank has marked steps.
 */
#ifndef PW_AGGREGATE_STEPS_INFERREDSTEPS_H
#define PW_AGGREGATE_STEPS_INFERREDSTEPS_H

#include "aggregate/input/job.h"

/* When no rank has a step: looks for iterations among the calls of the lowest rank. Where each
 * begins with a collective of all ranks, every rank's steps begin where that ended on it; else, and
 * only where the clocks are aligned, all ranks' steps are cut at the times of the lowest rank's
 * calls. Without iterations the time in which all ranks communicated is cut into slices of equal
 * length. Clocks must have been aligned. Says in `job` what was done. Collective. */
void pw_infer_steps(struct pw_job *job);

/* Notes what pw_infer_steps() did, if anything. */
void pw_infer_note(struct pw_job *job);

#endif
