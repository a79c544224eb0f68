/* Makes rows that several collector modules have in common: rows of /steps from marks of steps, and
 * rows of /events/range from ranges. Called by the tool halves of annotations and nvtx. Tool code;
 * writes nothing itself, the caller appends the rows. */
#ifndef PW_RANK_COLLECT_EVENTROWS_H
#define PW_RANK_COLLECT_EVENTROWS_H

#include <stdbool.h>

#include "rank/collect/collector.h"

/* The current step. */
struct pw_steprow {
    bool is_in;
    struct pw_row_step row; /* its `end` is not known yet */
};

/* Ends the current step at `end`. Returns true and sets *row when there was one. */
bool pw_steprow_end(struct pw_steprow *step, int64_t end, struct pw_row_step *row);

/* Processes a mark (pw_record_is_step) of time `start`. Returns true and sets *row when it ended
 * the step before, and that step counts. */
bool pw_steprow_mark(struct pw_steprow *step, const struct pw_record *record, int64_t start,
                     struct pw_row_step *row);

/* ---- rows of /events/range ---- */

/* Returns the row for a PW_REC_RANGE or PW_REC_NVTX, or for a PW_REC_NVTX_START without an end. */
struct pw_row_range pw_rangerow_of(const struct pw_record *record, const struct pw_origin *origin);

/* Returns the 64 bits of a payload as they are in the file, where a text is a row of /strings. */
int64_t pw_rangerow_payload(uint16_t type, int64_t value, const struct pw_origin *origin);

#endif
