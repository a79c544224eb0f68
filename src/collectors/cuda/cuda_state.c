/* The state of recording, of its calls of CUPTI, and of the application's own use of CUPTI; see
 * cuda_state.h. */
#include "collectors/cuda/cuda_state.h"

#include <limits.h>
#include <linux/futex.h>
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

bool pw_theirs_is_subscribed(void)
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
