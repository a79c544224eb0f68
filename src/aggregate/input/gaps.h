/* What rank files say of records that were lost, and of programs that waited so that none were. */
#ifndef PW_AGGREGATE_INPUT_GAPS_H
#define PW_AGGREGATE_INPUT_GAPS_H

#include "aggregate/input/job.h"

/* Notes for every input of this process how many records of which kinds it lost, and how long its
 * program waited for room in its rings where that was more than a thousandth of its run. */
void pw_gaps_note(struct pw_job *job);

#endif
