/* Makes rows of ranges; see rangerow.h. */
#include "rank/collect/rangerow.h"

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
