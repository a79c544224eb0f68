/* Records, losses and the worker thread in the application; see gpu_inside.h. */
#include "collectors/gpu/gpu_inside.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STACK_BYTES = 1 << 20 };

void pw_gpu_lose(struct pw_gpu_loss *loss, size_t n)
{
    uint64_t none = 0;
    if (!n)
        return;
    atomic_compare_exchange_strong(&loss->start, &none, pw_probe_now());
    atomic_fetch_add(&loss->n, n);
}

static void nap(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    syscall(SYS_nanosleep, &pause, NULL);
}

bool pw_gpu_put(struct pw_thread *thread, const struct pw_record *record, int patience_ms)
{
    for (int ms = 0; !pw_ring_has_room(&thread->ring, 1) && ms < patience_ms; ms++) {
        pw_probe_wake();
        nap();
    }
    struct pw_record *slot = pw_ring_reserve(&thread->ring, record->end, pw_record_kind(record));
    if (!slot)
        return false;
    *slot = *record;
    pw_probe_commit(thread);
    return true;
}

void pw_gpu_put_loss(struct pw_thread *thread, struct pw_gpu_loss *loss, uint16_t reason,
                     int patience_ms)
{
    uint64_t n = atomic_exchange(&loss->n, 0);
    uint64_t start = atomic_exchange(&loss->start, 0);
    if (!n)
        return;
    const struct pw_record record = {
        .type = PW_REC_GPU_GAP,
        .op = reason,
        .start = start ? start : pw_probe_now(),
        .end = pw_probe_now(),
        .device_gap.lost = n,
    };
    pw_gpu_put(thread, &record, patience_ms);
}

/* ---- the worker ---- */

enum { ORDER_NONE = 0, ORDER_WORK, ORDER_END };

/* Returns the size of the worker's stack. glibc places the program's static thread-local storage on
 * the stack, so if that is large, a small stack is refused or overflows in the vendor's library. */
static size_t stack_bytes(const pthread_attr_t *attributes)
{
    size_t (*least)(const pthread_attr_t *) = NULL;
    void *found = dlsym(RTLD_DEFAULT, "__pthread_get_minstack");
    memcpy(&least, &found, sizeof(found));
    return STACK_BYTES + (least ? least(attributes) : 0);
}

static void *run_worker(void *arg)
{
    struct pw_gpu_worker *worker = arg;
    uint32_t order;
    while ((order = atomic_load(&worker->order)) == ORDER_NONE)
        syscall(SYS_futex, &worker->order, FUTEX_WAIT_PRIVATE, ORDER_NONE, NULL, NULL, 0);
    if (order == ORDER_WORK)
        worker->work();
    return NULL;
}

int pw_gpu_worker_start(struct pw_gpu_worker *worker, void (*work)(void))
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    worker->work = work;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int err = pthread_attr_setstacksize(&attributes, stack_bytes(&attributes));
    err = err ? err : pthread_create(&thread, &attributes, run_worker, worker);
    pthread_attr_destroy(&attributes);
    if (err && !pthread_create(&thread, NULL, run_worker, worker)) {
        pthread_detach(thread);
        err = 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -err;
}

void pw_gpu_worker_order(struct pw_gpu_worker *worker, bool works)
{
    atomic_store(&worker->order, works ? ORDER_WORK : ORDER_END);
    syscall(SYS_futex, &worker->order, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
