/* What rank files say of records that were lost, of calls that were not recorded, and of programs
 * that waited so that nothing was lost; and when that was. aggregate.c has the notes written;
 * ranktrace.c, amounts.c and flops.c ask when a rank lost records. Only
 * pw_unrecorded_note_silence() communicates. */
#ifndef PW_AGGREGATE_INPUT_MISSING_H
#define PW_AGGREGATE_INPUT_MISSING_H

#include "aggregate/input/job.h"
#include "aggregate/input/spans.h"

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
void pw_unrecorded_note_silence(struct pw_job *job, int is_incomplete);

/* ---- when records of a rank were lost ---- */

/* Spans of local time, joined, in which records of these kinds were lost, a bit each:
 * 1U << enum pw_lost. Calls of threads without a ring are no gap in what the others recorded. */
void pw_lost_find(const struct pw_input *input, unsigned kinds, struct pw_spans *out);

/* The same of what says how long it worked: communication and steps; and where a rank says amounts
 * of work, but of no step all of them, whatever may have been some. */
void pw_lost_find_work(const struct pw_input *input, struct pw_spans *out);

/* Whether any of them lies in the window. */
int pw_lost_in(struct pw_spans *lost, const struct pw_row_step *step);

/* Once the bins of a rank are made: those with lost records become unknown. */
void pw_lost_clear_bins(const struct pw_spans *lost, const struct pw_input *input,
                        const struct pw_world *world, struct pw_row_c_bin_trace *bins);

#endif
