/* Notes about lost records, unrecorded calls, and programs that waited for room in a ring; and the
 * times in which records were lost. aggregate.c calls the functions that write notes; ranktrace.c,
 * amounts.c and flops.c ask for the times. Only pw_unrecorded_note_silence() communicates. */
#ifndef PW_AGGREGATE_INPUT_MISSING_H
#define PW_AGGREGATE_INPUT_MISSING_H

#include "aggregate/input/job.h"
#include "aggregate/input/spans.h"

typedef void pw_gap_visitor(void *context, const struct pw_row_gap *row);

/* Calls `visit` for each row of /events/gap; of a damaged table, for the rows before the damage. */
void pw_gaps_visit(const struct pw_input *input, pw_gap_visitor *visit, void *context);

/* Adds notes about every input of this process: how many records of each kind it lost; and how long
 * its program waited for room in its rings, if that was more than 0.1 % of its run. */
void pw_gaps_note(struct pw_job *job);

/* ---- MPI calls that were not recorded ---- */

/* Adds a note about every input of this process whose rank has unrecorded MPI calls: the reason. */
void pw_unrecorded_note(struct pw_job *job);

/* Finds which inputs are silent, and whether the job is; notes when the job has several ranks and
 * no communication between them was recorded. To be called after all events were read. Collective.
 */
void pw_unrecorded_note_silence(struct pw_job *job, int is_incomplete);

/* ---- when records of a rank were lost ---- */

/* Finds the joined spans of local time in which records of these kinds were lost; bits of `kinds`:
 * 1U << enum pw_lost. Threads without a ring do not count, because the records of the other threads
 * are complete. */
void pw_lost_find(const struct pw_input *input, unsigned kinds, struct pw_spans *out);

/* The same for the records that own work depends on: communication and steps. Losses of ranges
 * count, too, when the rank reports amounts of work and there is no step without such a loss,
 * because amounts are lost with the ranges. */
void pw_lost_find_work(const struct pw_input *input, struct pw_spans *out);

/* Returns 1 when any of the spans overlaps the step. */
int pw_lost_in(struct pw_spans *lost, const struct pw_row_step *step);

/* Makes the bins of a rank with lost records unknown. To be called after the bins are filled. */
void pw_lost_clear_bins(const struct pw_spans *lost, const struct pw_input *input,
                        const struct pw_world *world, struct pw_row_c_bin_trace *bins);

#endif
