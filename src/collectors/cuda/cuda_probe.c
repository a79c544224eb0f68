/* The library that CUDA_INJECTION64_PATH names: cuInit() calls InitializeInjection(). It makes
 * CUPTI write GPU activities into the pool, and starts the worker, our only thread in the
 * application, which converts them. Without a GPU, CUDA does not call it, and nothing here runs. */
#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collectors/cuda/cuda_buffers.h"
#include "collectors/cuda/cuda_segments.h"
#include "collectors/cuda/cuda_state.h"
#include "rank/probe/attach.h"
#include "rank/probe/scope.h"

/* Begins and ends our use of CUPTI. A process has only one set of callbacks, kinds and clocks. So
 * when the application begins to use CUPTI itself, the probe stops, and continues when the
 * application has disabled all its kinds. Selects what CUPTI records and its settings, and wraps
 * the functions of CUPTI that the application calls. The application finds the wrappers first,
 * because the probe is in LD_PRELOAD. Functions that it gets by dlsym() on CUPTI's handle are not
 * wrapped. */

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

/* Enables recording by CUPTI. Returns false when CUPTI refuses. Called by the worker, and the first
 * time by the thread that starts CUDA. */
static bool cuda_arm(void)
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

/* Ends a subscription that could not be ended when the application began to use CUPTI. Called by
 * the worker while it is not in CUPTI. */
static void cuda_end_left(void)
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
 * cuda_look() has found. */
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

/* Ends our use of CUPTI when a profiler was loaded whose calls the probe cannot see. Called by the
 * worker. */
static void cuda_look(void)
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

/* CUPTI returns full buffers itself; partly filled ones only at a flush, every FLUSH_NS. */
#define FLUSH_NS ((int64_t)250000000)
#define RETRY_NS ((int64_t)1000000000)
enum { NAP_NS = 50000000, IDLE_MS = 2000, END_MS = 10000, REST_MS = 500 };

EXPORT int InitializeInjection(void);

/* ---- the worker ---- */

static void sleep_until_woken(uint32_t seen)
{
    const struct timespec limit = {.tv_nsec = NAP_NS};
    syscall(SYS_futex, &pw_cuda.wake, FUTEX_WAIT_PRIVATE, seen, &limit, NULL, 0);
}

static void put_state(struct pw_thread *thread)
{
    const uint64_t now = pw_probe_now();
    const char *holder = pw_cuda.result == PW_CUPTI_OTHER_SUBSCRIBER ? pw_cuda.other
                         : pw_cuda.result == PW_CUDA_TAKEN           ? pw_cuda.holder
                                                                     : "";
    const struct pw_record record = {
        .type = PW_REC_GPU_STATE,
        .stack = pw_probe_intern(thread, holder),
        .start = now,
        .end = now,
        .gpu_state = {.version = pw_cuda.version,
                      .level = pw_cuda.level,
                      .result = pw_cuda.result,
                      .is_recording = pw_cuda.is_recording,
                      .device_bytes = pw_cuda.device_bytes,
                      .lacking = pw_cuda.lacking,
                      .lacking_result = pw_cuda.lacking_result},
    };
    pw_cuda_put(thread, &record);
}

static void note_holder(struct pw_thread *thread)
{
    struct pw_cuda_notes *notes = pw_cuda_borrow_notes();
    if (atomic_load(&notes->taken_since) && !atomic_load(&notes->taken_by))
        atomic_store(&notes->taken_by, pw_probe_intern(thread, pw_cuda.holder));
}

/* Writes a gap for the time in which another profiler had CUPTI. Called when that, or the program,
 * has ended. */
static void put_gap(struct pw_thread *thread)
{
    note_holder(thread);
    const uint32_t holder = atomic_exchange(&pw_cuda_borrow_notes()->taken_by, 0);
    const uint64_t since = atomic_exchange(&pw_cuda_borrow_notes()->taken_since, 0);
    if (!since)
        return;
    const struct pw_record record = {
        .type = PW_REC_GPU_GAP,
        .op = PW_REASON_CUPTI_TAKEN,
        .stack = holder,
        .start = since,
        .end = pw_probe_now(),
    };
    pw_cuda_put(thread, &record);
}

static bool arm(void)
{
    const bool is_armed = pw_cuda_enter() && cuda_arm();
    pw_cuda_leave();
    return is_armed;
}

/* Continues recording when other profilers have ended their use of CUPTI. */
static void come_back(struct pw_thread *thread)
{
    static int64_t refused_ns;
    if (pw_theirs_is_on() || (refused_ns && pw_local_ns() - refused_ns < RETRY_NS) ||
        !pw_cuda_turn(PW_CUDA_YIELDED, PW_CUDA_ARMING))
        return;
    if (arm()) {
        put_gap(thread);
        put_state(thread);
    } else {
        refused_ns = pw_local_ns();
        pw_cuda_set_mode(PW_CUDA_YIELDED);
    }
}

static void convert(struct pw_thread *thread)
{
    cuda_end_left();
    if (!pw_probe_lock(thread))
        return;
    pw_cuda_convert_all(thread);
    if (atomic_load(&pw_cuda.mode) == PW_CUDA_YIELDED) {
        note_holder(thread);
        come_back(thread);
    }
    pw_probe_unlock(thread);
}

static void flush(uint32_t flags)
{
    if (!pw_cuda_enter())
        return;
    pw_cuda.cupti->flush_all(flags);
    pw_cuda_leave();
}

static bool has_filling(void)
{
    for (int i = 0; i < PW_POOL_SLOTS; i++)
        if (atomic_load(&pw_cuda.pool->slots[i].state) == PW_POOL_FILLING)
            return true;
    return false;
}

/* Flushes and waits a moment: CUPTI may return buffers in a thread of its own after the flush. */
static void flush_rest(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    flush(PW_CUPTI_FLUSH_FORCED);
    for (int ms = 0; ms < REST_MS && has_filling(); ms++)
        syscall(SYS_nanosleep, &pause, NULL);
}

static void work(void)
{
    struct pw_thread *thread = pw_probe_thread();
    int64_t flushed_ns = pw_local_ns();
    while (thread && !atomic_load(&pw_cuda.stopping)) {
        uint32_t seen = atomic_load(&pw_cuda.wake);
        if (pw_local_ns() - flushed_ns >= FLUSH_NS) {
            cuda_look();
            flush(0);
            flushed_ns = pw_local_ns();
        }
        convert(thread);
        sleep_until_woken(seen);
    }
    flush_rest();
    if (thread && pw_probe_lock(thread)) {
        pw_cuda_convert_all(thread);
        put_gap(thread);
        pw_probe_unlock(thread);
    }
    atomic_store(&pw_cuda.has_ended, 1);
}

/* ---- begin and end ---- */

/* Waits as long as the worker makes progress, which is slow when the collector gets little CPU
 * time. */
static void await_worker(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    uint32_t seen = atomic_load(&pw_cuda.converted);
    for (int idle = 0, all = 0; idle < IDLE_MS && all < END_MS; idle++, all++) {
        if (atomic_load(&pw_cuda.has_ended))
            return;
        uint32_t now = atomic_load(&pw_cuda.converted);
        idle = now == seen ? idle : 0;
        seen = now;
        syscall(SYS_nanosleep, &pause, NULL);
    }
}

/* An exit handler that is registered within cuInit(), so it runs before CUDA's own, earlier
 * handlers. The worker flushes CUPTI, not this thread: on a GPU that hangs the flush may never
 * return, and the program must be able to end. */
static void finish(void)
{
    if (!pw_gate->on) /* a forked child */
        return;
    atomic_store(&pw_cuda.stopping, 1);
    pw_cuda_wake_worker();
    await_worker();
}

static bool is_wanted(void)
{
    const struct pw_segment_shared *segment = pw_probe_borrow_segment();
    return pw_gate->on && segment && (segment->activities & PW_ACTIVITY_CUDA);
}

/* Writes PW_REC_GPU_STATE in the thread that starts CUDA, before its next range, because the
 * collector stores ranges from then on. */
static void say_state(void)
{
    struct pw_thread *thread = pw_probe_thread();
    if (!thread || !pw_probe_lock(thread))
        return;
    put_state(thread);
    pw_probe_unlock(thread);
}

/* Waits for another profiler to release CUPTI; the worker checks for that. NCCL is asked for the
 * times of its kernels now, because its set of events cannot be changed later and CUPTI may stay in
 * use until the end. */
static bool wait_for_cupti(int result)
{
    pw_cuda.result = result;
    if (result == PW_CUPTI_OTHER_SUBSCRIBER)
        memcpy(pw_cuda.holder, pw_cuda.other, sizeof(pw_cuda.holder));
    pw_probe_say_gpu_untimed();
    atomic_store(&pw_cuda_borrow_notes()->taken_since, pw_probe_now());
    pw_cuda_set_mode(PW_CUDA_YIELDED);
    return true;
}

/* Uses the first CUPTI that does not refuse: one may be newer than the driver. */
static bool arm_any(void)
{
    int first_result = pw_cupti_refusal();
    do {
        pw_cuda.cupti->version(&pw_cuda.version);
        atomic_store(&pw_cuda.is_default, 1);
        pw_cuda_set_mode(PW_CUDA_ARMING);
        if (arm())
            return true;
        if (pw_cuda.result == PW_CUPTI_OTHER_SUBSCRIBER)
            return wait_for_cupti(PW_CUPTI_OTHER_SUBSCRIBER);
        if (!pw_cuda_turn(PW_CUDA_ARMING, PW_CUDA_INERT)) {
            pw_cuda.result = PW_CUDA_TAKEN; /* the application began to use it meanwhile: try
                                             * later */
            return true;
        }
        first_result = first_result ? first_result : pw_cuda.result;
    } while (pw_cupti_open());
    pw_cuda.result = first_result;
    return false;
}

static struct pw_gpu_worker worker;

/* Returns whether the worker has work now or may have later. */
static bool begin(void)
{
    const struct pw_segment_shared *segment = pw_probe_borrow_segment();
    pw_cuda.cupti = pw_cupti_open();
    pw_cuda.level = segment->level;
    if (!pw_cuda.cupti) {
        pw_cuda.result = pw_cupti_refusal()     ? pw_cupti_refusal()
                         : pw_cupti_was_found() ? PW_CUDA_OLD_LIBRARY
                                                : PW_CUDA_NO_LIBRARY;
        return false;
    }
    pw_cuda.cupti->version(&pw_cuda.version);
    if (pw_probe_create_pool(&pw_cuda.pool)) {
        pw_cuda.result = PW_CUPTI_OUT_OF_MEMORY;
        return false;
    }
    if (pw_gpu_worker_start(&worker, work)) {
        pw_cuda.result = PW_CUDA_NO_THREAD;
        return false;
    }
    atomic_store(&pw_cuda_borrow_notes()->keeps_calls, pw_cuda.level >= 2);
    cuda_look();
    return pw_theirs_is_on() ? wait_for_cupti(PW_CUDA_TAKEN) : arm_any();
}

int InitializeInjection(void)
{
    static _Atomic int has_begun;
    int saved = errno;
    /* Only in the rank's recording process: its child processes may use the GPU, too. */
    const bool records = is_wanted() && !atomic_exchange(&has_begun, 1) && pw_probe_thread();
    if (!records)
        pw_probe_count_gpu_process(PW_ACTIVITY_CUDA);
    if (records) {
        const bool is_working = begin();
        if (!is_working)
            pw_probe_say_gpu_untimed();
        say_state();
        pw_gpu_worker_order(&worker, is_working);
        if (is_working)
            atexit(finish);
    }
    errno = saved;
    return 1;
}
