/* The library that CUDA_INJECTION64_PATH names: cuInit() calls InitializeInjection(). It makes
 * CUPTI write GPU activities into the pool, and starts the worker, our only thread in the
 * application, which converts them. Without a GPU, CUDA does not call it, and nothing here runs. */
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collectors/cuda/cuda_arm.h"
#include "collectors/cuda/cuda_buffers.h"
#include "rank/probe/attach.h"

#define EXPORT __attribute__((visibility("default")))

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
    const bool is_armed = pw_cuda_enter() && pw_cuda_arm();
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
            pw_cuda_look();
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
    pw_cuda_look();
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
