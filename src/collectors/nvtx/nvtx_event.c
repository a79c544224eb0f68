/* The functions that the application's NVTX calls run; see nvtx_extension.h. Parameters and results
 * are those of NVTX's functions. */
#include "collectors/nvtx/nvtx_extension.h"

#include <string.h>

#include "collectors/nvtx/nvtx_label.h"
#include "collectors/nvtx/nvtx_range.h"

enum { MOST_TEXT = 1024 };

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
        pw_nvtx_step(thread, step);
    if (pw_recording_is_paused()) {
        level = pw_range_begin_paused(thread, domain->key, step >= 0 ? PW_KIND_STEP : PW_KIND_USER);
    } else {
        struct pw_nvtx_event event;
        pw_nvtx_event_read(thread, domain, attributes, &event);
        level = pw_nvtx_push(thread, domain, &event);
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
    return pw_nvtx_push(thread, &pw_nvtx_default_domain, &event);
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
        pw_nvtx_step(thread, step);
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
    return is_closed() ? NVTX_NO_PUSH_POP_TRACKING : pw_nvtx_pop(key);
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
    struct pw_thread *thread = pw_nvtx_begin();
    if (!thread)
        return;
    struct pw_nvtx_domain *domain = pw_nvtx_domain_of(handle);
    struct pw_nvtx_event event;
    pw_nvtx_event_read(thread, domain, attributes, &event);
    pw_nvtx_mark(thread, domain, &event);
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
    struct pw_thread *thread = pw_nvtx_begin();
    if (!thread)
        return 0;
    struct pw_nvtx_domain *domain = pw_nvtx_domain_of(handle);
    struct pw_nvtx_event event;
    pw_nvtx_event_read(thread, domain, attributes, &event);
    nvtxRangeId_t id = pw_nvtx_start(thread, domain, &event);
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
    pw_nvtx_end(thread, id, NULL);
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
    set_pointers(callbacks, NVTX_CB_MODULE_SYNC, pw_nvtx_sync);
    return 1;
}

int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module)
{
    if (!module || !is_wanted() || module->moduleId != NVTX_EXT_PAYLOAD_MODULEID ||
        module->segmentsCount < 1 || !module->segments)
        return 0;
    const nvtxExtModuleSegment_t *segment = &module->segments[0];
    for (const struct pw_nvtx_callback *ours = pw_nvtx_payload; ours->function; ours++)
        if (ours->number < segment->slotCount)
            segment->functionSlots[ours->number] = (intptr_t)ours->function;
    return 1;
}
