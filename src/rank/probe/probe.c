/* What the probe shows and counts in its rank's segment, and its records of a communicator's
 * members; see probe.h. */
#include "rank/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

/* Beginning and end of the probe's code, defined by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

enum { MOST_LANES = 256 };

static struct pw_gate closed_gate;
struct pw_gate *pw_gate = &closed_gate;
struct pw_open_call pw_no_ring_call = {.op = UINT32_MAX, .signalled = 1};
_Thread_local struct pw_thread pw_this_thread
    __attribute__((tls_model("initial-exec"))) = {.call = &pw_no_ring_call};
enum pw_tick_source pw_tick_source;
struct pw_probe_home pw_probe_home;
static _Atomic uint64_t lanes[MOST_LANES]; /* 1 + the thread's number, and the lane; 0: free */

void pw_probe_wake(void)
{
    pw_segment_wake(pw_probe_home.segment);
}

void pw_probe_count_cut_stack(void)
{
    atomic_fetch_add(&pw_probe_home.segment->cut_stacks, 1);
}

const struct pw_segment_shared *pw_probe_borrow_segment(void)
{
    return pw_probe_home.segment;
}

void pw_probe_say_gpu_untimed(void)
{
    if (pw_probe_home.segment)
        atomic_store(&pw_probe_home.segment->gpu_untimed, 1);
}

void pw_probe_count_gpu_process(uint32_t activity)
{
    static _Atomic int32_t counted; /* the pid that was counted; a forked child inherits its
                                     * parent's */
    const int32_t me = getpid();
    if (!pw_probe_home.segment || !(pw_probe_home.segment->activities & activity))
        return;
    const int32_t owner = atomic_load(&pw_probe_home.segment->owner_pid);
    if (owner && owner != me && atomic_exchange(&counted, me) != me)
        atomic_fetch_add(&pw_probe_home.segment->gpu_processes, 1);
}

void pw_probe_count_meeting(void)
{
    const int32_t owner =
        pw_probe_home.segment ? atomic_load(&pw_probe_home.segment->owner_pid) : -1;
    if (owner == 0 || owner == getpid())
        atomic_fetch_add(&pw_probe_home.segment->meetings, 1);
}

int pw_probe_create_pool(struct pw_pool **out)
{
    return pw_pool_create(pw_probe_home.name, pw_probe_home.segment, out);
}

_Atomic uint32_t *pw_probe_borrow_counter(uint32_t index)
{
    return index < PW_SHARED_COMMS ? &pw_probe_home.segment->collectives[index] : NULL;
}

struct pw_comm_order *pw_probe_borrow_order(uint32_t index)
{
    static struct pw_comm_order unread;
    return index < PW_ORDERED_COMMS ? &pw_probe_home.segment->callorders[index] : &unread;
}

/* When two threads ask for the same lane at once, each may take a number; one of the two stays
 * unused. */
int pw_probe_lane(int32_t lane)
{
    enum { LANE_BITS = 32 };
    const uint32_t key = (uint32_t)lane;
    uint64_t fresh = 0;
    for (uint32_t i = 0; i < MOST_LANES; i++) {
        _Atomic uint64_t *slot = &lanes[(key + i) % MOST_LANES];
        uint64_t seen = atomic_load(slot);
        if (!seen) {
            if (!fresh)
                fresh = (uint64_t)atomic_fetch_add(&pw_probe_home.segment->nthreads, 1) + 1;
            if (atomic_compare_exchange_strong(slot, &seen, fresh << LANE_BITS | key))
                seen = fresh << LANE_BITS | key;
        }
        if ((uint32_t)seen == key)
            return (int)((seen >> LANE_BITS) - 1);
    }
    return -1;
}

void pw_probe_note_mpi(void)
{
    atomic_store(&pw_probe_home.segment->mpi_begun, 1);
}

void pw_probe_note_mpi_phase(enum pw_mpi_phase phase)
{
    if (!pw_probe_home.segment)
        return;
    atomic_store(&pw_probe_home.segment->mpi_phase, phase);
    if (phase == PW_MPI_FINALIZING)
        pw_probe_wake();
}

void pw_probe_request_sync(void)
{
    pw_probe_note_mpi();
    atomic_store(&pw_probe_home.segment->sync_requested, 1);
    pw_probe_wake();
}

/* Whether the process runs. A zombie does not run: its parent may never wait for it. */
static bool does_run(pid_t pid)
{
    char path[32], text[512];
    if (kill(pid, 0) != 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return true; /* /proc is not readable */
    text[n] = '\0';
    const char *name_end = strrchr(text, ')');
    return !name_end || (name_end[2] != 'Z' && name_end[2] != 'X');
}

int pw_probe_await_sync(void)
{
    const struct timespec pause = {.tv_nsec = 200000};
    int saved = errno;
    uint32_t decision = atomic_load(&pw_probe_home.segment->sync_decision);
    /* The collector decides within seconds. If it was killed, the guard starts another one, which
     * decides. If the guard has ended too, nobody decides: the job is about to be killed. */
    const pid_t guard = atomic_load(&pw_probe_home.segment->guard_pid);
    while (decision == PW_SYNC_UNDECIDED && does_run(guard)) {
        nanosleep(&pause, NULL);
        decision = atomic_load(&pw_probe_home.segment->sync_decision);
    }
    errno = saved;
    return decision == PW_SYNC_YES;
}

/* ---- the members of a group of ranks, for modules that learn them as a list (torch, mindspore)
 * ---- */

/* Returns the length of the run of consecutive ranks at `world`, of at most `size`. */
static int32_t run_of(const int32_t *world, int32_t size)
{
    int32_t count = 1;
    while (count < size && (uint32_t)world[count] == (uint32_t)world[0] + (uint32_t)count)
        count++;
    return count;
}

void pw_members_record(struct pw_thread *thread, uint8_t type, uint32_t comm, const int32_t *world,
                       int32_t size)
{
    for (int32_t at = 0; world && at < size;) {
        const uint64_t now = pw_probe_now();
        struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_OTHER);
        if (!record)
            return;
        *record = (struct pw_record){.type = type, .start = now, .end = now};
        record->members.comm = comm;
        while (record->members.nruns < PW_RUNS_PER_RECORD && at < size) {
            const int32_t count = run_of(world + at, size - at);
            record->members.runs[record->members.nruns].first = world[at];
            record->members.runs[record->members.nruns].stride = 1;
            record->members.runs[record->members.nruns++].count = count;
            at += count;
        }
        pw_probe_commit(thread);
    }
}

struct left_walk {
    bool has_passed; /* it has come to a function outside the probe */
    bool is_inside;  /* and below that to one of the probe */
    bool is_whole;   /* it has come to the thread's start */
};

static _Unwind_Reason_Code visit_left(struct _Unwind_Context *context, void *data)
{
    struct left_walk *walk = data;
    const uintptr_t ip = _Unwind_GetIP(context);
    const bool is_own = ip >= (uintptr_t)__ehdr_start && ip < (uintptr_t)etext;
    walk->is_whole = ip == 0;
    walk->is_inside = is_own && walk->has_passed;
    walk->has_passed |= !is_own;
    return walk->is_whole || walk->is_inside ? _URC_END_OF_STACK : _URC_NO_REASON;
}

bool pw_probe_has_left_call(struct pw_thread *thread)
{
    struct left_walk walk = {0};
    const uint64_t start = atomic_load_explicit(&thread->call->start, memory_order_relaxed);
    if (thread->not_left == start ||
        atomic_load_explicit(&thread->call->op, memory_order_relaxed) == PW_CALL_PROBE)
        return false;
    thread->not_left = start;
    _Unwind_Backtrace(visit_left, &walk);
    return walk.is_whole && !walk.is_inside;
}

void pw_probe_prepare_walks(void)
{
    struct left_walk walk = {0};
    _Unwind_Backtrace(visit_left, &walk);
}
