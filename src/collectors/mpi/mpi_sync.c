/* Envelope-filtered ping-pongs between the leaders of clock domains; see mpi_sync.h and
 * rank/envelope.h. */
#include "collectors/mpi/mpi_sync.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "rank/envelope.h"

enum { EXCHANGES = 30, TAG_PING = 1, TAG_PONG = 2, SPINS = 20 };

struct knot {
    int64_t local_ns, offset_ns, error_ns;
};

/* Everything that one synchronisation works on. */
struct sync {
    MPI_Comm comm;
    int rank, size;
    uint64_t *domains; /* [size] */
    int *leaders;      /* [size] rank of each rank's leader: the lowest of its domain */
    int *order;        /* [nleaders] leaders by rank */
    int nleaders;
    struct knot *knots; /* [size] */
    struct pw_mpi_sync_cost *cost;
};

/* MPI's own blocking calls may sleep for long on an oversubscribed machine; this does not. */
static void finish(MPI_Request *request)
{
    int done = 0;
    for (int spin = 0; !done; spin++) {
        if (pw_pmpi.Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return;
        if (!done && spin >= SPINS)
            sched_yield();
    }
}

static void send_bytes(struct sync *s, const void *data, int bytes, int to, int tag)
{
    MPI_Request request;
    s->cost->messages++;
    if (pw_pmpi.Isend(data, bytes, pw_mpi_handles.byte, to, tag, s->comm, &request) == MPI_SUCCESS)
        finish(&request);
}

static void receive_bytes(struct sync *s, void *data, int bytes, int from, int tag)
{
    MPI_Request request;
    if (pw_pmpi.Irecv(data, bytes, pw_mpi_handles.byte, from, tag, s->comm, &request) ==
        MPI_SUCCESS)
        finish(&request);
}

/* The side whose clock is known: answers with its time, then with its own knot. */
static void serve(struct sync *s, int client, const struct knot *mine)
{
    int64_t ping;
    for (int i = 0; i < EXCHANGES; i++) {
        receive_bytes(s, &ping, sizeof(ping), client, TAG_PING);
        int64_t now = pw_local_ns();
        send_bytes(s, &now, sizeof(now), client, TAG_PONG);
    }
    send_bytes(s, mine, sizeof(*mine), client, TAG_PONG);
}

static struct knot measure(struct sync *s, int reference)
{
    struct pw_envelope envelope = pw_envelope_start();
    struct knot theirs = {0, 0, 0};
    for (int i = 0; i < EXCHANGES; i++) {
        int64_t t_ref = 0, t1 = pw_local_ns();
        send_bytes(s, &t1, sizeof(t1), reference, TAG_PING);
        receive_bytes(s, &t_ref, sizeof(t_ref), reference, TAG_PONG);
        pw_envelope_add(&envelope, t1, t_ref, pw_local_ns());
    }
    receive_bytes(s, &theirs, sizeof(theirs), reference, TAG_PONG);
    return (struct knot){
        .local_ns = pw_local_ns(),
        .offset_ns = pw_envelope_offset(&envelope) + theirs.offset_ns,
        .error_ns = pw_envelope_error(&envelope) + theirs.error_ns,
    };
}

/* Round k: leaders 0 .. 2^k - 1 know their offset and serve leaders 2^k .. 2^(k+1) - 1. */
static struct knot climb_tree(struct sync *s, int me)
{
    struct knot mine = {.local_ns = pw_local_ns()};
    for (int half = 1; half < s->nleaders; half *= 2) {
        if (me < half && me + half < s->nleaders)
            serve(s, s->order[me + half], &mine);
        else if (me >= half && me < 2 * half)
            mine = measure(s, s->order[me - half]);
    }
    return mine;
}

static void find_leaders(struct sync *s)
{
    for (int i = 0; i < s->size; i++) {
        int leader = i;
        /* Few domains: compare with the leaders so far, not with all ranks. */
        for (int k = 0; k < s->nleaders && leader == i; k++)
            if (s->domains[s->order[k]] == s->domains[i])
                leader = s->order[k];
        s->leaders[i] = leader;
        if (leader == i)
            s->order[s->nleaders++] = i;
    }
}

static int place_in_tree(const struct sync *s)
{
    for (int k = 0; k < s->nleaders; k++)
        if (s->order[k] == s->rank)
            return k;
    return -1;
}

static void record_knot(struct pw_thread *thread, const struct knot *knot)
{
    uint64_t now = pw_probe_now();
    struct pw_record *record = pw_ring_reserve(&thread->ring, now);
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

static bool gather(const struct sync *s, const void *mine, void *all, int bytes)
{
    s->cost->collectives++;
    return pw_pmpi.Allgather(mine, bytes, pw_mpi_handles.byte, all, bytes, pw_mpi_handles.byte,
                             s->comm) == MPI_SUCCESS;
}

static void run(struct sync *s, struct pw_thread *thread, uint64_t domain)
{
    if (!gather(s, &domain, s->domains, sizeof(domain)))
        return;
    find_leaders(s);
    struct knot mine = {.local_ns = pw_local_ns()};
    int place = place_in_tree(s);
    if (place >= 0)
        mine = climb_tree(s, place);
    if (!gather(s, &mine, s->knots, sizeof(mine)))
        return;
    if (thread)
        record_knot(thread, &s->knots[s->leaders[s->rank]]);
}

void pw_mpi_sync(struct pw_thread *thread, MPI_Comm comm, uint64_t clock_domain,
                 struct pw_mpi_sync_cost *cost)
{
    struct sync s = {.comm = comm, .cost = cost};
    if (pw_pmpi.Comm_rank(comm, &s.rank) != MPI_SUCCESS ||
        pw_pmpi.Comm_size(comm, &s.size) != MPI_SUCCESS)
        return;
    size_t n = (size_t)s.size;
    size_t bytes = n * (sizeof(struct knot) + sizeof(uint64_t) + 2 * sizeof(int));
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return; /* the others wait in vain only if memory ends here first; MPI itself would fail too
                 */
    s.knots = (struct knot *)memory;
    s.domains = (uint64_t *)(s.knots + n);
    s.leaders = (int *)(s.domains + n);
    s.order = s.leaders + n;
    run(&s, thread, clock_domain);
    munmap(memory, bytes);
}
