/* The MPI functions that rows cannot express: the beginning and the end of MPI, and the
 * synchronisation of clocks at both. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "collectors/mpi/mpi_classes.h"
#include "collectors/mpi/mpi_library.h"
#include "collectors/mpi/mpi_lock.h"
#include "collectors/mpi/mpi_request.h"
#include "core/clockmap.h"
#include "rank/clocks/envelope.h"
#include "rank/probe/attach.h"
#include "rank/probe/probe.h"
#include "rank/probe/recording.h"
#include "rank/probe/stack.h"

/* Clock synchronisation over MPI, at MPI_Init and before MPI_Finalize, in jobs on several hosts
 * whose collectors cannot measure over UDP (rank/clocks/agree.h). All its messages have arrived
 * when it returns. Envelope-filtered ping-pongs between the leaders of clock domains; see
 * rank/clocks/envelope.h.
 *
 * Often there are more ranks than cores; then MPI's blocking calls would spin on the core that the
 * partner needs. So all calls here are nonblocking, and a waiting process sleeps: the partners of
 * an exchange after a short time, all others at once. */

/* The cost of a synchronisation on this rank. */
struct pw_mpi_sync_cost {
    int64_t wait_ns;               /* wait for all ranks, which MPI_Finalize would also do */
    int64_t work_ns;               /* time after that; at MPI_Init, all the time */
    int32_t messages, collectives; /* messages that this rank sent; collectives */
};

enum {
    /* Below 32767, which every MPI allows, and unlikely in programs. */
    TAG_PING = 32441,
    TAG_PONG,
    TAG_KNOT,
};

/* How to wait. Sleeps instead of yielding: the scheduler puts a process that yields behind all
 * others, and one that wakes up before them. */
struct patience {
    int64_t spin_ns; /* time to poll before the first sleep; 0: sleep at once */
    long nap_ns;     /* length of each sleep */
};
static const struct patience partner = {30000, 1000}; /* for the partners of an exchange */
static const struct patience idle = {0, 100000};

/* The leaders, ascending; a leader is the lowest rank of a clock domain. Stored from MPI_Init to
 * MPI_Finalize. */
static struct {
    bool ready;
    MPI_Comm comm; /* communicator of the messages */
    int size, rank;
    int place;         /* index of this rank among the leaders; -1: it is none */
    int leader;        /* leader of this rank */
    int nleaders;      /* number of leaders */
    uint64_t *domains; /* [size] */
    int *leaders;      /* [nleaders] */
    char *memory;
    size_t memory_bytes;
    int32_t messages, collectives; /* calls of MPI since the synchronisation began */
} job;

/* Limits for the exchanges of a pair when the machine is too busy for them to settle: at least so
 * many, and at most so long. */
enum { LEAST = 10, LONGEST_NS = 5000000 };

struct ping {
    int64_t local_ns;
    int64_t last; /* 1: the last message */
};

static int64_t shown_ns(void)
{
    return pw_testclock_now(&pw_probe_borrow_segment()->test_clock);
}

static void wait_for(MPI_Request *request, struct patience patience)
{
    int done = 0;
    int64_t start = patience.spin_ns ? pw_local_ns() : 0;
    while (pw_pmpi.Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
        const struct timespec nap = {.tv_nsec = patience.nap_ns};
        if (!patience.spin_ns || pw_local_ns() - start > patience.spin_ns)
            nanosleep(&nap, NULL);
    }
}

static void send_to(int to, int tag, const void *data, int bytes)
{
    MPI_Request request;
    job.messages++;
    if (pw_pmpi.Isend(data, bytes, pw_mpi_handles.byte, to, tag, job.comm, &request) == MPI_SUCCESS)
        wait_for(&request, partner);
}

static void receive_from(int from, int tag, void *data, int bytes, struct patience patience)
{
    MPI_Request request;
    if (pw_pmpi.Irecv(data, bytes, pw_mpi_handles.byte, from, tag, job.comm, &request) ==
        MPI_SUCCESS)
        wait_for(&request, patience);
}

/* The side whose offset is known: answers each ping with its time, and at the end sends its own
 * knot. The first ping comes when the partner is ready. */
static void serve(int client, const struct pw_knot *mine)
{
    struct ping ping = {0};
    for (bool first = true; !ping.last; first = false) {
        receive_from(client, TAG_PING, &ping, sizeof(ping), first ? idle : partner);
        int64_t now = shown_ns();
        send_to(client, TAG_PONG, &now, sizeof(now));
    }
    send_to(client, TAG_KNOT, mine, sizeof(*mine));
}

/* Returns offset and error to rank 0's clock: those to the reference's clock plus the reference's
 * own, with the drift since these were measured. */
static struct pw_knot measure(int reference)
{
    struct pw_envelope envelope = {0};
    struct pw_knot theirs = {0}, mine = {0};
    int64_t t_ref = 0, start = pw_local_ns();
    for (bool last = false; !last;) {
        last = pw_envelope_is_settled(&envelope) ||
               (envelope.n >= LEAST && pw_local_ns() - start > LONGEST_NS);
        struct ping ping = {shown_ns(), last};
        send_to(reference, TAG_PING, &ping, sizeof(ping));
        receive_from(reference, TAG_PONG, &t_ref, sizeof(t_ref), envelope.n ? partner : idle);
        pw_envelope_add(&envelope, ping.local_ns, t_ref, shown_ns());
    }
    receive_from(reference, TAG_KNOT, &theirs, sizeof(theirs), partner);
    pw_envelope_knot(&envelope, &mine);
    mine.offset_ns += theirs.offset_ns;
    mine.error_ns += theirs.error_ns;
    if (theirs.error_ns)
        mine.error_ns += pw_clock_drift(t_ref - theirs.local_ns);
    return mine;
}

/* In round k, the leaders 0 .. 2^k - 1 know their offset and serve the leaders 2^k .. 2^(k+1) -
 * 1. */
static struct pw_knot climb_tree(void)
{
    struct pw_knot mine = {.local_ns = shown_ns()};
    for (int half = 1; half < job.nleaders; half *= 2) {
        if (job.place < half && job.place + half < job.nleaders)
            serve(job.leaders[job.place + half], &mine);
        else if (job.place >= half && job.place < 2 * half)
            mine = measure(job.leaders[job.place - half]);
    }
    return mine;
}

/* Ranks that are no leaders sleep until their leader knows its offset; otherwise they would use the
 * cores that leaders need. */
static struct pw_knot follow_leader(void)
{
    struct pw_knot knot = {0};
    receive_from(job.leader, TAG_KNOT, &knot, sizeof(knot), idle);
    return knot;
}

static void lead(const struct pw_knot *knot)
{
    for (int r = job.rank + 1; r < job.size; r++)
        if (job.domains[r] == job.domains[job.rank])
            send_to(r, TAG_KNOT, knot, sizeof(*knot));
}

static void record_knot(struct pw_thread *thread, const struct pw_knot *knot)
{
    uint64_t now = pw_probe_now();
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_OTHER);
    if (!record)
        return;
    *record = (struct pw_record){
        .type = PW_REC_CLOCK,
        .start = now,
        .end = now,
        .clock = {knot->local_ns, knot->offset_ns, knot->error_ns},
    };
    pw_probe_commit(thread);
}

static void synchronise(struct pw_thread *thread, MPI_Comm comm)
{
    struct pw_knot knot = {.local_ns = shown_ns()};
    job.comm = comm;
    if (job.nleaders > 1) {
        int slack = prctl(PR_GET_TIMERSLACK);
        prctl(PR_SET_TIMERSLACK, partner.nap_ns); /* by default, sleeps take 50 us longer */
        knot = job.place < 0 ? follow_leader() : climb_tree();
        if (job.place >= 0)
            lead(&knot);
        prctl(PR_SET_TIMERSLACK, slack > 0 ? slack : 0);
    }
    if (thread)
        record_knot(thread, &knot);
}

static void find_leaders(void)
{
    job.nleaders = 0;
    job.place = -1;
    for (int i = 0; i < job.size; i++) {
        int known = 0;
        /* There are few domains: compare with the leaders found so far, not with all ranks. */
        while (known < job.nleaders && job.domains[job.leaders[known]] != job.domains[i])
            known++;
        if (known == job.nleaders) {
            job.leaders[job.nleaders++] = i;
            if (i == job.rank)
                job.place = known;
        }
        if (i == job.rank)
            job.leader = job.leaders[known];
    }
}

static bool gather_domains(uint64_t mine)
{
    MPI_Request request;
    job.collectives++;
    if (pw_pmpi.Iallgather(&mine, sizeof(mine), pw_mpi_handles.byte, job.domains, sizeof(mine),
                           pw_mpi_handles.byte, pw_mpi_handles.world, &request) != MPI_SUCCESS)
        return false;
    wait_for(&request, idle);
    return true;
}

static bool set_up(void)
{
    if (pw_pmpi.Comm_size(pw_mpi_handles.world, &job.size) != MPI_SUCCESS ||
        pw_pmpi.Comm_rank(pw_mpi_handles.world, &job.rank) != MPI_SUCCESS)
        return false;
    job.memory_bytes = (size_t)job.size * (sizeof(uint64_t) + sizeof(int));
    job.memory =
        mmap(NULL, job.memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (job.memory == MAP_FAILED)
        return false; /* if MPI fails here only, the other ranks wait for this one */
    job.domains = (uint64_t *)job.memory;
    job.leaders = (int *)(job.domains + job.size);
    if (!gather_domains(pw_probe_borrow_segment()->clock_domain))
        return false;
    find_leaders();
    return true;
}

/* Uses MPI_COMM_WORLD. The application is inside MPI_Init on all ranks that exchange messages here,
 * so its messages cannot be confused with these. Making a communicator would take several times as
 * long as the rest. */
static struct pw_mpi_sync_cost mpi_sync_begin(struct pw_thread *thread)
{
    int64_t start = pw_local_ns();
    job.ready = set_up();
    if (job.ready)
        synchronise(thread, pw_mpi_handles.world);
    return (struct pw_mpi_sync_cost){0, pw_local_ns() - start, job.messages, job.collectives};
}

/* Uses a communicator of its own: before MPI_Finalize, a receive that the application has not
 * completed could match a message on its communicators. */
static void synchronise_apart(struct pw_thread *thread)
{
    MPI_Request request;
    MPI_Comm comm;
    if (job.nleaders > 1) {
        job.collectives += 2; /* to create the communicator, and to free it */
        if (pw_pmpi.Comm_idup(pw_mpi_handles.world, &comm, &request) != MPI_SUCCESS)
            return;
        wait_for(&request, idle);
        synchronise(thread, comm);
        pw_pmpi.Comm_free(&comm);
    } else {
        synchronise(thread, pw_mpi_handles.world);
    }
}

/* The same before MPI_Finalize. Does nothing unless mpi_sync_begin() was called. */
static struct pw_mpi_sync_cost mpi_sync_end(struct pw_thread *thread)
{
    if (!job.ready)
        return (struct pw_mpi_sync_cost){0};
    int64_t start = pw_local_ns();
    MPI_Request request;
    job.messages = 0;
    job.collectives = job.nleaders > 1;
    if (job.nleaders > 1 && pw_pmpi.Ibarrier(pw_mpi_handles.world, &request) == MPI_SUCCESS)
        wait_for(&request, idle);
    int64_t met = pw_local_ns();
    synchronise_apart(thread);
    munmap(job.memory, job.memory_bytes);
    job.ready = false;
    return (struct pw_mpi_sync_cost){met - start, pw_local_ns() - met, job.messages,
                                     job.collectives};
}

#define EXPORT __attribute__((visibility("default")))

/* The ranks of the job: MPI_COMM_WORLD's group or, in a program of sessions, that of all ranks. */
struct place {
    int32_t rank, size; /* -1: not known */
};

static struct place place_in_world(void)
{
    struct place at = {-1, -1};
    if (pw_mpi_is_known()) {
        pw_pmpi.Comm_rank(pw_mpi_handles.world, &at.rank);
        pw_pmpi.Comm_size(pw_mpi_handles.world, &at.size);
    }
    return at;
}

static void record_state(struct pw_thread *thread, int state, struct place at, int thread_level,
                         struct pw_mpi_sync_cost cost)
{
    uint64_t now = pw_probe_now();
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_OTHER);
    if (!record)
        return;
    *record = (struct pw_record){
        .type = PW_REC_MPI_STATE,
        .start = now,
        .end = now,
        .mpi = {.state = state,
                .world_rank = at.rank,
                .world_size = at.size,
                .thread_level = thread_level,
                .sync_ns = cost.work_ns,
                .sync_wait_ns = cost.wait_ns,
                .sync_messages = cost.messages,
                .sync_collectives = cost.collectives},
    };
    pw_probe_commit(thread);
}

static void record_call(struct pw_thread *thread, uint16_t op, uint64_t start, uint64_t end)
{
    struct pw_mpi_call c = {.thread = thread,
                            .op = op,
                            .quiet = atomic_load(&pw_gate->paused) != 0,
                            .start = start,
                            .end = end};
    c.stack = pw_stack_take(thread, (int)pw_gate->stack_depth);
    pw_mpi_record(&c, NULL, MPI_SUCCESS);
}

/* MPI_Pcontrol(level >= PCONTROL_STEP, ...) begins the next step, for programs that cannot include
 * profwrap.h; the steps are numbered as they come. 0 pauses recording, 1 resumes it, and 2 resumes
 * it and records calls of all levels. Other levels are ignored. */
enum { PCONTROL_STOP = 0, PCONTROL_START, PCONTROL_ALL, PCONTROL_STEP = 10, NO_STEP = -1 };

static void mark_step(struct pw_thread *thread)
{
    static _Atomic int64_t steps;
    pw_probe_record_step(thread, pw_probe_now(), atomic_fetch_add(&steps, 1));
}

static void switch_recording(struct pw_thread *thread, int level)
{
    if (level != PCONTROL_STOP)
        pw_recording_use_level(level == PCONTROL_ALL ? PW_HIGHEST_LEVEL
                                                     : (int)pw_probe_borrow_segment()->level);
    pw_recording_switch(thread, level != PCONTROL_STOP, PW_OPENED_PCONTROL);
}

static void obey_pcontrol(int level)
{
    int is_step = level >= PCONTROL_STEP;
    struct pw_thread *thread =
        is_step || (level >= PCONTROL_STOP && level <= PCONTROL_ALL) ? pw_probe_thread() : NULL;
    if (!thread || !pw_probe_lock(thread))
        return;
    if (is_step)
        mark_step(thread);
    else
        switch_recording(thread, level);
    pw_probe_unlock(thread);
}

/* Shows MPI_Init or MPI_Finalize as the open call: a thread can hang in these, too. */
static void show_begin(struct pw_thread *thread, uint16_t op, uint64_t start)
{
    atomic_store_explicit(&thread->call->start, start, memory_order_relaxed);
    atomic_store_explicit(&thread->call->op, op, memory_order_relaxed);
}

static void show_end(struct pw_thread *thread)
{
    atomic_store_explicit(&thread->call->op, 0, memory_order_relaxed);
}

/* Whether the thread that called MPI_Init has no ring. It still takes part in the clock
 * synchronisation. Calls are then counted, or recorded when a thread gets a ring later. */
static bool began_without_ring;

/* Before the real MPI_Init: asks the collector whether clocks must be synchronised over MPI. Then
 * the collectors find out whether every rank is in here with a probe, because a rank that does not
 * take part would leave the others waiting for ever. */
static uint64_t request_sync(uint16_t op)
{
    struct pw_thread *thread = pw_probe_thread();
    uint64_t start = pw_probe_now();
    /* A thread that is in the probe already does not take part; begin_recording() detects it by its
     * open call. */
    if (!thread && pw_probe_lacks_ring() &&
        (pw_probe_borrow_segment()->activities & PW_ACTIVITY_MPI)) {
        began_without_ring = true;
        pw_probe_request_sync();
    }
    if (!thread || atomic_load_explicit(&thread->call->op, memory_order_relaxed) ||
        !(pw_probe_borrow_segment()->activities & PW_ACTIVITY_MPI))
        return start;
    show_begin(thread, op, start);
    pw_probe_request_sync();
    return pw_probe_now();
}

/* Sets what all later calls need, with or without a ring: whether each must find out its caller,
 * and whether several threads may be in MPI. Returns the level of thread support. */
static int note_beginning(void)
{
    int provided = MPI_THREAD_SINGLE;
    if (pw_mpi_by_caller)
        pw_gate->general = 1;
    pw_mpi_abi_begin(pw_mpi_handles.self);
    pw_pmpi.Query_thread(&provided);
    pw_mpi_threads = provided == MPI_THREAD_MULTIPLE;
    pw_mpi_request_show_places();
    return provided;
}

/* Set from MPI_Init to MPI_Finalize: the end of a session is not the end of recording then. */
static _Atomic bool is_initialised;

/* Records MPI_Init after it has ended. The thread's open call is still the one that request_sync()
 * has set. */
static void record_init(struct pw_thread *thread, uint16_t op, uint64_t start, uint64_t end)
{
    if (!pw_mpi_is_known()) {
        record_state(thread, PW_MPI_FOREIGN, place_in_world(), 0, (struct pw_mpi_sync_cost){0});
        return;
    }
    const int provided = note_beginning();
    record_call(thread, op, start, end);
    pw_mpi_comm_init(thread);

    struct pw_mpi_sync_cost cost = {0};
    const int64_t asked = pw_local_ns();
    const int is_wanted = pw_probe_await_sync();
    const int64_t answered = pw_local_ns();
    if (is_wanted)
        cost = mpi_sync_begin(thread);
    cost.work_ns += answered - asked;
    record_state(thread, PW_MPI_BEGAN, place_in_world(), provided, cost);
    atomic_store(&is_initialised, true);
    pw_recording_set_mpi(PW_MPI_ABI, 1);
}

static void begin_counting(void)
{
    if (!pw_mpi_is_known())
        return;
    note_beginning();
    pw_mpi_comm_init(NULL);
    if (pw_probe_await_sync())
        mpi_sync_begin(NULL);
    atomic_store(&is_initialised, true);
    pw_recording_set_mpi(PW_MPI_ABI, 1);
}

/* Begins recording MPI calls, after a successful MPI_Init. */
static void begin_recording(uint16_t op, uint64_t start, uint64_t end, int rc)
{
    if (began_without_ring) {
        if (rc == MPI_SUCCESS)
            begin_counting();
        return;
    }
    struct pw_thread *thread = pw_probe_thread();
    if (!thread || atomic_load_explicit(&thread->call->op, memory_order_relaxed) != op)
        return;
    if (rc == MPI_SUCCESS)
        record_init(thread, op, start, end);
    show_end(thread);
}

/* Undoes request_sync(), because the MPI library was not initialised by this call. */
static void cancel_begin(uint16_t op)
{
    struct pw_thread *thread = pw_probe_thread();
    if (thread && atomic_load_explicit(&thread->call->op, memory_order_relaxed) == op)
        show_end(thread);
}

/* Returns the thread that records MPI_Finalize, with that as its open call; NULL when it is not
 * recorded. */
static struct pw_thread *end_recording(void)
{
    if (pw_mpi_gate() == 0)
        return NULL;
    atomic_store(&is_initialised, false);
    pw_recording_set_mpi(PW_MPI_ABI,
                         0); /* also while paused: all ranks take part in the synchronisation */
    pw_probe_note_mpi_phase(PW_MPI_FINALIZING);
    struct pw_thread *thread = pw_probe_thread();
    thread = thread && pw_probe_lock(thread) ? thread : NULL;
    if (thread) {
        pw_probe_record_step(thread, pw_probe_now(), NO_STEP); /* MPI_Finalize belongs to no step */
        show_begin(thread, PW_OP_Finalize, pw_probe_now());
    }
    /* Also without a ring, because the other ranks take part. */
    struct pw_mpi_sync_cost cost = mpi_sync_end(thread);
    if (thread)
        record_state(thread, PW_MPI_ENDING, place_in_world(), 0, cost);
    return thread;
}

static void end_finalize(struct pw_thread *thread, uint64_t start)
{
    if (!thread)
        return;
    record_call(thread, PW_OP_Finalize, start, pw_probe_now());
    show_end(thread);
}

/* Set during MPI_Init and MPI_Finalize: when a tool's MPI_Init calls PMPI_Init, only the outer call
 * is recorded. */
static _Thread_local bool is_inside __attribute__((tls_model("initial-exec")));

/* Finds the function that the wrapper of `symbol` calls: the one in `table`, else the one for the
 * caller. Sets is_mpi: whether it may belong to MPI. */
#define FIND_NEXT(Name, symbol, table)                                             \
    bool is_mpi;                                                                   \
    pw_mpi_resolve();                                                              \
    __typeof__(table.Name) next = table.Name;                                      \
    is_mpi = next && pw_pmpi.Init;                                                 \
    if (!next) {                                                                   \
        void *found = pw_mpi_locate(symbol, __builtin_return_address(0), &is_mpi); \
        __builtin_memcpy(&next, &found, sizeof(next));                             \
    }                                                                              \
    if (!next)                                                                     \
        return MPI_ERR_OTHER;

/* Whether the known MPI library was initialised. False when the call went to a serial replacement,
 * and the MPI library is loaded but unused. */
static bool has_begun(void)
{
    int flag = 0;
    return !pw_mpi_is_known() || (pw_pmpi.Initialized(&flag) == MPI_SUCCESS && flag);
}

#define BEGIN_MPI(op, call)                             \
    if (is_inside || !is_mpi)                           \
        return call;                                    \
    is_inside = true;                                   \
    pw_probe_note_mpi_phase(PW_MPI_IN_USE);             \
    uint64_t start = request_sync(op);                  \
    int rc = call;                                      \
    if (has_begun())                                    \
        begin_recording(op, start, pw_probe_now(), rc); \
    else                                                \
        cancel_begin(op);                               \
    is_inside = false;                                  \
    return rc;

#define SPECIALS(P, table)                                                                       \
    EXPORT int P##MPI_Init(int *argc, char ***argv){FIND_NEXT(Init, #P "MPI_Init", table)        \
                                                        BEGIN_MPI(PW_OP_Init, next(argc, argv))} \
                                                                                                 \
    EXPORT int P##MPI_Init_thread(int *argc, char ***argv, int required, int *provided){         \
        FIND_NEXT(Init_thread, #P "MPI_Init_thread", table)                                      \
            BEGIN_MPI(PW_OP_Init_thread, next(argc, argv, required, provided))}                  \
                                                                                                 \
    EXPORT int P##MPI_Finalize(void)                                                             \
    {                                                                                            \
        FIND_NEXT(Finalize, #P "MPI_Finalize", table)                                            \
        if (is_inside || !is_mpi)                                                                \
            return next();                                                                       \
        is_inside = true;                                                                        \
        struct pw_thread *thread = end_recording();                                              \
        uint64_t start = pw_probe_now();                                                         \
        int rc = next();                                                                         \
        end_finalize(thread, start);                                                             \
        pw_probe_note_mpi_phase(PW_MPI_FINALIZED);                                               \
        is_inside = false;                                                                       \
        return rc;                                                                               \
    }                                                                                            \
                                                                                                 \
    /* The further arguments are meant for profilers; MPI libraries do not read them. */         \
    EXPORT int P##MPI_Pcontrol(const int level, ...)                                             \
    {                                                                                            \
        FIND_NEXT(Pcontrol, #P "MPI_Pcontrol", table)                                            \
        if (is_inside || !is_mpi)                                                                \
            return next(level);                                                                  \
        is_inside = true;                                                                        \
        obey_pcontrol(level);                                                                    \
        int rc = next(level);                                                                    \
        is_inside = false;                                                                       \
        return rc;                                                                               \
    }

#if MPI_VERSION >= 4

/* ---- the probe's own MPI session ----
 *
 * It is open while a program that has not called MPI_Init has sessions. From it the probe has the
 * group of all ranks, which stands for MPI_COMM_WORLD's. The MPI functions that it calls are local.
 */

/* Functions that only libraries of MPI-4 have, so they are no helpers of mpi_library.h. */
static struct {
    int (*Session_init)(MPI_Info, MPI_Errhandler, MPI_Session *);
    int (*Session_finalize)(MPI_Session *);
    int (*Group_from_session_pset)(MPI_Session, const char *, MPI_Group *);
} mpi;

static MPI_Session own_session;
static MPI_Group all_ranks;
static bool has_own_session;

static bool take(void *slot, const char *symbol)
{
    void *found = pw_mpi_symbol(symbol);
    memcpy(slot, &found, sizeof(found));
    return found;
}

static bool take_functions(void)
{
    return take(&mpi.Session_init, "PMPI_Session_init") &&
           take(&mpi.Session_finalize, "PMPI_Session_finalize") &&
           take(&mpi.Group_from_session_pset, "PMPI_Group_from_session_pset");
}

/* Opens it, while the program has a session of its own. `world` is the group of all ranks, valid
 * until the session is closed. False when MPI does not give it. */
static bool own_session_open(MPI_Group *world)
{
    if (has_own_session || !take_functions() ||
        mpi.Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &own_session) != MPI_SUCCESS)
        return false;
    if (mpi.Group_from_session_pset(own_session, "mpi://WORLD", &all_ranks) != MPI_SUCCESS) {
        mpi.Session_finalize(&own_session);
        return false;
    }
    has_own_session = true;
    *world = all_ranks;
    return true;
}

/* Closes it, before the program closes its last session. Does nothing when it is not open. */
static void own_session_close(void)
{
    if (!has_own_session)
        return;
    has_own_session = false;
    pw_pmpi.Group_free(&all_ranks);
    mpi.Session_finalize(&own_session);
}

/* ---- sessions ----
 *
 * A program may have sessions and never call MPI_Init. Then recording begins with its first session
 * and ends with its last. Clocks are not synchronised over MPI: a rank may have no session, and the
 * others would wait for it.
 *
 * A thread that finds `is_changing` set does not wait: then a session of another thread is
 * beginning, so this one is not the last; or the last one is ending, and what this one does is not
 * recorded. */
static _Atomic int sessions;
static atomic_flag is_changing = ATOMIC_FLAG_INIT;
static struct place session_place = {-1, -1};

/* Before the real MPI_Session_init. */
static uint64_t note_session(void)
{
    if ((pw_probe_thread() || pw_probe_lacks_ring()) &&
        (pw_probe_borrow_segment()->activities & PW_ACTIVITY_MPI))
        pw_probe_note_mpi();
    return pw_probe_now();
}

static void begin_session(uint64_t start, uint64_t end)
{
    MPI_Group world;
    if (!pw_mpi_is_known() || pw_mpi_gate() != 0 ||
        !(pw_probe_borrow_segment()->activities & PW_ACTIVITY_MPI) || !own_session_open(&world))
        return;
    if (pw_mpi_by_caller)
        pw_gate->general = 1;
    pw_mpi_abi_begin(pw_mpi_handles.comm_null);
    pw_mpi_threads = 1; /* each session has a level of its own */
    pw_pmpi.Group_rank(world, &session_place.rank);
    pw_pmpi.Group_size(world, &session_place.size);
    pw_mpi_request_show_places();
    struct pw_thread *thread = pw_probe_thread();
    thread = thread && pw_probe_lock(thread) ? thread : NULL;
    if (thread) {
        record_call(thread, PW_OP_Session_init, start, end);
        pw_mpi_comm_init_session(thread, world);
        record_state(thread, PW_MPI_BEGAN, session_place, MPI_THREAD_MULTIPLE,
                     (struct pw_mpi_sync_cost){0});
        pw_probe_unlock(thread);
    } else {
        pw_mpi_comm_init_session(NULL, world);
    }
    pw_recording_set_mpi(PW_MPI_ABI, 1);
}

/* Returns the thread that records the end of the last session, as end_recording() does. */
static struct pw_thread *end_session(void)
{
    struct pw_thread *thread = NULL;
    if (!atomic_load(&is_initialised) && pw_mpi_gate() != 0) {
        pw_recording_set_mpi(PW_MPI_ABI, 0);
        pw_probe_note_mpi_phase(PW_MPI_FINALIZING);
        thread = pw_probe_thread();
        thread = thread && pw_probe_lock(thread) ? thread : NULL;
    }
    if (thread) {
        pw_probe_record_step(thread, pw_probe_now(), NO_STEP);
        show_begin(thread, PW_OP_Session_finalize, pw_probe_now());
        record_state(thread, PW_MPI_ENDING, session_place, 0, (struct pw_mpi_sync_cost){0});
    }
    own_session_close();
    return thread;
}

#define SESSIONS(P, table)                                                                   \
    EXPORT int P##MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *made) \
    {                                                                                        \
        FIND_NEXT(Session_init, #P "MPI_Session_init", table)                                \
        if (is_inside || !is_mpi)                                                            \
            return next(info, handler, made);                                                \
        is_inside = true;                                                                    \
        pw_probe_note_mpi_phase(PW_MPI_IN_USE);                                              \
        uint64_t start = note_session();                                                     \
        int rc = next(info, handler, made);                                                  \
        if (rc == MPI_SUCCESS && atomic_fetch_add(&sessions, 1) == 0 &&                      \
            !atomic_flag_test_and_set(&is_changing)) {                                       \
            begin_session(start, pw_probe_now());                                            \
            atomic_flag_clear(&is_changing);                                                 \
        }                                                                                    \
        is_inside = false;                                                                   \
        return rc;                                                                           \
    }                                                                                        \
                                                                                             \
    EXPORT int P##MPI_Session_finalize(MPI_Session *session)                                 \
    {                                                                                        \
        FIND_NEXT(Session_finalize, #P "MPI_Session_finalize", table)                        \
        if (is_inside || !is_mpi)                                                            \
            return next(session);                                                            \
        is_inside = true;                                                                    \
        const bool is_alone = !atomic_flag_test_and_set(&is_changing);                       \
        const bool is_last = atomic_fetch_sub(&sessions, 1) == 1 && is_alone;                \
        struct pw_thread *thread = is_last ? end_session() : NULL;                           \
        uint64_t start = pw_probe_now();                                                     \
        int rc = next(session);                                                              \
        if (is_last && !atomic_load(&is_initialised))                                        \
            pw_probe_note_mpi_phase(PW_MPI_FINALIZED);                                       \
        if (thread) {                                                                        \
            record_call(thread, PW_OP_Session_finalize, start, pw_probe_now());              \
            show_end(thread);                                                                \
        }                                                                                    \
        if (is_alone)                                                                        \
            atomic_flag_clear(&is_changing);                                                 \
        is_inside = false;                                                                   \
        return rc;                                                                           \
    }

SESSIONS(, pw_next)
SESSIONS(P, pw_pnext)

#endif

SPECIALS(, pw_next)
SPECIALS(P, pw_pnext)
