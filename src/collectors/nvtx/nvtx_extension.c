/* NVTX's functions of the modules that go beyond ranges: the application's own locks, and events
 * with extended payloads; see nvtx_extension.h. */
#include "collectors/nvtx/nvtx_extension.h"
#include "collectors/nvtx/nvtx_range.h"
#include "rank/probe/arena.h"

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
        pw_nvtx_push(thread, lock->domain, &event);
    }
    pw_probe_unlock(thread);
}

static void have_lock(nvtx_nvtxSyncUser_t handle)
{
    const struct lock *lock = handle;
    if (lock && pw_gate->on)
        pw_nvtx_pop(lock->domain->key);
}

/* ---- the payload extension ---- */

/* An event whose attributes are all in its payload. */
static struct pw_thread *begin_payload(nvtxDomainHandle_t handle, const nvtxPayloadData_t *data,
                                       size_t count, struct pw_nvtx_event *event)
{
    struct pw_thread *thread = pw_nvtx_begin();
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
    int level = pw_nvtx_push(thread, domain, &event);
    pw_probe_unlock(thread);
    return level;
}

static int pop_payload(nvtxDomainHandle_t handle, const nvtxPayloadData_t *data, size_t count)
{
    struct pw_nvtx_domain *domain = pw_nvtx_domain_of(handle);
    struct pw_thread *thread = pw_nvtx_begin();
    if (thread) {
        pw_nvtx_extend(thread, domain, data, count);
        pw_probe_unlock(thread);
    }
    return pw_gate->on ? pw_nvtx_pop(domain->key) : NVTX_NO_PUSH_POP_TRACKING;
}

static void mark_payload(nvtxDomainHandle_t handle, const nvtxPayloadData_t *data, size_t count)
{
    struct pw_nvtx_event event;
    struct pw_thread *thread = begin_payload(handle, data, count, &event);
    if (!thread)
        return;
    pw_nvtx_mark(thread, pw_nvtx_domain_of(handle), &event);
    pw_probe_unlock(thread);
}

static nvtxRangeId_t start_payload(nvtxDomainHandle_t handle, const nvtxPayloadData_t *data,
                                   size_t count)
{
    struct pw_nvtx_event event;
    struct pw_thread *thread = begin_payload(handle, data, count, &event);
    if (!thread)
        return 0;
    nvtxRangeId_t id = pw_nvtx_start(thread, pw_nvtx_domain_of(handle), &event);
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
    pw_nvtx_end(thread, id, &event.payload);
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

const struct pw_nvtx_callback pw_nvtx_sync[] = {
    SYNC(DomainSyncUserCreate, create_lock),
    SYNC(DomainSyncUserAcquireStart, wait_for_lock),
    SYNC(DomainSyncUserAcquireFailed, have_lock),
    SYNC(DomainSyncUserAcquireSuccess, have_lock),
    {0, NULL},
};

const struct pw_nvtx_callback pw_nvtx_payload[] = {
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
