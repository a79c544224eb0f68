/* Rows that several collector modules make alike: of /steps from marks of steps, and of
 * /events/range from ranges. Called by the tool halves of annotations and nvtx. Tool code; writes
 * nothing itself, the caller appends the rows. */
#ifndef PW_RANK_COLLECT_EVENTROWS_H
#define PW_RANK_COLLECT_EVENTROWS_H

#include <stdbool.h>

#include "rank/collect/collector.h"

/* The step that is under way. */
struct pw_steprow {
    bool is_in;
    struct pw_row_step row; /* its `end` is not known yet */
};

/* Ends the step at `end`; true when there was one: *row is it then. */
bool pw_steprow_end(struct pw_steprow *step, int64_t end, struct pw_row_step *row);

/* Takes a mark (pw_record_is_step) of time `start`; true when it ended the step before. */
bool pw_steprow_mark(struct pw_steprow *step, const struct pw_record *record, int64_t start,
                     struct pw_row_step *row);

/* Rows of /events/range from the records of all collectors that have ranges. In the collector. */

/* What a PW_REC_RANGE or PW_REC_NVTX, or a PW_REC_NVTX_START without its end, says. */
struct pw_row_range pw_rangerow_of(const struct pw_record *record, const struct pw_origin *origin);

/* The 64 bits of a payload as they are in the file: texts are rows of /strings there. */
int64_t pw_rangerow_payload(uint16_t type, int64_t value, const struct pw_origin *origin);

#endif
