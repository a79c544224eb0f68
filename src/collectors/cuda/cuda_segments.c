/* Tables of handles and of mappings, and a queue of changes to the worker; see cuda_segments.h. */
#include "collectors/cuda/cuda_segments.h"

#include <string.h>

enum { HANDLES = 1 << 15, MAPPINGS = 1 << 16, CHANGES = 1 << 12, TRIES = 64, SPINS = 1 << 14 };

static const char *const functions[] = {"cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap",
                                        "cuMemRetainAllocationHandle"};
enum function { CREATE, RELEASE, MAP, UNMAP, RETAIN, FUNCTIONS };

/* Keys are handles or addresses. 0: never used; 1: was used, is free now. */
enum { FREE, WAS_USED };

struct handle {
    uint64_t key, bytes, serial; /* serial: distinguishes allocations that got the same handle */
    uint32_t device, uses;       /* number of references: the handle itself and its mappings */
};

struct mapping {
    uint64_t key, bytes, handle, serial;
};

struct change {
    uint64_t time;
    int64_t delta_bytes;
    uint32_t device;
};

static struct {
    atomic_flag is_held;
    _Atomic uint32_t callbacks[FUNCTIONS]; /* CUPTI's numbers of the functions; 0: not known */
    struct handle handles[HANDLES];
    struct mapping mappings[MAPPINGS];
    struct change changes[CHANGES]; /* [first, next) */
    uint32_t first, next;
    uint64_t serials;
} seg = {.is_held = ATOMIC_FLAG_INIT};

/* Locks the tables for a few instructions. Returns false when it fails, as in a signal handler that
 * interrupted the owner. */
static bool hold(void)
{
    for (int i = 0; i < SPINS; i++)
        if (!atomic_flag_test_and_set_explicit(&seg.is_held, memory_order_acquire))
            return true;
    return false;
}

static void release(void)
{
    atomic_flag_clear_explicit(&seg.is_held, memory_order_release);
}

static size_t place_of(uint64_t key, int try)
{
    return (size_t)((key * 0x9e3779b97f4a7c15ull) >> 40) + (size_t)try;
}

/* Returns the entry of the handle; with `is_new`, a free entry for it. NULL: none. */
static struct handle *find_handle(uint64_t key, bool is_new)
{
    for (int i = 0; i < TRIES; i++) {
        struct handle *h = &seg.handles[place_of(key, i) % HANDLES];
        if (is_new ? h->key <= WAS_USED : h->key == key)
            return h;
        if (!is_new && h->key == FREE)
            return NULL;
    }
    return NULL;
}

static struct mapping *find_mapping(uint64_t key, bool is_new)
{
    for (int i = 0; i < TRIES; i++) {
        struct mapping *m = &seg.mappings[place_of(key, i) % MAPPINGS];
        if (is_new ? m->key <= WAS_USED : m->key == key)
            return m;
        if (!is_new && m->key == FREE)
            return NULL;
    }
    return NULL;
}

static bool note(uint32_t device, int64_t delta_bytes)
{
    if (seg.next - seg.first == CHANGES)
        return false;
    seg.changes[seg.next++ % CHANGES] = (struct change){pw_probe_now(), delta_bytes, device};
    return true;
}

/* ---- calls ---- */

/* Removes a handle whose release was not seen, because another profiler had CUPTI. */
static bool forget(struct handle *h)
{
    h->key = WAS_USED;
    return note(h->device, -(int64_t)h->bytes);
}

static bool create(const struct pw_cupti_mem_create *call)
{
    if (!call->handle || !call->prop)
        return true;
    const uint64_t key = *call->handle;
    struct handle *before = find_handle(key, false);
    const bool is_forgotten = key <= WAS_USED || !before || forget(before);
    if (call->prop->location_type != PW_CUDA_LOCATION_DEVICE)
        return is_forgotten; /* host memory */
    struct handle *h = find_handle(key, true);
    if (!is_forgotten || !h || key <= WAS_USED ||
        !note((uint32_t)call->prop->device, (int64_t)call->bytes))
        return false;
    *h = (struct handle){key, call->bytes, ++seg.serials, (uint32_t)call->prop->device, 1};
    return true;
}

/* Removes one reference of the handle; with `serial` not 0, only if it is still that allocation. */
static bool drop_use(uint64_t handle, uint64_t serial)
{
    struct handle *h = find_handle(handle, false);
    if (!h || (serial && h->serial != serial) || --h->uses)
        return true; /* unknown handle, or it still has references */
    h->key = WAS_USED;
    return note(h->device, -(int64_t)h->bytes);
}

static bool map(const struct pw_cupti_mem_map *call)
{
    struct mapping *before = find_mapping(call->address, false);
    bool is_noted = true;
    if (before) { /* the end of the earlier mapping was not seen */
        before->key = WAS_USED;
        is_noted = drop_use(before->handle, before->serial);
    }
    struct handle *h = find_handle(call->handle, false);
    struct mapping *m = h ? find_mapping(call->address, true) : NULL;
    if (!h)
        return is_noted;
    if (!m)
        return false;
    *m = (struct mapping){call->address, call->bytes, call->handle, h->serial};
    h->uses++;
    return is_noted;
}

/* Removes one mapping, or several adjacent ones. */
static bool unmap(const struct pw_cupti_mem_unmap *call)
{
    bool is_noted = true;
    for (uint64_t at = call->address, end = at + call->bytes; at < end;) {
        struct mapping *m = find_mapping(at, false);
        if (!m || !m->bytes)
            break;
        at += m->bytes;
        m->key = WAS_USED;
        is_noted &= drop_use(m->handle, m->serial);
    }
    return is_noted;
}

/* Adds a reference: the program asked for the handle that is mapped at an address, and must release
 * it again. */
static bool retain(const struct pw_cupti_mem_retain *call)
{
    struct handle *h = call->handle ? find_handle(*call->handle, false) : NULL;
    if (h)
        h->uses++;
    return true;
}

static bool take(enum function function, const void *params)
{
    const uint64_t *released = params;
    switch (function) {
    case CREATE:
        return create(params);
    case RELEASE:
        return drop_use(*released, 0);
    case MAP:
        return map(params);
    case RETAIN:
        return retain(params);
    default:
        return unmap(params);
    }
}

void pw_cuda_segments_call(void *arg, int domain, uint32_t callback, const void *data)
{
    const struct pw_cupti_call *call = data;
    (void)arg;
    if (domain != PW_CUPTI_DOMAIN_DRIVER || !pw_gate->on || call->site != PW_CUPTI_CALL_EXIT ||
        !call->params || !call->result || *(const int *)call->result)
        return;
    int function = 0;
    while (function < FUNCTIONS && atomic_load(&seg.callbacks[function]) != callback)
        function++;
    if (function == FUNCTIONS)
        return;
    const bool is_held = hold();
    if (!is_held || !take((enum function)function, call->params))
        pw_cuda_lose(1);
    if (is_held)
        release();
}

/* ---- the rest ---- */

static void find_functions(void)
{
    const struct pw_cupti *cupti = pw_cuda.cupti;
    for (uint32_t callback = 1; callback < PW_CUDA_FUNCTIONS; callback++) {
        const char *name = NULL;
        if (cupti->callback_name(PW_CUPTI_DOMAIN_DRIVER, callback, &name) || !name)
            continue;
        for (int i = 0; i < FUNCTIONS; i++)
            if (strcmp(name, functions[i]) == 0)
                atomic_store(&seg.callbacks[i], callback);
    }
}

bool pw_cuda_segments_watch(bool is_on)
{
    const struct pw_cupti *cupti = pw_cuda.cupti;
    void *subscriber = atomic_load(&pw_cuda.subscriber);
    if (!subscriber || !cupti->enable_callback || !cupti->callback_name)
        return false;
    if (is_on)
        find_functions();
    for (int i = 0; i < FUNCTIONS; i++)
        if (atomic_load(&seg.callbacks[i]))
            cupti->enable_callback(is_on, subscriber, PW_CUPTI_DOMAIN_DRIVER,
                                   atomic_load(&seg.callbacks[i]));
    return true;
}

void pw_cuda_segments_put(struct pw_thread *thread)
{
    for (;;) {
        struct change change;
        if (!hold())
            return;
        const bool is_there = seg.first != seg.next;
        if (is_there)
            change = seg.changes[seg.first++ % CHANGES];
        release();
        if (!is_there)
            return;
        const struct pw_record record = {
            .type = PW_REC_GPU_MEMORY,
            .op = (uint16_t)change.device,
            .start = change.time,
            .end = change.time,
            .device_memory.delta_bytes = change.delta_bytes,
        };
        pw_cuda_put(thread, &record);
    }
}
