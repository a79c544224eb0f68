/* What rank files say of records that were lost, and of programs that waited so that none were. */
#ifndef PW_AGGREGATE_INPUT_MISSING_H
#define PW_AGGREGATE_INPUT_MISSING_H

#include "aggregate/input/job.h"

typedef void pw_gap_visitor(void *context, const struct pw_row_gap *row);

/* Visits what can be read of the table; the rest of a damaged one counts as nothing. */
void pw_gaps_visit(const struct pw_input *input, pw_gap_visitor *visit, void *context);

/* Notes for every input of this process how many records of which kinds it lost, and how long its
 * program waited for room in its rings where that was more than a thousandth of its run. */
void pw_gaps_note(struct pw_job *job);

/* What rank files say of MPI calls that are not in them; and that no communication is in any. */

/* Notes for every input of this process why MPI calls of its rank were not recorded. */
void pw_unrecorded_note(struct pw_job *job);

/* Notes when the job has several ranks and nothing between them was recorded. After all events were
 * read. Collective. */
void pw_unrecorded_note_silence(struct pw_job *job);

#endif
