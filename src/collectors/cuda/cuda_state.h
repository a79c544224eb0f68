/* The state of recording by CUPTI in the application: one CUPTI, one pool of buffers, one worker
 * thread. Used by the files of this folder that run in the application. In-app code: nothing here
 * waits longer than a second. */
#ifndef PW_CUDA_STATE_H
#define PW_CUDA_STATE_H

#include "collectors/cuda/cuda_library.h"
#include "collectors/cuda/cuda_notes.h"
#include "collectors/gpu/gpu_inside.h"

enum pw_cuda_mode {
    PW_CUDA_INERT = 0,
    PW_CUDA_ARMING,
    PW_CUDA_ARMED,
    PW_CUDA_YIELDED, /* the application uses CUPTI itself */
};

struct pw_cuda {
    _Atomic int mode;       /* enum pw_cuda_mode */
    _Atomic int is_default; /* CUPTI has its default settings and is not in use */
    const struct pw_cupti *cupti;
    void *_Atomic subscriber; /* our subscription; NULL: none */
    _Atomic int is_shared;    /* subscribed by the _v2 functions: others may subscribe, too */
    _Atomic int has_process;  /* our callbacks are registered for the whole process */
    bool was_shared;          /* is_shared was 1 at least once */
    char holder[64];          /* profiler that CUPTI was left to; written before `taken_since` */
    char other[64];           /* profiler that had CUPTI when our subscription was refused */
    struct pw_pool *pool;
    uint32_t level, version;
    int result;            /* result of the call because of which recording, or a kind, could not be
                            * enabled */
    uint32_t lacking;      /* bits of enum pw_gpu_lack: kinds that CUPTI refused the last time */
    int lacking_result;    /* result for the first of them */
    _Atomic int is_left;   /* our subscription was not ended, because our thread was in CUPTI */
    bool is_recording;     /* recording was enabled at least once */
    uint64_t device_bytes; /* memory that CUPTI may use on each device; 0: not known */
    _Atomic int caller;    /* tid of our thread while it is in CUPTI; 0: none */
    _Atomic uint32_t wake; /* futex on which the worker sleeps */
    _Atomic int stopping, has_ended;
    _Atomic uint32_t converted; /* number of buffers that the worker has converted */
};

extern struct pw_cuda pw_cuda __attribute__((visibility("hidden")));

static inline struct pw_cuda_notes *pw_cuda_borrow_notes(void)
{
    return (struct pw_cuda_notes *)pw_cuda.pool->notes;
}

/* Enables recording by CUPTI. Returns false when CUPTI refuses. Called by the worker, and the first
 * time by the thread that starts CUDA. */
bool pw_cuda_arm(void);

/* Whether records of this kind are enabled while we record. */
bool pw_cuda_uses(int kind);

/* Surrounds a call of CUPTI by our thread: pw_cuda_disarm() waits until no thread is between enter
 * and leave. Returns false when the application uses CUPTI now: then the call must not be made. */
bool pw_cuda_enter(void);
void pw_cuda_leave(void);

/* To be called when the application begins to use CUPTI: waits until our thread has left CUPTI.
 * Returns false when it has not after a second. */
bool pw_cuda_await_calls(void);

/* Disables our kinds, after CUPTI has returned the remaining records. Waits for our threads, as
 * pw_cuda_await_calls() does. */
void pw_cuda_disarm(void);

/* Ends a subscription that pw_cuda_disarm() could not end. Called by the worker while it is not in
 * CUPTI. */
void pw_cuda_end_left(void);

void pw_cuda_wake_worker(void);

#endif
