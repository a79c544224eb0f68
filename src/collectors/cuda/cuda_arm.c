/* Selects what CUPTI records, and its settings; see cuda_state.h. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collectors/cuda/cuda_buffers.h"
#include "collectors/cuda/cuda_segments.h"
#include "collectors/cuda/cuda_subscriber.h"
#include "collectors/cuda/cuda_takeover.h"

static uint64_t read_clock(void)
{
    return pw_probe_now();
}

/* ---- kinds ---- */

static const struct {
    int kind;
    uint32_t level; /* lowest level at which the kind is recorded */
    enum pw_gpu_lack lack;
} kinds[] = {
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
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

bool pw_cuda_uses(int kind)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].kind == kind && kinds[i].level <= pw_cuda.level)
            return true;
    /* At level 1, the functions that launch. */
    return pw_cuda.level == 1 && (kind == PW_CUPTI_RUNTIME || kind == PW_CUPTI_DRIVER);
}

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
    if (atomic_load(&pw_cuda.is_shared) || !pw_takeover_has(kind))
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
    pw_cuda.result = pw_subscriber_set_callbacks();
    if (pw_cuda.result)
        return pw_cuda.result;
    pw_subscriber_set_thread_ids();
    /* Kernels first: without them, the other kinds are useless. */
    pw_cuda.result = pw_subscriber_switch_kind(PW_CUPTI_CONCURRENT_KERNEL, true);
    if (pw_cuda.result)
        return pw_cuda.result;
    pw_cuda.lacking = 0;
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].level <= pw_cuda.level)
            note_lack(kinds[i].lack, pw_subscriber_switch_kind(kinds[i].kind, true));
    pw_cuda.result = pw_cuda.lacking ? pw_cuda.lacking_result : PW_CUPTI_SUCCESS;
    watch_launches(true);
    if (pw_cuda.level > 0 && !pw_cuda_segments_watch(true))
        note_lack(PW_GPU_LACKS_MAPPED, PW_CUPTI_OTHER_SUBSCRIBER);
    return PW_CUPTI_SUCCESS;
}

static void switch_all_off(void)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].level <= pw_cuda.level)
            switch_off(kinds[i].kind);
    watch_launches(false);
    pw_cuda_segments_watch(false);
    pw_cuda.cupti->flush_all(PW_CUPTI_FLUSH_FORCED);
}

bool pw_cuda_arm(void)
{
    pw_cuda.result = pw_subscriber_begin(read_clock);
    if (pw_cuda.result)
        return false;
    if (switch_on()) {
        pw_subscriber_end();
        return false;
    }
    pw_cuda.is_recording = true;
    int arming = PW_CUDA_ARMING;
    if (!atomic_compare_exchange_strong(&pw_cuda.mode, &arming, PW_CUDA_ARMED)) {
        switch_all_off(); /* the application began to use CUPTI meanwhile */
        pw_subscriber_end();
    }
    return true;
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

/* When a flush still uses the subscription, ending it would crash. So it stays, and the application
 * cannot subscribe, until the worker ends it after the flush. */
void pw_cuda_disarm(void)
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
