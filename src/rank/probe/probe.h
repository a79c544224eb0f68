/* The probe: the singleton inside the application through which in-app halves of modules record.
 *
 * Everything here is in-app code: it never exits, prints, blocks on I/O or takes a lock that the
 * application can hold. One process of a rank records at a time: the first that
 * records something; after it has ended, the next. In all other processes, in forked children of
 * the recording process, and in processes that no collector started, the probe does nothing:
 * pw_probe_thread() (attach.h) returns NULL. */
#ifndef PW_RANK_PROBE_PROBE_H
#define PW_RANK_PROBE_PROBE_H

#include <assert.h>
#include <stdbool.h>

#include "rank/ring/pool.h"
#include "rank/ring/ring.h"

struct pw_intern_entry;

/* Cache entry for a name that the thread used recently, by the address of its text. The text at the
 * address may have changed since. */
struct pw_recent_name {
    const char *text; /* the application's */
    const struct pw_intern_entry *entry;
    uint64_t name;  /* pw_open_range.name with depth 0; the NVTX module sets the kind */
    uint32_t kind;  /* 1 + the NVTX module's class of the name; 0: not known; see intern.h */
    uint32_t quick; /* bytes to compare inline, with the NUL; 0: compare by a call */
};

enum { PW_RECENT_BITS = 5, PW_RECENT_NAMES = 1 << PW_RECENT_BITS };

/* What one thread of the application needs to record. */
struct pw_thread {
    struct pw_ring ring;       /* ring.shared is NULL until the thread's first record */
    struct pw_open_call *call; /* in the ring; &pw_no_ring_call without a ring */
    uint32_t index;
    uint32_t stack;     /* call stack of the current call; 0: none */
    uint32_t idle_key;  /* key of the ranges that are only counted; see ranges.h */
    uint64_t allocated; /* bytes allocated minus freed, as reported by the thread; modulo 2^64 */
    uint64_t not_left;  /* start of the open call that pw_probe_has_left_call() looked for last */
    struct pw_recent_name recent[PW_RECENT_NAMES];
    /* Number of calls to skip before the next attempt to get a ring, and of failed attempts. */
    uint32_t passes, failures;
    int beginning; /* 1 during an attempt: a signal handler must not start another */
    int ring_index;
};
/* A probe that is loaded after program start (by an auditor, by CUDA or by NVTX) needs static
 * thread-local storage. glibc keeps only 1664 bytes of it for all such libraries together; with
 * more the probe cannot be loaded. */
static_assert(sizeof(struct pw_thread) <= 1536, "thread-local storage of late libraries is scarce");

/* The ABIs of MPI libraries that are recorded, each by wrappers of its own (collectors/mpi/). */
enum pw_mpi_abi_id { PW_MPI_OPEN_MPI, PW_MPI_MPICH, PW_MPI_STANDARD, PW_MPI_ABIS };

/* What the probe records now. The struct is on a page that the kernel zeroes in every forked child
 * (MADV_WIPEONFORK), so the gate is off there. */
struct pw_gate {
    int on;
    /* 1 + the level at which MPI calls are recorded; 0: MPI is not initialised; -1: recording is
     * paused. It is one word, so that each call is either recorded or counted as paused. It stays 0
     * for the ABIs that the MPI library does not have. */
    _Atomic int mpi[PW_MPI_ABIS];
    _Atomic int paused; /* 1 while nothing is to be recorded */
    /* During a pause: number of operations that began before it and have not completed; -1: not
     * counted yet. */
    _Atomic int left_open;
    uint32_t stack_depth; /* frames to record of a call stack; 0: no call stacks */
    uint32_t general;     /* not 0: no fast path (call stacks, or the clock is not the TSC) */
    uint32_t mpi_slow;    /* not 0: the begin of each MPI call takes the slow path */
    uint32_t activities;  /* the segment's */
    /* Activities that may use the fast path: none during a pause or with `general`. */
    _Atomic uint32_t usual;
    /* Lower half: 1 + the level of MPI calls while they may use the fast path, else 0. Upper half:
     * how many handles MPI has freed. */
    _Atomic uint64_t mpi_usual;
};
#define PW_MPI_GIVEN_BACK ((uint64_t)1 << 32)

extern struct pw_gate *pw_gate __attribute__((visibility("hidden")));
extern _Thread_local struct pw_thread pw_this_thread
    __attribute__((visibility("hidden"), tls_model("initial-exec")));
extern enum pw_tick_source pw_tick_source __attribute__((visibility("hidden")));

/* The segment of the rank to which the process is attached (attach.c). */
extern struct pw_probe_home {
    struct pw_segment_shared *segment; /* NULL: none */
    char name[PW_SEGMENT_NAME_SIZE];
} pw_probe_home __attribute__((visibility("hidden")));

/* The open call of a thread without a ring: a call that never ends, with `signalled` set. So the
 * tests of `op` and `signalled` that each fast path makes also find threads without a ring. */
extern struct pw_open_call pw_no_ring_call __attribute__((visibility("hidden")));

/* Whether the thread, which is in a call by its open call, has left it by a jump or a C++
 * exception: then no function of the probe is on its stack, except that which calls now. Walks the
 * stack once for each open call; false if it does not come to the thread's start, or if the open
 * call is PW_CALL_PROBE. */
bool pw_probe_has_left_call(struct pw_thread *thread);

/* To be called once, before main: the unwinder prepares itself in its first walk, and must not be
 * interrupted then by a signal handler that makes it walk, too. */
void pw_probe_prepare_walks(void);

/* Locks the probe for this thread, before it writes records outside pw_mpi_begin() .. pw_mpi_end().
 * Returns false when the thread already holds the lock or is in an MPI call. Then the caller is a
 * signal handler or a callback that may have interrupted the probe inside a record: it must record
 * nothing, and the call is counted in `nested`. So is an MPI call that the thread has left by a
 * jump, when the thread locks the probe again. */
static inline bool pw_probe_lock(struct pw_thread *thread)
{
    if (atomic_load_explicit(&thread->call->op, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&thread->ring.shared->nested, 1, memory_order_relaxed);
        if (!pw_probe_has_left_call(thread))
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

static inline uint64_t pw_probe_now(void)
{
    return pw_tick_read(pw_tick_source);
}

/* Wakes a sleeping collector; called when a part of the ring has been filled. */
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

/* The segment's header: level, activities, clock domain. Only after pw_probe_thread() returned a
 * thread. */
const struct pw_segment_shared *pw_probe_borrow_segment(void);

/* Records that CUPTI cannot be used in this process, so that other sources of kernel times (NCCL's
 * channels) are recorded. */
void pw_probe_say_gpu_untimed(void);

/* Counts this process, once, as one whose GPU activity is not recorded: the activity is selected,
 * but another process of the rank records. */
void pw_probe_count_gpu_process(uint32_t activity);

/* Counts a call stack that lacks outer frames. Only where pw_probe_borrow_segment() may be called.
 */
void pw_probe_count_cut_stack(void);

/* Creates the segment's pool, owned by this process (pw_pool_create()). */
int pw_probe_create_pool(struct pw_pool **out);

/* The counter of collectives of communicator `index` in the segment; NULL when the segment has no
 * room for it. Only after pw_probe_thread() returned a thread. */
_Atomic uint32_t *pw_probe_borrow_counter(uint32_t index);

/* Where the order of its collectives is shown; for those for which the segment has no room, a place
 * that nobody reads. Under the same condition. */
struct pw_comm_order *pw_probe_borrow_order(uint32_t index);

/* The thread number under which the operators of a lane are recorded; no real thread has it.
 * Negative when there are too many lanes. */
int pw_probe_lane(int32_t lane);

/* Marks the begin of step `step` at time `now` (ticks); -1 only ends the previous step, and
 * PW_CANCEL_STEP cancels it, as PROFWRAP_CANCEL_STEP. Recording may begin or end here by the
 * schedule, so the thread may be paused before or after the call. */
enum { PW_CANCEL_STEP = -2 };
void pw_probe_record_step(struct pw_thread *thread, uint64_t now, int64_t step);

/* The same for a step that is recognised by the name of a range that begins; `step` >= 0. Ignored
 * after the program has marked a step itself, and on all threads except the first with such a
 * range.
 */
void pw_probe_found_step(struct pw_thread *thread, uint64_t now, int64_t step);

/* Counts that the process which records has met the other ranks: it has connected to one of
 * PyTorch's TCPStores, or left MindSpore's init(). */
void pw_probe_count_meeting(void);

/* Tells the collector that this process begins MPI, before it does: its calls are recorded. */
void pw_probe_note_mpi(void);

/* Shows the collector and the guard how far the program is with MPI. FINALIZING wakes the
 * collector: the other hosts' collectors are still there, so clocks can be measured a last time. */
void pw_probe_note_mpi_phase(enum pw_mpi_phase phase);

/* As pw_probe_note_mpi(), for MPI_Init, in which clocks may be synchronised. */
void pw_probe_request_sync(void);

/* Waits until the collectors have decided whether clocks are synchronised over MPI: not at all when
 * the launcher has put all ranks on one host, otherwise milliseconds, at most a few seconds.
 * Returns 1 for yes. */
int pw_probe_await_sync(void);

/* The id of a name; equal texts have equal ids within a process. The first use of a text writes it
 * to the ring, cut at 255 bytes. Id 0 is "". When the table is full, all new names get the id of
 * "(more names than are kept)". Returns 0 when memory is short and the text is new. */
uint32_t pw_probe_intern(struct pw_thread *thread, const char *text);

/* The same, cut at 8191 bytes; for texts that are recorded once, not in a loop. */
uint32_t pw_probe_intern_long(struct pw_thread *thread, const char *text);

/* ---- the members of a group of ranks, for modules that learn them as a list (torch, mindspore)
 * ---- */

/* Writes records of type `type` with the `size` members of the group `comm`; `world` has their
 * world ranks, NULL when they are not known. Stops when the ring is full. The thread has locked the
 * probe. */
void pw_members_record(struct pw_thread *thread, uint8_t type, uint32_t comm, const int32_t *world,
                       int32_t size);

#endif
