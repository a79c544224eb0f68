/* The state of CUPTI's use in the application: one CUPTI, one pool of buffers, one thread of ours.
 * The files of this folder that run in the application share it. In-app code: nothing here waits
 * longer than a second. */
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
    _Atomic int is_default; /* CUPTI has its own settings, not ours, and it is not in use */
    const struct pw_cupti *cupti;
    void *_Atomic subscriber; /* that we are; NULL: none */
    _Atomic int is_shared;    /* the functions that end in _v2 are ours, others may have theirs */
    _Atomic int has_process;  /* CUPTI has our callbacks as the process's */
    bool was_shared;          /* at least once */
    char holder[64];          /* to whom we gave way; written before `taken_since` */
    char other[64];           /* who had CUPTI when it refused us */
    struct pw_pool *pool;
    uint32_t level, version;
    int result;            /* of what kept it from being armed, or a kind from being on */
    uint32_t lacking;      /* bits of enum pw_gpu_lack: what CUPTI refused when it was armed last */
    int lacking_result;    /* of the first of them */
    _Atomic int is_left;   /* a subscription, because a thread of ours was in CUPTI */
    bool is_recording;     /* it was armed, at least once */
    uint64_t device_bytes; /* that CUPTI may take on each device; 0: it does not say */
    _Atomic int caller;    /* the thread of ours that is in CUPTI; 0 none */
    _Atomic uint32_t wake; /* futex: the worker sleeps on it */
    _Atomic int stopping, has_ended;
    _Atomic uint32_t converted; /* buffers, by the worker */
};

extern struct pw_cuda pw_cuda __attribute__((visibility("hidden")));

static inline struct pw_cuda_notes *pw_cuda_borrow_notes(void)
{
    return (struct pw_cuda_notes *)pw_cuda.pool->notes;
}

/* Makes CUPTI write for us; false when it refuses. By the worker, and at first by the thread that
 * starts CUDA. */
bool pw_cuda_arm(void);

/* Whether records of this kind are asked for while it is armed. */
bool pw_cuda_uses(int kind);

/* For calls that must not meet another one: of those around which pw_cuda_enter() and
 * pw_cuda_leave() are. False: there is no need to, for it is the application's turn. */
bool pw_cuda_enter(void);
void pw_cuda_leave(void);

/* Once it is the application's turn: until no thread of ours is in CUPTI. False: one still is,
 * after a second. */
bool pw_cuda_await_calls(void);

/* No more of our kinds; what CUPTI still has for us is handed over first. Waits for our own
 * threads, as pw_cuda_await_calls() does. */
void pw_cuda_disarm(void);

/* Gives a subscription back that pw_cuda_disarm() could not; by the worker, out of CUPTI. */
void pw_cuda_end_left(void);

void pw_cuda_wake_worker(void);

#endif
