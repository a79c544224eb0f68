/* The state of recording, of its calls of CUPTI, and of the application's own use of CUPTI; see
 * cuda_state.h.
 *
 * The subscription calls CUPTI's functions with or without _v2. */
#include "collectors/cuda/cuda_state.h"

#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rank/probe/scope.h"

struct pw_cuda pw_cuda;

void pw_cuda_set_mode(enum pw_cuda_mode mode)
{
    atomic_store(&pw_cuda.mode, mode);
}

bool pw_cuda_turn(enum pw_cuda_mode from, enum pw_cuda_mode to)
{
    int expected = from;
    return atomic_compare_exchange_strong(&pw_cuda.mode, &expected, to);
}

const struct pw_cuda_kind pw_cuda_kinds[PW_CUDA_KINDS] = {
    {PW_CUPTI_CONCURRENT_KERNEL, 0, PW_GPU_LACKS},
    {PW_CUPTI_DEVICE, 0, PW_GPU_LACKS_DEVICES},
    {PW_CUPTI_MEMCPY, 0, PW_GPU_LACKS_COPIES},
    {PW_CUPTI_MEMCPY2, 0, PW_GPU_LACKS_COPIES},
    {PW_CUPTI_MEMSET, 0, PW_GPU_LACKS_SETS},
    {PW_CUPTI_MEMORY2, 1, PW_GPU_LACKS_MEMORY},
    {PW_CUPTI_SYNCHRONIZATION, 1, PW_GPU_LACKS_WAITS},
    {PW_CUPTI_OVERHEAD, 1, PW_GPU_LACKS_OVERHEAD},
    {PW_CUPTI_MEMORY_POOL, 1, PW_GPU_LACKS_MEMORY},
    {PW_CUPTI_RUNTIME, 2, PW_GPU_LACKS_CALLS},
    {PW_CUPTI_DRIVER, 2, PW_GPU_LACKS_CALLS},
};

bool pw_cuda_uses(int kind)
{
    for (int i = 0; i < PW_CUDA_KINDS; i++)
        if (pw_cuda_kinds[i].kind == kind && pw_cuda_kinds[i].level <= pw_cuda.level)
            return true;
    /* Level 1 uses these two kinds as well, but only for the functions that launch. */
    return pw_cuda.level == 1 && (kind == PW_CUPTI_RUNTIME || kind == PW_CUPTI_DRIVER);
}

void pw_cuda_wake_worker(void)
{
    atomic_fetch_add(&pw_cuda.wake, 1);
    syscall(SYS_futex, &pw_cuda.wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void pw_cuda_lose(size_t n)
{
    if (pw_gate->on && pw_cuda.pool)
        pw_gpu_lose(&pw_cuda_borrow_notes()->dropped, n);
}

void pw_cuda_put(struct pw_thread *thread, const struct pw_record *record)
{
    pw_gpu_put(thread, record, PW_CUDA_PATIENCE_MS);
}

/* ---- one at a time ---- */

bool pw_cuda_enter(void)
{
    atomic_store(&pw_cuda.caller, (int)syscall(SYS_gettid));
    const int mode = atomic_load(&pw_cuda.mode);
    if (mode == PW_CUDA_ARMED || mode == PW_CUDA_ARMING)
        return true;
    pw_cuda_leave();
    return false;
}

void pw_cuda_leave(void)
{
    atomic_store(&pw_cuda.caller, 0);
}

bool pw_cuda_await_calls(void)
{
    enum { PATIENCE_MS = 1000 };
    const struct timespec pause = {.tv_nsec = 1000000};
    const int self = (int)syscall(SYS_gettid);
    for (int ms = 0; ms < PATIENCE_MS; ms++) {
        int caller = atomic_load(&pw_cuda.caller);
        if (!caller || caller == self)
            return true;
        syscall(SYS_nanosleep, &pause, NULL);
    }
    return false;
}

/* ---- the application's own use ---- */

/* This bit is for kind 63, for those above it, and for negative ones. */
enum { REST = 63 };
/* For so long after its last call of CUPTI, the application counts as using it. */
#define QUIET_NS ((int64_t)1000000000)

uint64_t pw_theirs_bit(int kind)
{
    return UINT64_C(1) << (kind < 0 || kind > REST ? REST : kind);
}

bool pw_theirs_has(int kind)
{
    return (atomic_load(&pw_cuda.theirs.kinds) & pw_theirs_bit(kind)) != 0;
}

/* Triton's profiler. It calls CUPTI by dlsym(), past the probe, and ends the program if CUPTI is in
 * use. So the probe releases CUPTI as soon as this library is loaded. */
const char pw_theirs_dlsym_user[] = "libproton.so";

bool pw_theirs_find_dlsym_user(void)
{
    static _Atomic unsigned long long seen;
    static _Atomic int is_there;
    char path[PATH_MAX];
    const unsigned long long loads = pw_scope_loads();
    if (atomic_load(&seen) != loads || !loads) {
        atomic_store(&is_there, pw_scope_path(pw_scope_is_named, pw_theirs_dlsym_user, 0, path));
        atomic_store(&seen, loads);
    }
    return atomic_load(&is_there);
}

/* Whether the application has the only subscription of the process. */
static bool theirs_is_subscribed(void)
{
    return atomic_load(&pw_cuda.theirs.subscriber) != NULL;
}

bool pw_theirs_is_on(void)
{
    int64_t last = atomic_load(&pw_cuda.theirs.last_ns);
    return atomic_load(&pw_cuda.theirs.kinds) != 0 || atomic_load(&pw_cuda.theirs.ending) != 0 ||
           (last && pw_local_ns() - last < QUIET_NS) || pw_theirs_find_dlsym_user();
}

bool pw_theirs_request(uint8_t **buffer, size_t *size, size_t *most_records)
{
    pw_cupti_request *request = atomic_load(&pw_cuda.theirs.request);
    if (!request || atomic_load(&pw_cuda.mode) != PW_CUDA_YIELDED)
        return false;
    request(buffer, size, most_records);
    return true;
}

void pw_theirs_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t used)
{
    pw_cupti_complete *complete = atomic_load(&pw_cuda.theirs.complete);
    if (complete)
        complete(context, stream, buffer, size, used);
}

/* Calls CUPTI's functions with or without _v2. */

/* Reads the sizes of records now, because buffers may be converted after the subscription has
 * ended. */
static bool read_sizes(void)
{
    for (int kind = 1; kind < PW_CUPTI_KINDS; kind++) {
        size_t size = 0;
        int result = pw_cuda.cupti->record_size(kind, 0, &size);
        if (!result && size <= PW_POOL_SLOT)
            atomic_store(&pw_cuda_borrow_notes()->stride[kind], (uint32_t)size);
        else if (pw_cuda_uses(kind))
            return false;
    }
    return true;
}

/* Whether to subscribe so that others may subscribe, too. False if a profiler in the process uses
 * the older functions: these would be refused, and Kineto tries only once. */
static bool may_share(void)
{
    char path[PATH_MAX];
    return pw_cuda.version >= PW_CUPTI_SUBSCRIBERS_CLOCKS && pw_cuda.cupti->has_v2 &&
           read_sizes() &&
           !pw_scope_path(pw_scope_is_importing, "cuptiActivityRegisterCallbacks", 0, path);
}

static int subscribe(size_t size, bool shares, pw_cupti_callback *call)
{
    void *subscriber = NULL;
    char holder[sizeof(pw_cuda.other)] = "";
    struct pw_cupti_subscription params = {.size = size,
                                           .name = "profwrap",
                                           .holder = holder,
                                           .holder_size = sizeof(holder),
                                           .shares = shares};
    int result = pw_cuda.cupti->subscribe_v2(&subscriber, call, NULL, &params);
    holder[sizeof(holder) - 1] = '\0';
    if (!result)
        atomic_store(&pw_cuda.subscriber, subscriber);
    else if (holder[0])
        memcpy(pw_cuda.other, holder, sizeof(holder));
    return result;
}

static int share(pw_cupti_clock *clock, pw_cupti_callback *call)
{
    size_t size = sizeof(clock);
    int result = may_share() ? subscribe(sizeof(struct pw_cupti_subscription), true, call)
                             : PW_CUPTI_NOT_SUPPORTED;
    if (result)
        return result;
    atomic_store(&pw_cuda.is_shared, 1);
    result = pw_subscriber_set_attribute(PW_CUPTI_CLOCK, &size, &clock);
    if (result)
        pw_subscriber_end();
    pw_cuda.was_shared |= !result;
    return result;
}

/* Subscribes alone. Fails when the application has a subscription, even if it does not use it
 * now. */
static int hold(pw_cupti_callback *call)
{
    const struct pw_cupti *cupti = pw_cuda.cupti;
    void *subscriber = NULL;
    int result = 0;
    if (!cupti->unsubscribe)
        return 0;
    if (cupti->subscribe_v2 && pw_cuda.version >= PW_CUPTI_SUBSCRIBERS_NAMES &&
        pw_cuda.version < PW_CUPTI_SEVERAL_SUBSCRIBERS) {
        result = subscribe(offsetof(struct pw_cupti_subscription, shares), false, call);
    } else if (cupti->subscribe) {
        result = cupti->subscribe(&subscriber, call, NULL);
        atomic_store(&pw_cuda.subscriber, result ? NULL : subscriber);
    }
    return result == PW_CUPTI_OTHER_SUBSCRIBER && !theirs_is_subscribed() ? result : 0;
}

int pw_subscriber_begin(pw_cupti_clock *clock, pw_cupti_callback *call)
{
    static const char unknown[] = "another tool";
    memcpy(pw_cuda.other, unknown, sizeof(unknown));
    atomic_store(&pw_cuda.is_shared, 0);
    if (!share(clock, call))
        return 0;
    int result = hold(call);
    /* The clock first: it is used by kinds that are enabled later. */
    result = result ? result : pw_cuda.cupti->set_clock(clock);
    if (result)
        pw_subscriber_end();
    return result;
}

void pw_subscriber_end(void)
{
    void *subscriber = atomic_exchange(&pw_cuda.subscriber, NULL);
    if (subscriber)
        pw_cuda.cupti->unsubscribe(subscriber);
    atomic_store(&pw_cuda.is_shared, 0);
}

/* ---- functions that work with both interfaces ---- */

static void *shared(void)
{
    return atomic_load(&pw_cuda.is_shared) ? atomic_load(&pw_cuda.subscriber) : NULL;
}

int pw_subscriber_set_callbacks(const struct pw_subscriber_calls *calls)
{
    void *subscriber = shared();
    if (subscriber)
        return pw_cuda.cupti->set_callbacks_v2(subscriber, calls->request_v2, calls->complete_v2);
    int result = pw_cuda.cupti->set_callbacks(calls->request, calls->complete);
    atomic_store(&pw_cuda.has_process, result == PW_CUPTI_SUCCESS);
    return result;
}

void pw_subscriber_set_thread_ids(void)
{
    int type = PW_CUPTI_THREAD_ID_SYSTEM;
    size_t size = sizeof(type);
    if (shared())
        pw_subscriber_set_attribute(PW_CUPTI_THREAD_IDS, &size, &type);
    else if (pw_cuda.cupti->set_thread_ids)
        pw_cuda.cupti->set_thread_ids(type);
}

int pw_subscriber_get_attribute(int attribute, size_t *size, void *value)
{
    const struct pw_cupti *cupti = pw_cuda.cupti;
    void *subscriber = shared();
    if (subscriber)
        return cupti->get_attribute_v2(subscriber, attribute, size, value);
    return cupti->get_attribute ? cupti->get_attribute(attribute, size, value)
                                : PW_CUPTI_NOT_SUPPORTED;
}

int pw_subscriber_set_attribute(int attribute, size_t *size, void *value)
{
    const struct pw_cupti *cupti = pw_cuda.cupti;
    void *subscriber = shared();
    if (subscriber)
        return cupti->set_attribute_v2(subscriber, attribute, size, value);
    return cupti->set_attribute ? cupti->set_attribute(attribute, size, value)
                                : PW_CUPTI_NOT_SUPPORTED;
}

int pw_subscriber_switch_kind(int kind, bool is_on)
{
    const struct pw_cupti *cupti = pw_cuda.cupti;
    void *subscriber = shared();
    if (subscriber)
        return is_on ? cupti->enable_v2(subscriber, kind, NULL)
                     : cupti->disable_v2(subscriber, kind, NULL);
    return is_on ? cupti->enable(kind) : cupti->disable(kind);
}

bool pw_subscriber_chooses_calls(void)
{
    return shared() || (pw_cuda.cupti->enable_runtime && pw_cuda.cupti->enable_driver);
}

void pw_subscriber_switch_call(int domain, uint32_t callback, bool is_on)
{
    const struct pw_cupti *cupti = pw_cuda.cupti;
    const bool is_runtime = domain == PW_CUPTI_DOMAIN_RUNTIME;
    void *subscriber = shared();
    if (subscriber)
        (is_runtime ? cupti->enable_runtime_v2 : cupti->enable_driver_v2)(subscriber, callback,
                                                                          is_on);
    else
        (is_runtime ? cupti->enable_runtime : cupti->enable_driver)(callback, is_on);
}

int pw_subscriber_drops(void *context, uint32_t stream, size_t *count)
{
    void *subscriber = shared();
    return subscriber ? pw_cuda.cupti->drops_v2(subscriber, context, stream, count)
                      : pw_cuda.cupti->drops(context, stream, count);
}

/* Steps by the sizes that read_sizes() has read: the new function needs a subscriber, and the older
 * one must not be mixed with it. */
int pw_subscriber_next(uint8_t *bytes, size_t used, void **record)
{
    uint8_t *at = bytes;
    uint32_t kind, size = 0;
    if (!pw_cuda.was_shared)
        return pw_cuda.cupti->next(bytes, used, record);
    if (*record) {
        memcpy(&kind, *record, sizeof(kind));
        size = kind < PW_CUPTI_KINDS ? atomic_load(&pw_cuda_borrow_notes()->stride[kind]) : 0;
        at = (uint8_t *)*record + size;
    }
    if (*record && !size)
        return PW_CUPTI_INVALID_KIND;
    if (at + sizeof(kind) > bytes + used)
        return PW_CUPTI_LIMIT_REACHED;
    *record = at;
    return PW_CUPTI_SUCCESS;
}
