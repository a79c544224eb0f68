/* Envelope-filtered ping-pongs between the leaders of clock domains; see mpi_sync.h and
 * rank/clocks/envelope.h.
 *
 * Often there are more ranks than cores; then MPI's blocking calls would spin on the core that the
 * partner needs. So all calls here are nonblocking, and a waiting process sleeps: the partners of
 * an exchange after a short time, all others at once. */
#include "collectors/mpi/mpi_sync.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "core/clockmap.h"
#include "rank/clocks/envelope.h"

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
struct pw_mpi_sync_cost pw_mpi_sync_begin(struct pw_thread *thread)
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

struct pw_mpi_sync_cost pw_mpi_sync_end(struct pw_thread *thread)
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
