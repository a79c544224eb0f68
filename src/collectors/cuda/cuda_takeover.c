/* Wrappers of CUPTI's functions, for the application's calls; see cuda_takeover.h. The application
 * finds them first, because the probe is in LD_PRELOAD. Functions that it gets by dlsym() on
 * CUPTI's handle are not wrapped. */
#include "collectors/cuda/cuda_takeover.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collectors/cuda/cuda_buffers.h"
#include "collectors/cuda/cupti_layout.h"
#include "rank/probe/scope.h"

#define EXPORT __attribute__((visibility("default")))

/* One bit for all kinds above the 63rd. */
enum { REST = 63 };
#define REST_NS ((int64_t)1000000000)

static struct {
    pw_cupti_request *_Atomic request;
    pw_cupti_complete *_Atomic complete;
    _Atomic uint64_t kinds; /* kinds that the application has enabled */
    _Atomic int64_t last_ns;
    _Atomic int ending; /* number of threads in cuptiFinalize() */
    void *_Atomic subscriber;
} theirs;

EXPORT int cuptiActivityRegisterCallbacks(pw_cupti_request *request, pw_cupti_complete *complete);
EXPORT int cuptiActivityRegisterTimestampCallback(pw_cupti_clock *clock);
EXPORT int cuptiActivityEnable(int kind);
EXPORT int cuptiActivityDisable(int kind);
EXPORT int cuptiFinalize(void);
EXPORT int cuptiSubscribe(void **subscriber, pw_cupti_callback *callback, void *arg);
EXPORT int cuptiSubscribe_v2(void **subscriber, pw_cupti_callback *callback, void *arg,
                             struct pw_cupti_subscription *params);
EXPORT int cuptiUnsubscribe(void *subscriber);

static uint64_t bit_of(int kind)
{
    return UINT64_C(1) << (kind < 0 || kind > REST ? REST : kind);
}

bool pw_takeover_has(int kind)
{
    return (atomic_load(&theirs.kinds) & bit_of(kind)) != 0;
}

/* Triton's profiler. The probe does not see its calls, because it uses dlsym(). It ends the program
 * when CUPTI is in use, so we release CUPTI as soon as it is loaded. */
static const char dlsym_user[] = "libproton.so";

static bool find_dlsym_user(void)
{
    static _Atomic unsigned long long seen;
    static _Atomic int is_there;
    char path[PATH_MAX];
    const unsigned long long loads = pw_scope_loads();
    if (atomic_load(&seen) != loads || !loads) {
        atomic_store(&is_there, pw_scope_path(pw_scope_is_named, dlsym_user, 0, path));
        atomic_store(&seen, loads);
    }
    return atomic_load(&is_there);
}

bool pw_takeover_is_subscribed(void)
{
    return atomic_load(&theirs.subscriber) != NULL;
}

bool pw_takeover_is_on(void)
{
    int64_t last = atomic_load(&theirs.last_ns);
    return atomic_load(&theirs.kinds) != 0 || atomic_load(&theirs.ending) != 0 ||
           (last && pw_local_ns() - last < REST_NS) || find_dlsym_user();
}

bool pw_takeover_request(uint8_t **buffer, size_t *size, size_t *most_records)
{
    pw_cupti_request *request = atomic_load(&theirs.request);
    if (!request || atomic_load(&pw_cuda.mode) != PW_CUDA_YIELDED)
        return false;
    request(buffer, size, most_records);
    return true;
}

void pw_takeover_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t used)
{
    pw_cupti_complete *complete = atomic_load(&theirs.complete);
    if (complete)
        complete(context, stream, buffer, size, used);
}

/* Stores the name of the profiler that uses CUPTI now. `caller` NULL: the one that
 * pw_takeover_look() has found. */
static void name_holder(const void *caller)
{
    const struct link_map *object = caller ? pw_scope_object(caller) : NULL;
    const char *path = object && object->l_name ? object->l_name : "";
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : *path ? path : program_invocation_short_name;
    snprintf(pw_cuda.holder, sizeof(pw_cuda.holder), "%s", caller ? name : dlsym_user);
}

/* Ends our use of CUPTI, because the application begins to use it. */
static void yield(const void *caller)
{
    atomic_store(&theirs.last_ns, pw_local_ns());
    if (!pw_gate->on)
        return;
    int armed = PW_CUDA_ARMED, arming = PW_CUDA_ARMING;
    if (atomic_load(&pw_cuda.mode) == PW_CUDA_INERT)
        name_holder(caller); /* a later profiler may have another name */
    const bool is_on = atomic_compare_exchange_strong(&pw_cuda.mode, &armed, PW_CUDA_YIELDED);
    if (!is_on && !atomic_compare_exchange_strong(&pw_cuda.mode, &arming, PW_CUDA_YIELDED))
        return;
    if (!atomic_load(&pw_cuda_borrow_notes()->taken_since)) {
        name_holder(caller);
        atomic_store(&pw_cuda_borrow_notes()->taken_since, pw_probe_now());
    }
    if (is_on)
        pw_cuda_disarm();
    else
        pw_cuda_await_calls(); /* so that no call of ours enables a kind after this */
}

void pw_takeover_look(void)
{
    const int mode = atomic_load(&pw_cuda.mode);
    if ((mode == PW_CUDA_ARMED || mode == PW_CUDA_INERT) && find_dlsym_user())
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
    atomic_store(&theirs.request, request);
    atomic_store(&theirs.complete, complete);
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
    const uint64_t before = atomic_fetch_or(&theirs.kinds, bit_of(kind));
    int result = real(kind);
    if (result != PW_CUPTI_SUCCESS && !(before & bit_of(kind)))
        atomic_fetch_and(&theirs.kinds, ~bit_of(kind));
    return result;
}

int cuptiActivityDisable(int kind)
{
    typedef int disable(int);
    REAL(disable, "cuptiActivityDisable")
    if (is_ours && is_in_use(kind))
        return PW_CUPTI_SUCCESS; /* the kind stays enabled for the probe */
    atomic_store(&theirs.last_ns, pw_local_ns());
    atomic_fetch_and(&theirs.kinds, ~bit_of(kind));
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
    atomic_fetch_add(&theirs.ending, 1);
    int result = real();
    atomic_fetch_sub(&theirs.ending, 1);
    atomic_store(&theirs.last_ns, pw_local_ns());
    atomic_store(&theirs.kinds, 0);
    atomic_store(&theirs.subscriber, NULL);
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
        atomic_store(&theirs.subscriber, *subscriber);
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
        atomic_store(&theirs.subscriber, *subscriber);
    return result;
}

int cuptiUnsubscribe(void *subscriber)
{
    typedef int unsubscribe(void *);
    REAL(unsubscribe, "cuptiUnsubscribe")
    void *held = subscriber;
    if (atomic_compare_exchange_strong(&theirs.subscriber, &held, NULL))
        atomic_store(&theirs.last_ns, pw_local_ns());
    return real(subscriber);
}
