/* Steps of a job that marks none, from the period of the collectives on its largest communicator.
 */
#ifndef PW_AGGREGATE_STEPS_INFER_H
#define PW_AGGREGATE_STEPS_INFER_H

#include "aggregate/input/job.h"

/* When no rank has a step: looks at the lowest rank's collectives, and gives every member of that
 * communicator the steps between the ends of each period's last one. Collective. */
void pw_infer_steps(struct pw_job *job);

#endif
