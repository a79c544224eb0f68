/* Rows that several modules make: of steps and of ranges. See module.h. */
#include "rank/collect/module.h"

int64_t pw_rangerow_payload(uint16_t type, int64_t value, const struct pw_origin *origin)
{
    return type == PW_PAYLOAD_TEXT ? pw_origin_name(origin, (uint32_t)value) : value;
}

struct pw_row_range pw_rangerow_of(const struct pw_record *record, const struct pw_origin *origin)
{
    const int is_past = pw_record_is_past(record);
    return (struct pw_row_range){
        .start = origin->start,
        .end = origin->end,
        .name = pw_origin_name(origin, record->range.name),
        .domain = is_past ? 0 : pw_origin_name(origin, record->range.domain),
        .category = pw_origin_name(origin, record->range.category),
        .kind = (uint8_t)record->range.kind,
        .thread = is_past ? (uint16_t)record->range.lane : origin->thread,
        .depth = record->range.depth,
        .shapes = pw_origin_name(origin, record->range.shapes),
        .alloc_bytes = record->range.alloc_bytes,
        .stack = pw_origin_stack(origin, record->stack),
        .sequence = (int64_t)record->range.sequence - 1,
        .payload_type = (uint8_t)record->op,
        .payload = pw_rangerow_payload(record->op, record->range.payload, origin),
        .flags = record->flags,
    };
}

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

/* A mark with PW_STEP_PARTIAL for the current step only flags that step. A step that a mark with
 * PW_STEP_CANCEL ends gets no row. */
bool pw_steprow_mark(struct pw_steprow *step, const struct pw_record *record, int64_t start,
                     struct pw_row_step *row)
{
    const int64_t number = record->step.step;
    bool is_more = (record->flags & PW_STEP_PARTIAL) && step->is_in && step->row.step == number;
    bool has_ended =
        !is_more && pw_steprow_end(step, start, row) && !(record->flags & PW_STEP_CANCEL);
    if (!is_more) {
        step->is_in = number >= 0;
        step->row = (struct pw_row_step){.step = number, .start = start};
    }
    step->row.recorded = (uint8_t)recorded(record);
    return has_ended;
}
