/* What rank files say of MPI calls that are not in them; and that no communication is in any. */
#ifndef PW_AGGREGATE_INPUT_UNRECORDEDRANKS_H
#define PW_AGGREGATE_INPUT_UNRECORDEDRANKS_H

#include "aggregate/input/job.h"

/* Notes for every input of this process why MPI calls of its rank were not recorded. */
void pw_unrecorded_note(struct pw_job *job);

/* Notes when the job has several ranks and nothing between them was recorded. After all events were
 * read. Collective. */
void pw_unrecorded_note_silence(struct pw_job *job);

#endif
