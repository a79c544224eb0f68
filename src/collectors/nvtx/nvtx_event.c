/* The functions that the application's NVTX calls run: they record ranges and marks in the calling
 * thread's ring. Parameters and results are those of NVTX's functions. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "collectors/nvtx/nvtx_label.h"
#include "collectors/nvtx/nvtx_name.h"
#include "collectors/nvtx/nvtx_payload.h"
#include "rank/probe/arena.h"
#include "rank/probe/attach.h"
#include "rank/probe/ranges.h"
#include "rank/probe/recording.h"
#include "rank/probe/stack.h"

/* Records NVTX ranges and marks in the calling thread's ring. */

/* The attributes of an NVTX event that are recorded. */
struct pw_nvtx_event {
    struct pw_nvtx_name name;
    uint32_t category;
    struct pw_nvtx_payload payload;
};

/* Locks and returns the calling thread, for callers that have found the gate open. While recording
 * is paused the thread is returned, too, so that the caller can track its range depth. Returns NULL
 * when nothing can be recorded. The caller unlocks the thread with pw_probe_unlock(). */
static inline struct pw_thread *pw_nvtx_begin_open(void)
{
    struct pw_thread *thread = &pw_this_thread;
    if (__builtin_expect(!thread->ring.shared, 0) && !(thread = pw_probe_begin_thread()))
        return NULL;
    return pw_recording_hold(thread);
}

/* Records the call stack and returns its id; 0 when call stacks are not recorded. */
static inline uint32_t pw_nvtx_stack(struct pw_thread *thread)
{
    const uint32_t depth = pw_gate->stack_depth;
    return __builtin_expect(depth != 0, 0) ? pw_stack_take(thread, (int)depth) : 0;
}

/* Locks and returns the calling thread if an event can be recorded now; NULL when the gate is
 * closed, recording is paused or the thread has no ring. */
static struct pw_thread *nvtx_begin(void)
{
    struct pw_thread *thread = pw_gate->on ? pw_nvtx_begin_open() : NULL;
    if (!thread || !pw_recording_is_paused())
        return thread;
    pw_probe_unlock(thread);
    return NULL;
}

/* Reads an event's attributes into *out. `attributes` may be NULL; a struct of an older version,
 * which has fewer fields, is ignored. */
static void nvtx_event_read(struct pw_thread *thread, struct pw_nvtx_domain *domain,
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

/* Begins a range of the thread. Returns its depth: the number of ranges of all domains that the
 * thread was in before. (NVTX itself would count the ranges of this domain only.) */
static int nvtx_push(struct pw_thread *thread, struct pw_nvtx_domain *domain,
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

/* Begins step `number`. To be called before nvtx_push() of the range that marks the step. Inside
 * another step's range it does nothing. The schedule may start or pause recording at a step. */
static void nvtx_step(struct pw_thread *thread, int64_t number)
{
    if (!pw_range_is_in(thread, PW_KIND_STEP))
        pw_probe_found_step(thread, pw_probe_now(), number);
}

/* Ends the calling thread's innermost range of the domain with `key`, for callers that have found
 * the gate open. Returns the range's depth, or a negative number when there is no such range. */
static int nvtx_pop(uint32_t key)
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

/* Attaches `data` to the thread's innermost range of the domain. */
static void nvtx_extend(struct pw_thread *thread, struct pw_nvtx_domain *domain,
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

/* Records a mark, which has a time but no duration. */
static void nvtx_mark(struct pw_thread *thread, struct pw_nvtx_domain *domain,
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
static nvtxRangeId_t nvtx_start(struct pw_thread *thread, struct pw_nvtx_domain *domain,
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

/* Ends the range of the process that nvtx_start() returned as `id`. `payload` may be NULL. */
static void nvtx_end(struct pw_thread *thread, nvtxRangeId_t id,
                     const struct pw_nvtx_payload *payload)
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

/* A function and its number in the table of an NVTX module or extension. */
struct pw_nvtx_callback {
    uint32_t number;
    void (*function)(void);
};

enum { MOST_TEXT = 1024 };

/* ---- the application's own locks: the wait for a lock is recorded as a range ---- */

struct lock {
    struct pw_nvtx_domain *domain;
    int32_t message_type;
    const struct pw_intern_entry *name;
};

static nvtx_nvtxSyncUser_t create_lock(nvtxDomainHandle_t handle,
                                       const nvtx_nvtxSyncUserAttributes_t *opaque)
{
    const nvtxSyncUserAttributes_t *attributes = opaque;
    struct lock *lock = pw_arena_take(sizeof(*lock));
    if (!lock)
        return NULL;
    lock->domain = pw_nvtx_domain_of(handle);
    if (!attributes || attributes->size < sizeof(*attributes))
        return lock;
    char narrow[MOST_TEXT];
    const char *text = narrow;
    if (attributes->messageType == NVTX_MESSAGE_TYPE_ASCII)
        text = attributes->message.ascii;
    else if (attributes->messageType == NVTX_MESSAGE_TYPE_UNICODE)
        pw_nvtx_name_narrow(attributes->message.unicode, narrow, sizeof(narrow));
    else
        text = NULL;
    size_t length = text ? pw_name_length(text, PW_LONGEST_NAME) : 0;
    lock->name = length ? pw_name_keep(text, length) : NULL;
    return lock;
}

static void wait_for_lock(nvtx_nvtxSyncUser_t handle)
{
    const struct lock *lock = handle;
    struct pw_thread *thread = lock && pw_gate->on ? pw_nvtx_begin_open() : NULL;
    if (!thread)
        return;
    if (pw_recording_is_paused()) {
        pw_range_begin_idle(thread, lock->domain->key);
    } else {
        struct pw_nvtx_event event = {.name = {.id = pw_name_use(thread, lock->name)}};
        event.category = pw_probe_intern(thread, "lock");
        nvtx_push(thread, lock->domain, &event);
    }
    pw_probe_unlock(thread);
}

static void have_lock(nvtx_nvtxSyncUser_t handle)
{
    const struct lock *lock = handle;
    if (lock && pw_gate->on)
        nvtx_pop(lock->domain->key);
}

/* ---- the payload extension ---- */

/* An event whose attributes are all in its payload. */
static struct pw_thread *begin_payload(nvtxDomainHandle_t handle, const nvtxPayloadData_t *data,
                                       size_t count, struct pw_nvtx_event *event)
{
    struct pw_thread *thread = nvtx_begin();
    *event = (struct pw_nvtx_event){.name.kind = PW_KIND_USER};
    if (thread)
        pw_nvtx_payload_extended(thread, pw_nvtx_domain_of(handle), data, count, &event->payload,
                                 &event->name);
    return thread;
}

static int push_payload(nvtxDomainHandle_t handle, const nvtxPayloadData_t *data, size_t count)
{
    struct pw_nvtx_domain *domain = pw_nvtx_domain_of(handle);
    struct pw_thread *paused = pw_recording_paused_thread();
    if (paused)
        return pw_range_begin_idle(paused, domain->key);
    struct pw_nvtx_event event;
    struct pw_thread *thread = begin_payload(handle, data, count, &event);
    if (!thread)
        return NVTX_NO_PUSH_POP_TRACKING;
    int level = nvtx_push(thread, domain, &event);
    pw_probe_unlock(thread);
    return level;
}

static int pop_payload(nvtxDomainHandle_t handle, const nvtxPayloadData_t *data, size_t count)
{
    struct pw_nvtx_domain *domain = pw_nvtx_domain_of(handle);
    struct pw_thread *thread = nvtx_begin();
    if (thread) {
        nvtx_extend(thread, domain, data, count);
        pw_probe_unlock(thread);
    }
    return pw_gate->on ? nvtx_pop(domain->key) : NVTX_NO_PUSH_POP_TRACKING;
}

static void mark_payload(nvtxDomainHandle_t handle, const nvtxPayloadData_t *data, size_t count)
{
    struct pw_nvtx_event event;
    struct pw_thread *thread = begin_payload(handle, data, count, &event);
    if (!thread)
        return;
    nvtx_mark(thread, pw_nvtx_domain_of(handle), &event);
    pw_probe_unlock(thread);
}

static nvtxRangeId_t start_payload(nvtxDomainHandle_t handle, const nvtxPayloadData_t *data,
                                   size_t count)
{
    struct pw_nvtx_event event;
    struct pw_thread *thread = begin_payload(handle, data, count, &event);
    if (!thread)
        return 0;
    nvtxRangeId_t id = nvtx_start(thread, pw_nvtx_domain_of(handle), &event);
    pw_probe_unlock(thread);
    return id;
}

static void end_payload(nvtxDomainHandle_t handle, nvtxRangeId_t id, const nvtxPayloadData_t *data,
                        size_t count)
{
    struct pw_nvtx_event event;
    struct pw_thread *thread = id ? begin_payload(handle, data, count, &event) : NULL;
    if (!thread)
        return;
    nvtx_end(thread, id, &event.payload);
    pw_probe_unlock(thread);
}

static uint64_t register_schema(nvtxDomainHandle_t handle, const nvtxPayloadSchemaAttr_t *attr)
{
    return pw_nvtx_payload_schema(pw_nvtx_domain_of(handle), attr);
}

static uint64_t register_enum(nvtxDomainHandle_t handle, const nvtxPayloadEnumAttr_t *attr)
{
    return pw_nvtx_payload_enum(pw_nvtx_domain_of(handle), attr);
}

static uint8_t is_enabled(nvtxDomainHandle_t handle)
{
    (void)handle;
    return pw_gate->on != 0;
}

/* NVTX casts the functions back to their own types. */
#define SYNC(name, function)                              \
    {                                                     \
        NVTX_CBID_SYNC_##name, (void (*)(void))(function) \
    }
#define PAYLOAD(name, function)                          \
    {                                                    \
        NVTX3EXT_CBID_##name, (void (*)(void))(function) \
    }

/* NVTX_CB_MODULE_SYNC. The last row has no function. */
static const struct pw_nvtx_callback sync_callbacks[] = {
    SYNC(DomainSyncUserCreate, create_lock),
    SYNC(DomainSyncUserAcquireStart, wait_for_lock),
    SYNC(DomainSyncUserAcquireFailed, have_lock),
    SYNC(DomainSyncUserAcquireSuccess, have_lock),
    {0, NULL},
};

/* Of the payload extension; the last row has no function. */
static const struct pw_nvtx_callback payload_callbacks[] = {
    PAYLOAD(nvtxPayloadSchemaRegister, register_schema),
    PAYLOAD(nvtxPayloadEnumRegister, register_enum),
    PAYLOAD(nvtxMarkPayload, mark_payload),
    PAYLOAD(nvtxRangePushPayload, push_payload),
    PAYLOAD(nvtxRangePopPayload, pop_payload),
    PAYLOAD(nvtxRangeStartPayload, start_payload),
    PAYLOAD(nvtxRangeEndPayload, end_payload),
    PAYLOAD(nvtxDomainIsEnabled, is_enabled),
    {0, NULL},
};

/* ---- push and pop ---- */

/* Whether nothing is recorded. Tested first, so that a call that is not recorded costs only this
 * test. */
static inline bool is_closed(void)
{
    return __builtin_expect(!pw_gate->on, 0);
}

/* Returns the number of the step that the message names; -1: none. */
static int64_t step_of(const nvtxEventAttributes_t *attributes)
{
    return attributes && attributes->size >= sizeof(*attributes)
               ? pw_nvtx_message_step(attributes->messageType, attributes->message)
               : -1;
}

__attribute__((noinline)) static int push_attributes(struct pw_nvtx_domain *domain,
                                                     const nvtxEventAttributes_t *attributes)
{
    struct pw_thread *thread = pw_nvtx_begin_open();
    if (!thread)
        return NVTX_NO_PUSH_POP_TRACKING;
    const int64_t step = step_of(attributes);
    int level;
    if (step >= 0)
        nvtx_step(thread, step);
    if (pw_recording_is_paused()) {
        level = pw_range_begin_paused(thread, domain->key, step >= 0 ? PW_KIND_STEP : PW_KIND_USER);
    } else {
        struct pw_nvtx_event event;
        nvtx_event_read(thread, domain, attributes, &event);
        level = nvtx_push(thread, domain, &event);
    }
    pw_probe_unlock(thread);
    return level;
}

static inline bool is_told(const struct pw_intern_entry *entry)
{
    return entry && atomic_load_explicit(&entry->delivered, memory_order_relaxed);
}

/* Unlocks the thread after the fast path and returns `level`. */
static inline int unlocked(struct pw_open_call *call, int level)
{
    pw_range_unlock(call);
    return level;
}

/* The fast path for an event with only a registered string that the collector knows. Returns the
 * level of the range; -1: take the slow path. */
static inline int push_registered(const struct pw_nvtx_domain *domain,
                                  const nvtxEventAttributes_t *attributes)
{
    if (!attributes || attributes->size < sizeof(*attributes) ||
        attributes->messageType != NVTX_MESSAGE_TYPE_REGISTERED || attributes->category ||
        attributes->payloadType != NVTX_PAYLOAD_UNKNOWN)
        return -1;
    const nvtxStringHandle_t handle = attributes->message.registered;
    const struct pw_intern_entry *entry = pw_nvtx_registered_entry(handle);
    const enum pw_kind kind = pw_nvtx_registered_kind(handle);
    if (kind == PW_KIND_STEP || !is_told(entry) || (domain->name && !is_told(domain->name)))
        return -1;
    return pw_range_begin_usual(domain->plain_key, pw_range_name(entry->id, 0, kind));
}

static int push_event(nvtxDomainHandle_t handle, const nvtxEventAttributes_t *attributes)
{
    struct pw_nvtx_domain *domain = pw_nvtx_domain_of(handle);
    struct pw_open_call *call = pw_range_usual_call(PW_ACTIVITY_NVTX);
    const int level = call ? unlocked(call, push_registered(domain, attributes)) : -1;
    if (__builtin_expect(level >= 0, 1))
        return level;
    if (is_closed())
        return NVTX_NO_PUSH_POP_TRACKING;
    struct pw_thread *paused = pw_recording_paused_thread();
    return paused && step_of(attributes) < 0 ? pw_range_begin_idle(paused, domain->key)
                                             : push_attributes(domain, attributes);
}

static int push_ex(const nvtxEventAttributes_t *attributes)
{
    return push_event(NULL, attributes);
}

static inline bool may_be_step(const char *text)
{
    return text && pw_nvtx_label_may_be_step((unsigned char)text[0]);
}

__attribute__((noinline)) static int push_new_text(struct pw_thread *thread, const char *text)
{
    struct pw_nvtx_event event = {.category = 0};
    pw_nvtx_name_find(thread, text, &event.name);
    return nvtx_push(thread, &pw_nvtx_default_domain, &event);
}

__attribute__((noinline)) static int push_text(const char *text)
{
    struct pw_thread *thread = pw_nvtx_begin_open();
    if (!thread)
        return NVTX_NO_PUSH_POP_TRACKING;
    const struct pw_recent_name *slot = pw_name_slot(thread, text);
    const struct pw_range_about about = {.kind = (enum pw_kind)(slot->kind - 1)};
    const int64_t step =
        may_be_step(text) ? pw_nvtx_label_step(text, strnlen(text, PW_LABEL_MOST)) : -1;
    int level;
    if (step >= 0)
        nvtx_step(thread, step);
    if (__builtin_expect(pw_recording_is_paused(), 0))
        level = pw_range_begin_paused(thread, PW_KEY_NVTX_FIRST,
                                      step >= 0 ? PW_KIND_STEP : PW_KIND_USER);
    else if (__builtin_expect(text && pw_name_is_recent(slot, text) && slot->kind, 1) &&
             __builtin_expect(!pw_gate->general, 1))
        level = pw_range_begin(thread, PW_KEY_NVTX_FIRST, PW_REC_NVTX, slot->entry->id, &about);
    else
        level = push_new_text(thread, text);
    pw_probe_unlock(thread);
    return level;
}

static const uint64_t default_key = PW_RANGE_PLAIN_KEY(PW_KEY_NVTX_FIRST, PW_REC_NVTX, 0);

/* The fast path for a text that is in the thread's cache. Returns the level of the range; -1: take
 * the slow path. */
static inline int push_recent(const char *text)
{
    const struct pw_recent_name *known = pw_name_find_quickly(&pw_this_thread, text);
    return known && known->kind ? pw_range_begin_usual(default_key, known->name) : -1;
}

static int push_ascii(const char *text)
{
    struct pw_open_call *call = pw_range_usual_call(PW_ACTIVITY_NVTX);
    const int level = call ? unlocked(call, push_recent(text)) : -1;
    if (__builtin_expect(level >= 0, 1))
        return level;
    if (is_closed())
        return NVTX_NO_PUSH_POP_TRACKING;
    struct pw_thread *paused = pw_recording_paused_thread();
    return paused && !may_be_step(text) ? pw_range_begin_idle(paused, PW_KEY_NVTX_FIRST)
                                        : push_text(text);
}

static int push_wide(const wchar_t *text)
{
    char narrow[MOST_TEXT];
    pw_nvtx_name_narrow(text, narrow, sizeof(narrow));
    return push_ascii(narrow);
}

/* Ends the innermost range of the domain with `key`; `plain_key` is its key for the fast path. */
static inline int pop_keyed(uint64_t plain_key, uint32_t key)
{
    struct pw_open_call *call = pw_range_usual_call(PW_ACTIVITY_NVTX);
    const int level = call ? unlocked(call, pw_range_end_usual(plain_key, PW_REC_NVTX)) : -1;
    if (__builtin_expect(level >= 0, 1))
        return level;
    return is_closed() ? NVTX_NO_PUSH_POP_TRACKING : nvtx_pop(key);
}

static int pop_event(nvtxDomainHandle_t handle)
{
    const struct pw_nvtx_domain *domain = pw_nvtx_domain_of(handle);
    return pop_keyed(domain->plain_key, domain->key);
}

static int pop(void)
{
    return pop_keyed(default_key, PW_KEY_NVTX_FIRST);
}

/* ---- marks ---- */

static void mark_event(nvtxDomainHandle_t handle, const nvtxEventAttributes_t *attributes)
{
    struct pw_thread *thread = nvtx_begin();
    if (!thread)
        return;
    struct pw_nvtx_domain *domain = pw_nvtx_domain_of(handle);
    struct pw_nvtx_event event;
    nvtx_event_read(thread, domain, attributes, &event);
    nvtx_mark(thread, domain, &event);
    pw_probe_unlock(thread);
}

static void mark_ex(const nvtxEventAttributes_t *attributes)
{
    mark_event(NULL, attributes);
}

static void mark_ascii(const char *text)
{
    const nvtxEventAttributes_t attributes = {
        .size = sizeof(attributes), .messageType = NVTX_MESSAGE_TYPE_ASCII, .message.ascii = text};
    mark_event(NULL, &attributes);
}

static void mark_wide(const wchar_t *text)
{
    const nvtxEventAttributes_t attributes = {.size = sizeof(attributes),
                                              .messageType = NVTX_MESSAGE_TYPE_UNICODE,
                                              .message.unicode = text};
    mark_event(NULL, &attributes);
}

/* ---- start and end ---- */

static nvtxRangeId_t start_event(nvtxDomainHandle_t handle, const nvtxEventAttributes_t *attributes)
{
    struct pw_thread *thread = nvtx_begin();
    if (!thread)
        return 0;
    struct pw_nvtx_domain *domain = pw_nvtx_domain_of(handle);
    struct pw_nvtx_event event;
    nvtx_event_read(thread, domain, attributes, &event);
    nvtxRangeId_t id = nvtx_start(thread, domain, &event);
    pw_probe_unlock(thread);
    return id;
}

static nvtxRangeId_t start_ex(const nvtxEventAttributes_t *attributes)
{
    return start_event(NULL, attributes);
}

static nvtxRangeId_t start_ascii(const char *text)
{
    const nvtxEventAttributes_t attributes = {
        .size = sizeof(attributes), .messageType = NVTX_MESSAGE_TYPE_ASCII, .message.ascii = text};
    return start_event(NULL, &attributes);
}

static nvtxRangeId_t start_wide(const wchar_t *text)
{
    const nvtxEventAttributes_t attributes = {.size = sizeof(attributes),
                                              .messageType = NVTX_MESSAGE_TYPE_UNICODE,
                                              .message.unicode = text};
    return start_event(NULL, &attributes);
}

static void end_range(nvtxRangeId_t id)
{
    struct pw_thread *thread = id && !is_closed() ? pw_nvtx_begin_open() : NULL;
    if (!thread)
        return; /* a range that was begun before a pause is recorded */
    nvtx_end(thread, id, NULL);
    pw_probe_unlock(thread);
}

static void end_in_domain(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
    (void)domain; /* the ids are unique in the process */
    end_range(id);
}

/* ---- names ---- */

static void name_category(nvtxDomainHandle_t handle, uint32_t category, const char *name)
{
    pw_nvtx_category_set(pw_nvtx_domain_of(handle), category, name);
}

static void name_category_wide(nvtxDomainHandle_t handle, uint32_t category, const wchar_t *name)
{
    char narrow[MOST_TEXT];
    pw_nvtx_name_narrow(name, narrow, sizeof(narrow));
    name_category(handle, category, narrow);
}

static void name_default_category(uint32_t category, const char *name)
{
    name_category(NULL, category, name);
}

static void name_default_category_wide(uint32_t category, const wchar_t *name)
{
    name_category_wide(NULL, category, name);
}

static void name_thread(uint32_t tid, const char *name)
{
    struct pw_thread *thread = is_closed() ? NULL : pw_nvtx_begin_open();
    if (!thread)
        return;
    uint32_t id = pw_probe_intern(thread, name);
    uint64_t now = pw_probe_now();
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_NAME);
    if (record) {
        *record = (struct pw_record){
            .type = PW_REC_NVTX_THREAD,
            .flags = tid == (uint32_t)atomic_load(&thread->ring.shared->tid),
            .start = now,
            .end = now,
            .thread_name = {.tid = (int32_t)tid, .name = id},
        };
        pw_probe_commit_record(thread, record);
    }
    pw_probe_unlock(thread);
}

static void name_thread_wide(uint32_t tid, const wchar_t *name)
{
    char narrow[MOST_TEXT];
    pw_nvtx_name_narrow(name, narrow, sizeof(narrow));
    name_thread(tid, narrow);
}

static nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, const char *text)
{
    (void)domain;
    return pw_nvtx_name_register(text);
}

static nvtxStringHandle_t register_wide(nvtxDomainHandle_t domain, const wchar_t *text)
{
    char narrow[MOST_TEXT];
    pw_nvtx_name_narrow(text, narrow, sizeof(narrow));
    return register_string(domain, narrow);
}

static nvtxDomainHandle_t create_domain(const char *name)
{
    return (nvtxDomainHandle_t)pw_nvtx_domain_find(name);
}

static nvtxDomainHandle_t create_domain_wide(const wchar_t *name)
{
    char narrow[MOST_TEXT];
    pw_nvtx_name_narrow(name, narrow, sizeof(narrow));
    return create_domain(narrow);
}

/* NVTX casts the functions back to their own types. */
#define ROW(module, name, function)                             \
    {                                                           \
        NVTX_CBID_##module##_##name, (void (*)(void))(function) \
    }

static const struct pw_nvtx_callback core[] = {
    ROW(CORE, MarkEx, mark_ex),
    ROW(CORE, MarkA, mark_ascii),
    ROW(CORE, MarkW, mark_wide),
    ROW(CORE, RangeStartEx, start_ex),
    ROW(CORE, RangeStartA, start_ascii),
    ROW(CORE, RangeStartW, start_wide),
    ROW(CORE, RangeEnd, end_range),
    ROW(CORE, RangePushEx, push_ex),
    ROW(CORE, RangePushA, push_ascii),
    ROW(CORE, RangePushW, push_wide),
    ROW(CORE, RangePop, pop),
    ROW(CORE, NameCategoryA, name_default_category),
    ROW(CORE, NameCategoryW, name_default_category_wide),
    ROW(CORE, NameOsThreadA, name_thread),
    ROW(CORE, NameOsThreadW, name_thread_wide),
    {0, NULL},
};

static const struct pw_nvtx_callback core2[] = {
    ROW(CORE2, DomainMarkEx, mark_event),
    ROW(CORE2, DomainRangeStartEx, start_event),
    ROW(CORE2, DomainRangeEnd, end_in_domain),
    ROW(CORE2, DomainRangePushEx, push_event),
    ROW(CORE2, DomainRangePop, pop_event),
    ROW(CORE2, DomainNameCategoryA, name_category),
    ROW(CORE2, DomainNameCategoryW, name_category_wide),
    ROW(CORE2, DomainRegisterStringA, register_string),
    ROW(CORE2, DomainRegisterStringW, register_wide),
    ROW(CORE2, DomainCreateA, create_domain),
    ROW(CORE2, DomainCreateW, create_domain_wide),
    {0, NULL},
};

/* ---- the injection: NVTX loads NVTX_INJECTION64_PATH ----
 *
 * Each object of the application that contains NVTX calls this function at its first NVTX call, to
 * have its function pointers set. The probe keeps no pointers into the object, which may be
 * unloaded. Without a segment the function returns 0, and NVTX's functions of that object then do
 * nothing. */

#define EXPORT __attribute__((visibility("default")))

EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module);

static bool is_wanted(void)
{
    const struct pw_segment_shared *segment = pw_probe_borrow_segment();
    return segment && (segment->activities & PW_ACTIVITY_NVTX);
}

static void set_pointers(const NvtxExportTableCallbacks *callbacks, NvtxCallbackModule module,
                         const struct pw_nvtx_callback *ours)
{
    NvtxFunctionTable table = NULL;
    unsigned int size = 0;
    if (!callbacks->GetModuleFunctionTable(module, &table, &size) || !table)
        return;
    for (; ours->function; ours++)
        if (ours->number < size && table[ours->number])
            *table[ours->number] = ours->function;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks =
        get_table && is_wanted() ? get_table(NVTX_ETID_CALLBACKS) : NULL;
    if (!callbacks || callbacks->struct_size < sizeof(*callbacks))
        return 0;
    set_pointers(callbacks, NVTX_CB_MODULE_CORE, core);
    set_pointers(callbacks, NVTX_CB_MODULE_CORE2, core2);
    set_pointers(callbacks, NVTX_CB_MODULE_SYNC, sync_callbacks);
    return 1;
}

int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module)
{
    if (!module || !is_wanted() || module->moduleId != NVTX_EXT_PAYLOAD_MODULEID ||
        module->segmentsCount < 1 || !module->segments)
        return 0;
    const nvtxExtModuleSegment_t *segment = &module->segments[0];
    for (const struct pw_nvtx_callback *ours = payload_callbacks; ours->function; ours++)
        if (ours->number < segment->slotCount)
            segment->functionSlots[ours->number] = (intptr_t)ours->function;
    return 1;
}
