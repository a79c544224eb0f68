/* Selects what CUPTI records and its settings, and wraps the functions of CUPTI that the
 * application calls; see cuda_arm.h. The application finds the wrappers first, because the probe is
 * in LD_PRELOAD. Functions that it gets by dlsym() on CUPTI's handle are not wrapped. */
#include "collectors/cuda/cuda_arm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collectors/cuda/cuda_buffers.h"
#include "collectors/cuda/cuda_segments.h"
#include "collectors/cuda/cuda_subscriber.h"
#include "rank/probe/scope.h"

static uint64_t read_clock(void)
{
    return pw_probe_now();
}

/* ---- kinds ---- */

/* Enables the kind, and of its functions only those that launch work. The kind comes first: when
 * another profiler has used it before, CUPTI of CUDA 13.0 ignores single functions without it. */
static void choose_calls(int kind, int domain)
{
    pw_subscriber_switch_kind(kind, true);
    for (uint32_t callback = 1; callback < PW_CUDA_FUNCTIONS; callback++) {
        const char *name = NULL;
        if (pw_cuda.cupti->callback_name(domain, callback, &name) == 0 && name)
            pw_subscriber_switch_call(domain, callback, pw_cuda_launches(name));
    }
}

/* Leaves the kind enabled when the application has enabled it, too. */
static void switch_off(int kind)
{
    if (atomic_load(&pw_cuda.is_shared) || !pw_theirs_has(kind))
        pw_subscriber_switch_kind(kind, false);
}

/* At level 1, calls that launch are recorded, to know by which thread and when work was launched.
 * If CUPTI cannot select single functions, these are all calls of the runtime. */
static void watch_launches(bool is_on)
{
    const bool chooses = pw_cuda.cupti->callback_name && pw_subscriber_chooses_calls();
    if (pw_cuda.level != 1)
        return;
    if (!is_on) {
        switch_off(PW_CUPTI_RUNTIME);
        switch_off(PW_CUPTI_DRIVER);
    } else if (chooses) {
        choose_calls(PW_CUPTI_RUNTIME, PW_CUPTI_DOMAIN_RUNTIME);
        choose_calls(PW_CUPTI_DRIVER, PW_CUPTI_DOMAIN_DRIVER);
    } else {
        pw_subscriber_switch_kind(PW_CUPTI_RUNTIME, true);
    }
}

/* Limits CUPTI's memory on the device. There it stores 32 bytes of times for each activity until
 * the host has read them, by default in up to about 1 GiB. 256 MiB have room for 8 million
 * kernels. */
static void limit_device_memory(void)
{
    enum { FEWEST = 8, MOST_BYTES = 256 << 20 };
    size_t bytes = 0, most = 0, size = sizeof(bytes);
    if (pw_subscriber_get_attribute(PW_CUPTI_DEVICE_BUFFER_BYTES, &size, &bytes) || !bytes ||
        pw_subscriber_get_attribute(PW_CUPTI_DEVICE_BUFFERS, &size, &most))
        return;
    size_t wanted = MOST_BYTES / bytes > FEWEST ? MOST_BYTES / bytes : FEWEST;
    if (wanted < most &&
        pw_subscriber_set_attribute(PW_CUPTI_DEVICE_BUFFERS, &size, &wanted) == PW_CUPTI_SUCCESS)
        most = wanted;
    pw_cuda.device_bytes = bytes * most;
}

/* To be called before callbacks and kinds are enabled: later, the effect of the settings is
 * undefined. */
static void choose_settings(void)
{
    /* With buffers per thread, each thread that launches would keep one of our buffers. */
    uint8_t per_thread = 0;
    size_t size = sizeof(per_thread);
    /* A new subscriber has no kinds enabled. */
    if (!atomic_exchange(&pw_cuda.is_default, 0) && !atomic_load(&pw_cuda.is_shared))
        return;
    pw_subscriber_set_attribute(PW_CUPTI_PER_THREAD_BUFFER, &size, &per_thread);
    limit_device_memory();
}

static void note_lack(enum pw_gpu_lack lack, int result)
{
    if (!result)
        return;
    pw_cuda.lacking_result = pw_cuda.lacking ? pw_cuda.lacking_result : result;
    pw_cuda.lacking |= 1u << lack;
}

static int switch_on(void)
{
    choose_settings();
    pw_cuda.result = pw_cuda_offer_buffers();
    if (pw_cuda.result)
        return pw_cuda.result;
    pw_subscriber_set_thread_ids();
    /* Kernels first: without them, the other kinds are useless. */
    pw_cuda.result = pw_subscriber_switch_kind(PW_CUPTI_CONCURRENT_KERNEL, true);
    if (pw_cuda.result)
        return pw_cuda.result;
    pw_cuda.lacking = 0;
    for (int i = 0; i < PW_CUDA_KINDS; i++)
        if (pw_cuda_kinds[i].level <= pw_cuda.level)
            note_lack(pw_cuda_kinds[i].lack,
                      pw_subscriber_switch_kind(pw_cuda_kinds[i].kind, true));
    pw_cuda.result = pw_cuda.lacking ? pw_cuda.lacking_result : PW_CUPTI_SUCCESS;
    watch_launches(true);
    if (pw_cuda.level > 0 && !pw_cuda_segments_watch(true))
        note_lack(PW_GPU_LACKS_MAPPED, PW_CUPTI_OTHER_SUBSCRIBER);
    return PW_CUPTI_SUCCESS;
}

static void switch_all_off(void)
{
    for (int i = 0; i < PW_CUDA_KINDS; i++)
        if (pw_cuda_kinds[i].level <= pw_cuda.level)
            switch_off(pw_cuda_kinds[i].kind);
    watch_launches(false);
    pw_cuda_segments_watch(false);
    pw_cuda.cupti->flush_all(PW_CUPTI_FLUSH_FORCED);
}

bool pw_cuda_arm(void)
{
    pw_cuda.result = pw_subscriber_begin(read_clock, pw_cuda_segments_call);
    if (pw_cuda.result)
        return false;
    if (switch_on()) {
        pw_subscriber_end();
        return false;
    }
    pw_cuda.is_recording = true;
    if (!pw_cuda_turn(PW_CUDA_ARMING, PW_CUDA_ARMED)) {
        switch_all_off(); /* the application began to use CUPTI meanwhile */
        pw_subscriber_end();
    }
    return true;
}

/* When a flush still uses the subscription, ending it would crash. So it stays, and the application
 * cannot subscribe, until the worker ends it after the flush. */
static void disarm(void)
{
    const bool is_alone = pw_cuda_await_calls();
    switch_all_off();
    if (is_alone)
        pw_subscriber_end();
    else
        atomic_store(&pw_cuda.is_left, 1);
}

void pw_cuda_end_left(void)
{
    int left = 1;
    if (atomic_compare_exchange_strong(&pw_cuda.is_left, &left, 0))
        pw_subscriber_end();
}

/* ---- the application's calls ---- */

#define EXPORT __attribute__((visibility("default")))

EXPORT int cuptiActivityRegisterCallbacks(pw_cupti_request *request, pw_cupti_complete *complete);
EXPORT int cuptiActivityRegisterTimestampCallback(pw_cupti_clock *clock);
EXPORT int cuptiActivityEnable(int kind);
EXPORT int cuptiActivityDisable(int kind);
EXPORT int cuptiFinalize(void);
EXPORT int cuptiSubscribe(void **subscriber, pw_cupti_callback *callback, void *arg);
EXPORT int cuptiSubscribe_v2(void **subscriber, pw_cupti_callback *callback, void *arg,
                             struct pw_cupti_subscription *params);
EXPORT int cuptiUnsubscribe(void *subscriber);

/* Stores the name of the profiler that uses CUPTI now. `caller` NULL: the one that
 * pw_cuda_look() has found. */
static void name_holder(const void *caller)
{
    const struct link_map *object = caller ? pw_scope_object(caller) : NULL;
    const char *path = object && object->l_name ? object->l_name : "";
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : *path ? path : program_invocation_short_name;
    snprintf(pw_cuda.holder, sizeof(pw_cuda.holder), "%s", caller ? name : pw_theirs_dlsym_user);
}

/* Ends our use of CUPTI, because the application begins to use it. */
static void yield(const void *caller)
{
    atomic_store(&pw_cuda.theirs.last_ns, pw_local_ns());
    if (!pw_gate->on)
        return;
    if (atomic_load(&pw_cuda.mode) == PW_CUDA_INERT)
        name_holder(caller); /* a later profiler may have another name */
    const bool is_on = pw_cuda_turn(PW_CUDA_ARMED, PW_CUDA_YIELDED);
    if (!is_on && !pw_cuda_turn(PW_CUDA_ARMING, PW_CUDA_YIELDED))
        return;
    if (!atomic_load(&pw_cuda_borrow_notes()->taken_since)) {
        name_holder(caller);
        atomic_store(&pw_cuda_borrow_notes()->taken_since, pw_probe_now());
    }
    if (is_on)
        disarm();
    else
        pw_cuda_await_calls(); /* so that no call of ours enables a kind after this */
}

void pw_cuda_look(void)
{
    const int mode = atomic_load(&pw_cuda.mode);
    if ((mode == PW_CUDA_ARMED || mode == PW_CUDA_INERT) && pw_theirs_find_dlsym_user())
        yield(NULL);
}

/* Whether the probe records the kind now. */
static bool is_in_use(int kind)
{
    const int mode = pw_gate->on ? atomic_load(&pw_cuda.mode) : PW_CUDA_INERT;
    return (mode == PW_CUDA_ARMED || mode == PW_CUDA_ARMING) && !atomic_load(&pw_cuda.is_shared) &&
           pw_cuda_uses(kind);
}

/* Declares `real`: the function that the caller would get without this wrapper. */
#define REAL(type, symbol)                                                        \
    int is_ours;                                                                  \
    void *found = pw_cupti_called(symbol, __builtin_return_address(0), &is_ours); \
    type *real = (type *)(uintptr_t)found;                                        \
    if (!real)                                                                    \
        return PW_CUPTI_NOT_SUPPORTED;

int cuptiActivityRegisterCallbacks(pw_cupti_request *request, pw_cupti_complete *complete)
{
    typedef int set(pw_cupti_request *, pw_cupti_complete *);
    REAL(set, "cuptiActivityRegisterCallbacks")
    yield(__builtin_return_address(0));
    atomic_store(&pw_cuda.theirs.request, request);
    atomic_store(&pw_cuda.theirs.complete, complete);
    /* When our callbacks are registered, they stay: they give each buffer to its owner. */
    const bool stays = is_ours && pw_gate->on && atomic_load(&pw_cuda.has_process) &&
                       atomic_load(&pw_cuda.mode) == PW_CUDA_YIELDED;
    return stays ? PW_CUPTI_SUCCESS : real(request, complete);
}

int cuptiActivityRegisterTimestampCallback(pw_cupti_clock *clock)
{
    typedef int set(pw_cupti_clock *);
    REAL(set, "cuptiActivityRegisterTimestampCallback")
    yield(__builtin_return_address(0));
    return real(clock);
}

int cuptiActivityEnable(int kind)
{
    typedef int enable(int);
    REAL(enable, "cuptiActivityEnable")
    yield(__builtin_return_address(0));
    /* Set first, so that the worker does not subscribe in between. */
    const uint64_t before = atomic_fetch_or(&pw_cuda.theirs.kinds, pw_theirs_bit(kind));
    int result = real(kind);
    if (result != PW_CUPTI_SUCCESS && !(before & pw_theirs_bit(kind)))
        atomic_fetch_and(&pw_cuda.theirs.kinds, ~pw_theirs_bit(kind));
    return result;
}

int cuptiActivityDisable(int kind)
{
    typedef int disable(int);
    REAL(disable, "cuptiActivityDisable")
    if (is_ours && is_in_use(kind))
        return PW_CUPTI_SUCCESS; /* the kind stays enabled for the probe */
    atomic_store(&pw_cuda.theirs.last_ns, pw_local_ns());
    atomic_fetch_and(&pw_cuda.theirs.kinds, ~pw_theirs_bit(kind));
    int result = real(kind);
    if (is_ours && is_in_use(kind))
        pw_cuda.cupti->enable(kind); /* the worker has disabled it in between */
    return result;
}

int cuptiFinalize(void)
{
    typedef int end(void);
    REAL(end, "cuptiFinalize")
    yield(__builtin_return_address(0));
    if (is_ours && !pw_cuda_await_calls())
        return PW_CUPTI_NOT_READY; /* our thread is in CUPTI on a GPU that hangs: the call would
                                    * crash */
    atomic_fetch_add(&pw_cuda.theirs.ending, 1);
    int result = real();
    atomic_fetch_sub(&pw_cuda.theirs.ending, 1);
    atomic_store(&pw_cuda.theirs.last_ns, pw_local_ns());
    atomic_store(&pw_cuda.theirs.kinds, 0);
    atomic_store(&pw_cuda.theirs.subscriber, NULL);
    atomic_store(&pw_cuda.is_default, is_ours);
    if (is_ours)
        atomic_store(&pw_cuda.has_process, 0);
    return result;
}

/* ---- subscriptions ---- */

int cuptiSubscribe(void **subscriber, pw_cupti_callback *callback, void *arg)
{
    typedef int subscribe(void **, pw_cupti_callback *, void *);
    REAL(subscribe, "cuptiSubscribe")
    yield(__builtin_return_address(0));
    int result = real(subscriber, callback, arg);
    if (result == PW_CUPTI_SUCCESS && is_ours && subscriber)
        atomic_store(&pw_cuda.theirs.subscriber, *subscriber);
    return result;
}

/* Lets the application subscribe beside the probe if CUPTI allows it, else alone. */
int cuptiSubscribe_v2(void **subscriber, pw_cupti_callback *callback, void *arg,
                      struct pw_cupti_subscription *params)
{
    typedef int subscribe(void **, pw_cupti_callback *, void *, struct pw_cupti_subscription *);
    REAL(subscribe, "cuptiSubscribe_v2")
    const bool shares = params && params->size > offsetof(struct pw_cupti_subscription, shares) &&
                        params->shares && atomic_load(&pw_cuda.is_shared);
    if (!shares || !is_ours)
        yield(__builtin_return_address(0));
    int result = real(subscriber, callback, arg, params);
    if (result == PW_CUPTI_SUCCESS && is_ours && subscriber &&
        pw_cuda.version < PW_CUPTI_SEVERAL_SUBSCRIBERS)
        atomic_store(&pw_cuda.theirs.subscriber, *subscriber);
    return result;
}

int cuptiUnsubscribe(void *subscriber)
{
    typedef int unsubscribe(void *);
    REAL(unsubscribe, "cuptiUnsubscribe")
    void *held = subscriber;
    if (atomic_compare_exchange_strong(&pw_cuda.theirs.subscriber, &held, NULL))
        atomic_store(&pw_cuda.theirs.last_ns, pw_local_ns());
    return real(subscriber);
}
