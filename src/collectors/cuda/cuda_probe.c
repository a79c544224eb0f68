/* What CUDA finds in CUDA_INJECTION64_PATH: cuInit() calls InitializeInjection(). It makes CUPTI
 * write what the GPU does into the pool, and starts the one thread of ours in the application,
 * which makes records of it. Where there is no GPU, CUDA never calls, and nothing here runs. */
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collectors/cuda/cuda_buffers.h"
#include "collectors/cuda/cuda_takeover.h"

#define EXPORT __attribute__((visibility("default")))

/* CUPTI hands over full buffers by itself; what is in others, when it is asked. */
#define FLUSH_NS ((int64_t)250000000)
#define RETRY_NS ((int64_t)1000000000)
enum { NAP_NS = 50000000, IDLE_MS = 2000, END_MS = 10000, REST_MS = 500 };

EXPORT int InitializeInjection(void);

struct pw_cuda pw_cuda;

/* ---- the worker ---- */

void pw_cuda_wake_worker(void)
{
    atomic_fetch_add(&pw_cuda.wake, 1);
    syscall(SYS_futex, &pw_cuda.wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

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

/* The stretch in which another had CUPTI is over, or the program is. */
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
    const bool is_armed = pw_cuda_enter() && pw_cuda_arm();
    pw_cuda_leave();
    return is_armed;
}

/* Begins again once others have no more use for CUPTI. */
static void come_back(struct pw_thread *thread)
{
    static int64_t refused_ns;
    int yielded = PW_CUDA_YIELDED;
    if (pw_takeover_is_on() || (refused_ns && pw_local_ns() - refused_ns < RETRY_NS) ||
        !atomic_compare_exchange_strong(&pw_cuda.mode, &yielded, PW_CUDA_ARMING))
        return;
    if (arm()) {
        put_gap(thread);
        put_state(thread);
    } else {
        refused_ns = pw_local_ns();
        atomic_store(&pw_cuda.mode, PW_CUDA_YIELDED);
    }
}

static void convert(struct pw_thread *thread)
{
    pw_cuda_end_left();
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

/* CUPTI may hand over by a thread of its own, a moment after it was asked. */
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
            pw_takeover_look();
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

/* While the worker gets on, which takes longer where the collector has little of the processor. */
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

/* Registered within cuInit(), and so called before what CUDA itself registered earlier. The worker
 * asks CUPTI for the rest: where a GPU hangs that may never return, and the program is to end. */
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

/* By the thread that starts CUDA, before its next range: the collector keeps ranges from then on.
 */
static void say_state(void)
{
    struct pw_thread *thread = pw_probe_thread();
    if (!thread || !pw_probe_lock(thread))
        return;
    put_state(thread);
    pw_probe_unlock(thread);
}

/* Until it is free, which the worker looks after. NCCL has one set of events for the whole run, and
 * is asked for its kernels' times: CUPTI may be taken until the end. */
static bool wait_for_cupti(int result)
{
    pw_cuda.result = result;
    if (result == PW_CUPTI_OTHER_SUBSCRIBER)
        memcpy(pw_cuda.holder, pw_cuda.other, sizeof(pw_cuda.holder));
    pw_probe_say_gpu_untimed();
    atomic_store(&pw_cuda_borrow_notes()->taken_since, pw_probe_now());
    atomic_store(&pw_cuda.mode, PW_CUDA_YIELDED);
    return true;
}

/* The first that does not refuse: one may be newer than the driver. */
static bool arm_any(void)
{
    int first_result = pw_cupti_refusal();
    do {
        int arming = PW_CUDA_ARMING;
        pw_cuda.cupti->version(&pw_cuda.version);
        atomic_store(&pw_cuda.is_default, 1);
        atomic_store(&pw_cuda.mode, PW_CUDA_ARMING);
        if (arm())
            return true;
        if (pw_cuda.result == PW_CUPTI_OTHER_SUBSCRIBER)
            return wait_for_cupti(PW_CUPTI_OTHER_SUBSCRIBER);
        if (!atomic_compare_exchange_strong(&pw_cuda.mode, &arming, PW_CUDA_INERT)) {
            pw_cuda.result = PW_CUDA_TAKEN; /* meanwhile, by the application: we try later */
            return true;
        }
        first_result = first_result ? first_result : pw_cuda.result;
    } while (pw_cupti_open());
    pw_cuda.result = first_result;
    return false;
}

static struct pw_gpu_worker worker;

/* Whether there is, or may be later, something for the worker to do. */
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
    pw_takeover_look();
    return pw_takeover_is_on() ? wait_for_cupti(PW_CUDA_TAKEN) : arm_any();
}

int InitializeInjection(void)
{
    static _Atomic int has_begun;
    int saved = errno;
    /* The rank's recording process alone: others that it starts may use the GPU, too. */
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
