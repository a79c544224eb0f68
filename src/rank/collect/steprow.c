/* Makes rows of steps; see steprow.h. */
#include "rank/collect/steprow.h"

bool pw_steprow_end(struct pw_steprow *step, int64_t end, struct pw_row_step *row)
{
    if (!step->is_in)
        return false;
    step->is_in = false;
    *row = step->row;
    row->end = end > row->start ? end : row->start;
    return true;
}

static enum pw_recorded recorded(const struct pw_record *record)
{
    return record->flags & PW_STEP_PARTIAL  ? PW_RECORDED_PARTIAL
           : record->flags & PW_STEP_WARMUP ? PW_RECORDED_WARMUP
                                            : PW_RECORDED_ACTIVE;
}

/* Of the step that is under way PARTIAL is all that is said. */
bool pw_steprow_mark(struct pw_steprow *step, const struct pw_record *record, int64_t start,
                     struct pw_row_step *row)
{
    const int64_t number = record->step.step;
    bool is_more = (record->flags & PW_STEP_PARTIAL) && step->is_in && step->row.step == number;
    bool has_ended = !is_more && pw_steprow_end(step, start, row);
    if (!is_more) {
        step->is_in = number >= 0;
        step->row = (struct pw_row_step){.step = number, .start = start};
    }
    step->row.recorded = (uint8_t)recorded(record);
    return has_ended;
}
