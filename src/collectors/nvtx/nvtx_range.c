/* Records ranges and marks; see nvtx_range.h. */
#include "collectors/nvtx/nvtx_range.h"

#include <string.h>

struct pw_thread *pw_nvtx_begin(void)
{
    struct pw_thread *thread = pw_gate->on ? pw_nvtx_begin_open() : NULL;
    if (!thread || !pw_recording_is_paused())
        return thread;
    pw_probe_unlock(thread);
    return NULL;
}

void pw_nvtx_event_read(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                        const nvtxEventAttributes_t *attributes, struct pw_nvtx_event *out)
{
    *out = (struct pw_nvtx_event){.name.kind = PW_KIND_USER};
    if (!attributes || attributes->size < sizeof(*attributes))
        return;
    pw_nvtx_name_message(thread, attributes->messageType, attributes->message, &out->name);
    if (attributes->category)
        out->category = pw_nvtx_category_find(thread, domain, attributes->category);
    if (attributes->payloadType != NVTX_PAYLOAD_UNKNOWN)
        pw_nvtx_payload_read(thread, domain, attributes, &out->payload);
}

int pw_nvtx_push(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                 const struct pw_nvtx_event *event)
{
    const struct pw_range_about about = {
        .kind = (enum pw_kind)event->name.kind,
        .domain = pw_nvtx_domain_name(thread, domain),
        .category = event->category,
        .shapes = event->name.shapes,
        .stack = pw_nvtx_stack(thread),
        .sequence = event->name.sequence,
        .payload_type = event->payload.type,
        .payload = event->payload.value,
    };
    return pw_range_begin(thread, domain->key, PW_REC_NVTX, event->name.id, &about);
}

void pw_nvtx_step(struct pw_thread *thread, int64_t number)
{
    if (!pw_range_is_in(thread, PW_KIND_STEP))
        pw_probe_found_step(thread, pw_probe_now(), number);
}

int pw_nvtx_pop(uint32_t key)
{
    struct pw_thread *thread = pw_recording_paused_thread();
    if (thread && pw_range_end_idle(thread, key))
        return (int)pw_range_depths(thread);
    thread = pw_nvtx_begin_open();
    if (!thread)
        return NVTX_NO_PUSH_POP_TRACKING;
    int level = pw_range_end(thread, key, pw_probe_now());
    pw_probe_unlock(thread);
    return level;
}

void pw_nvtx_extend(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                    const nvtxPayloadData_t *data, size_t count)
{
    struct pw_open_range *range = pw_range_innermost(thread, domain->key);
    if (!range)
        return;
    struct pw_record record;
    memcpy(&record, range, sizeof(record));
    struct pw_nvtx_payload payload = {(uint8_t)record.op, record.range.payload};
    struct pw_nvtx_name name = {0};
    pw_nvtx_payload_extended(thread, domain, data, count, &payload, &name);
    record.range.name = name.id ? name.id : record.range.name;
    record.op = payload.type;
    record.range.payload = payload.value;
    memcpy(range, &record, sizeof(record));
}

/* Returns a record of the event, without its times; NULL when it is lost. */
static struct pw_record *reserve(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                                 const struct pw_nvtx_event *event, enum pw_record_type type,
                                 uint64_t now)
{
    uint32_t domain_id = pw_nvtx_domain_name(thread, domain);
    uint32_t stack = pw_nvtx_stack(thread);
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_RANGE);
    if (record)
        *record = (struct pw_record){
            .type = (uint8_t)type,
            .op = event->payload.type,
            .start = now,
            .end = now,
            .stack = stack,
            .range = {.name = event->name.id,
                      .depth = (uint16_t)pw_range_depth(thread),
                      .kind = event->name.kind,
                      .domain = domain_id,
                      .category = event->category,
                      .shapes = event->name.shapes,
                      .sequence = event->name.sequence,
                      .payload = event->payload.value},
        };
    return record;
}

void pw_nvtx_mark(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                  const struct pw_nvtx_event *event)
{
    struct pw_record *record = reserve(thread, domain, event, PW_REC_NVTX, pw_probe_now());
    if (!record)
        return;
    record->range.kind = PW_KIND_MARK;
    pw_probe_commit_record(thread, record);
}

/* The collector combines begin and end of a range. A table of open ranges here would need a lock,
 * and would be lost when the program is killed. */
nvtxRangeId_t pw_nvtx_start(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                            const struct pw_nvtx_event *event)
{
    static _Atomic uint64_t last;
    struct pw_record *record = reserve(thread, domain, event, PW_REC_NVTX_START, pw_probe_now());
    if (!record)
        return 0;
    uint64_t id = atomic_fetch_add(&last, 1) + 1;
    record->flags = PW_RANGE_PROCESS;
    record->range.id = id;
    pw_probe_commit_record(thread, record);
    return id;
}

void pw_nvtx_end(struct pw_thread *thread, nvtxRangeId_t id, const struct pw_nvtx_payload *payload)
{
    uint64_t now = pw_probe_now();
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_RANGE);
    if (!record)
        return;
    *record = (struct pw_record){.type = PW_REC_NVTX_END, .start = now, .end = now, .ended.id = id};
    if (payload) {
        record->op = payload->type;
        record->ended.payload = payload->value;
    }
    pw_probe_commit_record(thread, record);
}
