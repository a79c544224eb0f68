/* Attaches the process to its rank's segment and its threads to rings: the part of the probe that
 * begins and ends the recording of threads. In-app, see probe.h. */
#include "rank/probe/attach.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rank/probe/ranges.h"

static struct {
    pthread_key_t thread_end;
    pid_t pid;                   /* to tell this process from a child that shares its memory
                                  * (vfork) */
    _Atomic uint32_t generation; /* number of this process (own_generation()); 0: has not recorded
                                  * yet */
    _Atomic uint64_t began;      /* ticks at which the first thread began to record; 0: none did */
    /* Rings that this process has mapped. A mapping is kept for later threads, so that each new
     * thread need not map megabytes again. `records` has the capacity of each mapped ring; it is
     * written once, before `mapped`. */
    struct pw_ring_shared *_Atomic mapped[PW_MAX_RINGS];
    _Atomic uint64_t records[PW_MAX_RINGS];
} process;

static struct pw_gate *create_gate(void)
{
    void *page =
        mmap(NULL, PW_SEGMENT_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return NULL;
    if (madvise(page, PW_SEGMENT_PAGE, MADV_WIPEONFORK) != 0) {
        munmap(page, PW_SEGMENT_PAGE);
        return NULL;
    }
    return page;
}

/* Releases the ring of a thread that ends. The ring stays mapped; the next thread that needs a ring
 * continues in it. */
static void end_thread(void *thread)
{
    struct pw_thread *mine = thread;
    struct pw_ring_shared *shared = mine->ring.shared;
    if (!shared || !pw_gate->on)
        return;
    /* Not pw_probe_lock(): it fails when the thread was cancelled inside an MPI call. */
    atomic_store(&mine->call->op, PW_CALL_PROBE);
    pw_range_end_all(mine);
    pw_probe_unlock(mine);
    /* Before the ring is released: a signal handler of this thread may record at any time. */
    mine->call = &pw_no_ring_call;
    mine->ring.shared = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&pw_probe_home.segment->rings[mine->ring_index].state, PW_RING_RELEASED,
                          memory_order_release);
}

/* Runs before main. Costs eleven system calls in every process that inherits the environment. */
__attribute__((constructor)) static void attach_process(void)
{
    const char *name = getenv(PW_SEGMENT_VARIABLE);
    if (!name || strlen(name) >= sizeof(pw_probe_home.name))
        return;
    int saved = errno;
    if (pw_segment_attach(name, &pw_probe_home.segment) == 0) {
        strcpy(pw_probe_home.name, name);
        uint32_t unseen = PW_MPI_UNSEEN;
        atomic_compare_exchange_strong(&pw_probe_home.segment->mpi_phase, &unseen, PW_MPI_UNUSED);
        pw_tick_source = (enum pw_tick_source)pw_probe_home.segment->tick_source;
        struct pw_gate *gate = create_gate();
        if (gate && pthread_key_create(&process.thread_end, end_thread) == 0) {
            pw_gate = gate;
            process.pid = getpid();
            gate->stack_depth = pw_probe_home.segment->stack_depth;
            gate->mpi_slow = gate->stack_depth;
            gate->general = gate->stack_depth != 0 || pw_tick_source != PW_TICK_TSC;
            gate->activities = pw_probe_home.segment->activities;
            pw_recording_init(pw_probe_home.segment);
            pw_probe_prepare_walks();
            gate->on = 1;
        }
    }
    errno = saved;
}

/* Whether this process may record for the rank. The first process that records owns the segment;
 * after it has ended, the next one that records takes over. */
static bool own_segment(void)
{
    int32_t me = getpid(), owner = 0;
    _Atomic int32_t *slot = &pw_probe_home.segment->owner_pid;
    if (atomic_compare_exchange_strong(slot, &owner, me) || owner == me)
        return true;
    if (kill(owner, 0) == 0 || errno != ESRCH)
        return false;
    return atomic_compare_exchange_strong(slot, &owner, me);
}

/* Returns the number of this program image: after exec() the pid is the same, but all threads have
 * ended. */
static uint32_t own_generation(void)
{
    uint32_t mine = atomic_load(&process.generation);
    if (mine == 0) {
        uint32_t next = (atomic_fetch_add(&pw_probe_home.segment->generation, 1) + 1) & 0xffffff;
        next = next ? next : 1;
        mine = atomic_compare_exchange_strong(&process.generation, &mine, next) ? next : mine;
    }
    return mine;
}

static struct pw_ring_shared *map_ring(int index)
{
    struct pw_ring_shared *fresh, *shared = atomic_load(&process.mapped[index]);
    uint64_t records, known = 0;
    if (shared)
        return shared;
    if (pw_segment_map_ring(pw_probe_home.name, pw_probe_home.segment, index, &fresh, &records))
        return NULL;
    const bool is_as_known =
        atomic_compare_exchange_strong(&process.records[index], &known, records) ||
        known == records;
    if (is_as_known && atomic_compare_exchange_strong(&process.mapped[index], &shared, fresh))
        return fresh;
    pw_segment_unmap_ring(fresh, records); /* another thread was faster */
    return shared;
}

/* Whether the ring can be taken: it was released, or its owner was an earlier process. That one has
 * ended, because own_segment() was true. */
static bool is_left(uint32_t state)
{
    uint32_t what = state & PW_RING_STATE_MASK;
    return what == PW_RING_RELEASED ||
           (what == PW_RING_OWNED && state >> PW_RING_STATE_BITS != own_generation());
}

/* Discards the open ranges of an earlier process: when they ended is not known. */
static void drop_ranges(struct pw_thread *thread)
{
    struct pw_ring_shared *shared = thread->ring.shared;
    const uint32_t depth = (uint32_t)atomic_load(&shared->depth);
    if (depth > 0)
        pw_ring_count_loss(&thread->ring, depth, pw_probe_now(), PW_LOST_RANGE);
    atomic_store(&shared->depth, 0);
    shared->phase.start = 0;
}

/* Gives the ring to the thread. The pointer is set last, because a signal handler may record at any
 * time. Until the thread has begun, its open call is PW_CALL_PROBE. */
static void use_ring(int index, struct pw_ring_shared *shared)
{
    struct pw_thread *thread = &pw_this_thread;
    struct pw_ring ring;
    pw_ring_init(&ring, shared, atomic_load(&process.records[index]));
    ring.waits_for = pw_probe_home.segment->waits ? pw_probe_home.segment : NULL;
    /* The old value may be the call in which the previous thread was cancelled. */
    atomic_store(&shared->open.op, PW_CALL_PROBE);
    ring.shared = NULL;
    thread->ring = ring;
    thread->ring_index = index;
    thread->call = &shared->open;
    atomic_signal_fence(memory_order_seq_cst);
    thread->ring.shared = shared;
    drop_ranges(thread);
}

static bool take_ring(int index, bool fresh)
{
    _Atomic uint32_t *entry = &pw_probe_home.segment->rings[index].state;
    uint32_t state = atomic_load(entry);
    uint32_t mine = PW_RING_OWNED | own_generation() << PW_RING_STATE_BITS;
    if (fresh ? state != PW_RING_READY : !is_left(state))
        return false;
    struct pw_ring_shared *shared = map_ring(index);
    if (!shared || !atomic_compare_exchange_strong(entry, &state, mine))
        return false;
    use_ring(index, shared);
    return true;
}

static void raise_ring_count(uint32_t count)
{
    uint32_t seen = atomic_load(&pw_probe_home.segment->nrings);
    while (seen < count &&
           !atomic_compare_exchange_weak(&pw_probe_home.segment->nrings, &seen, count))
        ;
}

/* Takes a released ring, else one that the collector has allocated, else allocates one. Returns
 * false when there is none. */
static bool take_any_ring(void)
{
    int used = (int)atomic_load(&pw_probe_home.segment->nrings);
    for (int i = 0; i < used; i++)
        if (take_ring(i, false))
            return true;
    int err = 0;
    for (int i = 0; i < PW_MAX_RINGS && !err; i++) {
        bool taken = take_ring(i, true);
        if (!taken && i >= used) {
            err = pw_segment_allocate_ring(pw_probe_home.name, pw_probe_home.segment, i);
            taken = !err && take_ring(i, true);
        }
        if (taken) {
            raise_ring_count((uint32_t)i + 1);
            return true;
        }
    }
    return false;
}

static void record_thread(struct pw_thread *thread)
{
    uint64_t now = pw_probe_now();
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_OTHER);
    if (!record)
        return;
    uint64_t began = 0;
    const bool first = atomic_compare_exchange_strong(&process.began, &began, now);
    int32_t tid = (int32_t)syscall(SYS_gettid);
    *record = (struct pw_record){
        .type = PW_REC_THREAD,
        .start = now,
        .end = now,
        .thread = {.thread = thread->index,
                   .tid = tid,
                   .pid = getpid(),
                   .process = first ? now : began},
    };
    atomic_store(&thread->ring.shared->tid, tid);
    pw_probe_commit(thread);
    pw_recording_begin_thread(thread, now, first);
}

static void count_without_ring(void)
{
    uint64_t now = pw_probe_now();
    atomic_store(&pw_probe_home.segment->no_ring_end, now);
    if (atomic_fetch_add(&pw_probe_home.segment->no_ring, 1) == 0)
        atomic_store(&pw_probe_home.segment->no_ring_start, now);
}

/* Looking for a ring costs system calls, so a thread that found none waits twice as many calls
 * before it looks again. */
static bool find_ring(struct pw_thread *thread)
{
    enum { MOST_DOUBLINGS = 12 };
    if (thread->passes == 0 && take_any_ring())
        return true;
    if (thread->passes)
        thread->passes--;
    else
        thread->passes = 1u << (thread->failures += thread->failures < MOST_DOUBLINGS);
    count_without_ring();
    return false;
}

struct pw_thread *pw_probe_begin_thread(void)
{
    int saved = errno;
    struct pw_thread *thread = &pw_this_thread, *begun = NULL;
    if (thread->beginning || getpid() != process.pid)
        return NULL;
    thread->beginning = 1;
    if (!own_segment()) {
        pw_gate->on = 0;
        atomic_store(&pw_gate->usual, 0);
    } else if (find_ring(thread)) {
        thread->index = atomic_fetch_add(&pw_probe_home.segment->nthreads, 1);
        pthread_setspecific(process.thread_end, thread);
        record_thread(thread);
        pw_probe_unlock(thread);
        pw_probe_wake(); /* so that the collector allocates a ring for the next thread */
        begun = thread;
    }
    thread->beginning = 0;
    errno = saved;
    return begun;
}

bool pw_probe_lacks_ring(void)
{
    const struct pw_thread *thread = &pw_this_thread;
    return pw_gate->on && !thread->beginning && !thread->ring.shared && getpid() == process.pid;
}

bool pw_probe_has_begun(void)
{
    return pw_gate->on && atomic_load_explicit(&process.began, memory_order_relaxed) != 0;
}
