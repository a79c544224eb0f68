/* The probe: the singleton inside the application through which in-app halves of collectors record.
 *
 * Everything here is in-app code: it never exits, prints, blocks on I/O or takes a lock that the
 * application can hold. It is inert (pw_probe_thread() answers NULL) when the process was not
 * started by a collector, in children that the recording process forks, and in any process but the
 * first of the rank to record something. */
#ifndef PW_RANK_PROBE_PROBE_H
#define PW_RANK_PROBE_PROBE_H

#include <assert.h>
#include <stdbool.h>

#include "rank/ring/pool.h"
#include "rank/ring/ring.h"

struct pw_intern_entry;

/* A name that the thread gave lately, by the address it gave it at: what is there now may be
 * another. */
struct pw_recent_name {
    const char *text; /* the application's */
    const struct pw_intern_entry *entry;
    uint64_t name;  /* as in an open range, without its depth; its kind is the NVTX collector's */
    uint32_t kind;  /* 1 + what that takes it for, 0 not known; see rank/probe/intern.h */
    uint32_t quick; /* bytes to compare, with the NUL; 0: not without a call */
};

enum { PW_RECENT_BITS = 5, PW_RECENT_NAMES = 1 << PW_RECENT_BITS };

/* What one thread of the application needs to record. */
struct pw_thread {
    struct pw_ring ring;       /* ring.shared is NULL until the thread's first record */
    struct pw_open_call *call; /* in the ring; pw_no_ring_call as long as there is none */
    uint32_t index;
    uint32_t stack;     /* that the current call was made on, 0 when none are taken */
    uint32_t idle_key;  /* of the ranges that it began while recording was paused; see ranges.h */
    uint64_t allocated; /* bytes, less those freed, that the thread said; modulo 2^64 */
    struct pw_recent_name recent[PW_RECENT_NAMES];
    /* Calls to let pass before it looks for a ring again, after so many failures; and whether it is
     * just looking: a signal handler may call meanwhile. */
    uint32_t passes, failures;
    int beginning;
    int ring_index;
};
/* A probe that comes when the program's threads are laid out already, as under an auditor or as a
 * tool of CUDA or NVTX, has its share of glibc's 1664 bytes for such libraries, or cannot come. */
static_assert(sizeof(struct pw_thread) <= 1536, "thread-local storage of late libraries is scarce");

/* On a page that the kernel hands zeroed to any forked child, however it was forked. */
struct pw_gate {
    int on;
    /* 1 + the level that MPI calls are recorded at; 0: outside of MPI; -1: recording is paused. One
     * word, so that a call is either recorded or counted as one that is not. */
    _Atomic int mpi;
    _Atomic int paused; /* 1 while nothing is to be recorded */
    /* While it is paused: operations begun before that have not completed; -1 not counted yet. */
    _Atomic int left_open;
    uint32_t stack_depth; /* frames to take of a call stack; 0: take none */
    uint32_t general;     /* not 0: call stacks are taken, or the clock is not the TSC */
    uint32_t mpi_slow;    /* not 0: more than a look at the thread is due when an MPI call begins */
    uint32_t activities;  /* the segment's */
    /* Those whose calls can go the short way: none while recording is paused, or with `general`. */
    _Atomic uint32_t usual;
    /* Lower half: 1 + the level of MPI calls while they can go the short way, else 0. Upper half:
     * how often a handle was given back to MPI. */
    _Atomic uint64_t mpi_usual;
};
#define PW_MPI_GIVEN_BACK ((uint64_t)1 << 32)

extern struct pw_gate *pw_gate __attribute__((visibility("hidden")));
extern _Thread_local struct pw_thread pw_this_thread
    __attribute__((visibility("hidden"), tls_model("initial-exec")));
extern enum pw_tick_source pw_tick_source __attribute__((visibility("hidden")));

/* A call that never ends, and signalled: who looks whether a thread may record, or whether an order
 * has come for it while recording is paused, finds then that it has no ring. */
extern struct pw_open_call pw_no_ring_call __attribute__((visibility("hidden")));

/* The calling thread's first record: takes a ring. NULL when there is none to have. */
struct pw_thread *pw_probe_begin_thread(void);

/* The calling thread, or NULL when nothing is to be recorded. */
static inline struct pw_thread *pw_probe_thread(void)
{
    if (__builtin_expect(!pw_gate->on, 0))
        return NULL;
    struct pw_thread *thread = &pw_this_thread;
    return __builtin_expect(thread->ring.shared != NULL, 1) ? thread : pw_probe_begin_thread();
}

/* Begins a stretch in which the thread writes records outside pw_mpi_begin() .. pw_mpi_end(). False
 * when it is in one, or in an MPI call: then a signal handler or a callback called, which may have
 * interrupted the probe in the middle of a record; it records nothing, and is counted. */
static inline bool pw_probe_lock(struct pw_thread *thread)
{
    if (atomic_load_explicit(&thread->call->op, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&thread->ring.shared->nested, 1, memory_order_relaxed);
        return false;
    }
    atomic_store_explicit(&thread->call->op, PW_CALL_PROBE, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

static inline void pw_probe_unlock(struct pw_thread *thread)
{
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&thread->call->op, 0, memory_order_relaxed);
}

/* After a NULL of pw_probe_thread(): whether the calling thread would record if it had a ring. */
bool pw_probe_lacks_ring(void);

static inline uint64_t pw_probe_now(void)
{
    return pw_tick_read(pw_tick_source);
}

/* Tells a sleeping collector that a quarter of the ring was filled. */
void pw_probe_wake(void);

static inline void pw_probe_commit_record(struct pw_thread *thread, const struct pw_record *record)
{
    if (__builtin_expect(pw_ring_commit_record(&thread->ring, record), 0))
        pw_probe_wake();
}

static inline void pw_probe_commit_many(struct pw_thread *thread, uint64_t count)
{
    if (__builtin_expect(pw_ring_commit_many(&thread->ring, count), 0))
        pw_probe_wake();
}

static inline void pw_probe_commit(struct pw_thread *thread)
{
    if (__builtin_expect(pw_ring_commit(&thread->ring), 0))
        pw_probe_wake();
}

/* The segment's header: level, activities, clock domain. Valid after a non-NULL pw_probe_thread().
 */
const struct pw_segment_shared *pw_probe_borrow_segment(void);

/* CUPTI cannot be used in this process: who else can tell when kernels ran is to do so. */
void pw_probe_say_gpu_untimed(void);

/* Counts this process, once, when another one of the rank records, and the activity, of GPUs, is to
 * be recorded: this one's is not. */
void pw_probe_count_gpu_process(uint32_t activity);

/* Makes the segment's pool this process's (pw_pool_create). */
int pw_probe_create_pool(struct pw_pool **out);

/* Where the collectives of the process's communicator `index` are counted; NULL past what the
 * segment has room for. After a non-NULL pw_probe_thread(). */
_Atomic uint32_t *pw_probe_borrow_counter(uint32_t index);

/* The number of the thread that a lane's operators are said to be of: one of no real thread.
 * Negative when there are too many lanes. */
int pw_probe_lane(int32_t lane);

/* Marks the begin of step `step` at time `now` (ticks); -1 only ends the step before. Here
 * recording begins and ends by steps: the thread need not be recorded before or after it. */
void pw_probe_record_step(struct pw_thread *thread, uint64_t now, int64_t step);

/* The same of step `step` >= 0 by the name of a range that begins. It counts as long as the program
 * has marked none itself, and on the first thread that has such ranges. */
void pw_probe_found_step(struct pw_thread *thread, uint64_t now, int64_t step);

/* Tells the collector that this process enters MPI_Init. */
void pw_probe_request_sync(void);

/* Waits (a few seconds at most, milliseconds when all is well) for the collectors' common answer to
 * whether every rank has a probe in MPI_Init. 1 for yes. */
int pw_probe_await_sync(void);

/* The id of a name: equal texts have equal ids within a process. The first use of a text writes it
 * to the ring. Cut at 255 bytes. Id 0 is "". Once the table is full, all new names are one, "(more
 * names than are kept)"; 0 when memory is short. */
uint32_t pw_probe_intern(struct pw_thread *thread, const char *text);

/* The same of a text that is cut at 8191 bytes: for what is said once, not in a loop. */
uint32_t pw_probe_intern_long(struct pw_thread *thread, const char *text);

#endif
