/* For the halves in the application; see gpu_inside.h. */
#include "collectors/gpu/gpu_inside.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STACK_BYTES = 256 << 10 };

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

int pw_gpu_start_thread(void *(*work)(void *arg))
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int err = pthread_create(&thread, &attributes, work, NULL);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -err;
}
