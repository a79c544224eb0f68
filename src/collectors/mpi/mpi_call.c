/* The out-of-line pieces of a wrapped call: sizes of types, bytes of collectives, and the scratch
 * copies of requests and statuses. See mpi_call.h. */
#include "collectors/mpi/mpi_call.h"

#include <string.h>
#include <sys/mman.h>

#include "collectors/mpi/mpi_next.h"
#include "collectors/mpi/mpi_request.h"
#include "rank/probe/recording.h"
#include "rank/probe/stack.h"

int pw_mpi_threads;

/* One growing buffer per use and thread; what grows is replaced, never returned to the application.
 */
struct scratch {
    void *memory;
    size_t bytes;
};
static _Thread_local struct scratch handles, statuses __attribute__((tls_model("initial-exec")));

static void *scratch_take(struct scratch *scratch, size_t bytes)
{
    if (bytes <= scratch->bytes)
        return scratch->memory;
    size_t size = 4096;
    while (size < bytes)
        size *= 2;
    void *fresh = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED)
        return NULL;
    if (scratch->memory)
        munmap(scratch->memory, scratch->bytes);
    scratch->memory = fresh;
    scratch->bytes = size;
    return fresh;
}

struct pw_thread *pw_mpi_enter(void)
{
    return pw_mpi_by_caller ? NULL : pw_mpi_enter_located();
}

struct pw_thread *pw_mpi_enter_located(void)
{
    struct pw_thread *thread = pw_probe_thread();
    if (!thread || !pw_probe_hold(thread))
        return NULL;
    if (pw_recording_is_poked())
        pw_recording_obey(thread);
    if (pw_mpi_gate() < 0) { /* by that order: the call is not to be recorded */
        pw_probe_let_go(thread);
        return NULL;
    }
    thread->stack = pw_stack_take(thread, (int)pw_gate->stack_depth);
    return thread;
}

int64_t pw_mpi_type_size_slow(MPI_Datatype type)
{
    MPI_Count size;
    /* Where MPI ignores a type it may be null; to ask MPI for its size would be an error. */
    if (!type || type == pw_mpi_handles.datatype_null)
        return 0;
    if (pw_pmpi.Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
        return 0;
    pw_mpi_last_refresh();
    pw_mpi_last.type = type;
    pw_mpi_last.type_size = size;
    return size;
}

/* The parts of a collective's call that its bytes depend on. MPI ignores some arguments on some
 * ranks (MPI-3.1, 5.5 to 5.11): those are not looked at. */
struct shape {
    const struct pw_mpi_call *c;
    uint16_t op; /* of a persistent one: that which it is when started */
    bool large;  /* count arrays are of MPI_Count */
    int n;       /* ranks that data goes to or comes from */
    int my_rank, local_size;
    bool root; /* of rooted operations */
};

static int64_t count_at(const struct shape *s, const int *counts, int i)
{
    return s->large ? (int64_t)((const MPI_Count *)(const void *)counts)[i] : counts[i];
}

static int64_t sum(const struct shape *s, const int *counts, int n)
{
    int64_t total = 0;
    for (int i = 0; i < n; i++)
        total += count_at(s, counts, i);
    return total;
}

/* Neighbours past the 64th are of no grid, and always there. */
static bool is_absent(uint64_t absent, int i)
{
    return i < 64 && (absent >> i & 1);
}

static int64_t sum_present(const struct shape *s, const int *counts, int n, uint64_t absent)
{
    int64_t total = 0;
    for (int i = 0; i < n; i++)
        total += is_absent(absent, i) ? 0 : count_at(s, counts, i);
    return total;
}

static int64_t weighted_sum(const struct shape *s, const int *counts, const MPI_Datatype *types,
                            int n, uint64_t absent)
{
    int64_t total = 0;
    for (int i = 0; i < n; i++) {
        int64_t count = is_absent(absent, i) ? 0 : count_at(s, counts, i);
        if (count)
            total += count * pw_mpi_type_size(types[i]);
    }
    return total;
}

/* Of operations with both buffers. */
static bool is_in_place(const struct shape *s)
{
    return s->c->sbuf == MPI_IN_PLACE || s->c->rbuf == MPI_IN_PLACE;
}

static int64_t send_bytes(const struct shape *s)
{
    return s->c->scount * pw_mpi_type_size(s->c->stype);
}

static int64_t receive_bytes(const struct shape *s)
{
    return s->c->rcount * pw_mpi_type_size(s->c->rtype);
}

static void bytes_of_reduction(const struct shape *s, int64_t *sent, int64_t *received)
{
    const struct pw_mpi_call *c = s->c;
    switch (s->op) {
    case PW_OP_Reduce_scatter_block:
    case PW_OP_Ireduce_scatter_block:
        *received = send_bytes(s); /* its one count is noted as the send count */
        *sent = *received * s->local_size;
        break;
    case PW_OP_Reduce_scatter:
    case PW_OP_Ireduce_scatter:
        *sent = sum(s, c->rcounts, s->local_size) * pw_mpi_type_size(c->stype);
        *received = count_at(s, c->rcounts, s->my_rank) * pw_mpi_type_size(c->stype);
        break;
    default: /* Allreduce, Scan, Exscan */
        *sent = *received = send_bytes(s);
        break;
    }
}

/* Towards or from a root. */
static void bytes_of_rooted(const struct shape *s, int64_t *sent, int64_t *received)
{
    const struct pw_mpi_call *c = s->c;
    switch (s->op) {
    case PW_OP_Bcast:
    case PW_OP_Ibcast:
        *(s->root ? sent : received) = send_bytes(s);
        break;
    case PW_OP_Reduce:
    case PW_OP_Ireduce:
        *sent = send_bytes(s);
        *received = s->root ? *sent : 0;
        break;
    case PW_OP_Gather:
    case PW_OP_Igather:
        *received = s->root ? s->n * receive_bytes(s) : 0;
        *sent = is_in_place(s) ? *received / s->n : send_bytes(s);
        break;
    case PW_OP_Gatherv:
    case PW_OP_Igatherv:
        *received = s->root ? sum(s, c->rcounts, s->n) * pw_mpi_type_size(c->rtype) : 0;
        *sent = is_in_place(s) ? count_at(s, c->rcounts, s->my_rank) * pw_mpi_type_size(c->rtype)
                               : send_bytes(s);
        break;
    case PW_OP_Scatter:
    case PW_OP_Iscatter:
        *sent = s->root ? s->n * send_bytes(s) : 0;
        *received = is_in_place(s) ? *sent / s->n : receive_bytes(s);
        break;
    default: /* Scatterv */
        *sent = s->root ? sum(s, c->scounts, s->n) * pw_mpi_type_size(c->stype) : 0;
        *received = is_in_place(s)
                        ? count_at(s, c->scounts, s->my_rank) * pw_mpi_type_size(c->stype)
                        : receive_bytes(s);
        break;
    }
}

/* The root that the other side of an intercommunicator sends to or gets from; its own side takes no
 * part, and half of its arguments mean nothing. */
static void bytes_of_root_across(const struct shape *s, int64_t *sent, int64_t *received)
{
    const struct pw_mpi_call *c = s->c;
    switch (s->op) {
    case PW_OP_Bcast:
    case PW_OP_Ibcast:
        *sent = send_bytes(s);
        break;
    case PW_OP_Reduce:
    case PW_OP_Ireduce:
        *received = send_bytes(s); /* its one count is noted as the send count */
        break;
    case PW_OP_Gather:
    case PW_OP_Igather:
        *received = s->n * receive_bytes(s);
        break;
    case PW_OP_Gatherv:
    case PW_OP_Igatherv:
        *received = sum(s, c->rcounts, s->n) * pw_mpi_type_size(c->rtype);
        break;
    case PW_OP_Scatter:
    case PW_OP_Iscatter:
        *sent = s->n * send_bytes(s);
        break;
    default: /* Scatterv */
        *sent = sum(s, c->scounts, s->n) * pw_mpi_type_size(c->stype);
        break;
    }
}

/* Everybody to everybody. */
static void bytes_of_exchange(const struct shape *s, int64_t *sent, int64_t *received)
{
    const struct pw_mpi_call *c = s->c;
    switch (s->op) {
    case PW_OP_Allgather:
    case PW_OP_Iallgather:
        *received = s->n * receive_bytes(s);
        *sent = is_in_place(s) ? *received / s->n : send_bytes(s);
        break;
    case PW_OP_Allgatherv:
    case PW_OP_Iallgatherv:
        *received = sum(s, c->rcounts, s->n) * pw_mpi_type_size(c->rtype);
        *sent = is_in_place(s) ? count_at(s, c->rcounts, s->my_rank) * pw_mpi_type_size(c->rtype)
                               : send_bytes(s);
        break;
    case PW_OP_Alltoall:
    case PW_OP_Ialltoall:
        *received = s->n * receive_bytes(s);
        *sent = is_in_place(s) ? *received : s->n * send_bytes(s);
        break;
    case PW_OP_Alltoallv:
    case PW_OP_Ialltoallv:
        *received = sum(s, c->rcounts, s->n) * pw_mpi_type_size(c->rtype);
        *sent = is_in_place(s) ? *received : sum(s, c->scounts, s->n) * pw_mpi_type_size(c->stype);
        break;
    default: /* Alltoallw */
        *received = weighted_sum(s, c->rcounts, c->rtypes, s->n, 0);
        *sent = is_in_place(s) ? *received : weighted_sum(s, c->scounts, c->stypes, s->n, 0);
        break;
    }
}

/* To and from the neighbours of the topology. */
static void bytes_of_neighbours(const struct shape *s, const struct pw_mpi_comm *comm,
                                int64_t *sent, int64_t *received)
{
    const struct pw_mpi_call *c = s->c;
    const uint64_t absent = comm->absent;
    const int in = comm->in_degree, out = comm->out_degree, edge = __builtin_popcountll(absent);
    switch (s->op) {
    case PW_OP_Neighbor_allgatherv:
    case PW_OP_Ineighbor_allgatherv:
        *sent = (out - edge) * send_bytes(s);
        *received = sum_present(s, c->rcounts, in, absent) * pw_mpi_type_size(c->rtype);
        break;
    case PW_OP_Neighbor_alltoallv:
    case PW_OP_Ineighbor_alltoallv:
        *sent = sum_present(s, c->scounts, out, absent) * pw_mpi_type_size(c->stype);
        *received = sum_present(s, c->rcounts, in, absent) * pw_mpi_type_size(c->rtype);
        break;
    case PW_OP_Neighbor_alltoallw:
    case PW_OP_Ineighbor_alltoallw:
        *sent = weighted_sum(s, c->scounts, c->stypes, out, absent);
        *received = weighted_sum(s, c->rcounts, c->rtypes, in, absent);
        break;
    default: /* allgather, alltoall */
        *sent = (out - edge) * send_bytes(s);
        *received = (in - edge) * receive_bytes(s);
        break;
    }
}

static bool is_neighbourhood(uint16_t op)
{
    return op >= PW_OP_Neighbor_allgather && op <= PW_OP_Ineighbor_alltoallw;
}

/* What a persistent collective is when it is started: the rows are in the same order. */
static uint16_t started_as(uint16_t op)
{
    static_assert(PW_OP_Exscan_init - PW_OP_Barrier_init == PW_OP_Exscan - PW_OP_Barrier, "order");
    if (op >= PW_OP_Barrier_init && op <= PW_OP_Exscan_init)
        return (uint16_t)(op - PW_OP_Barrier_init + PW_OP_Barrier);
    if (op >= PW_OP_Neighbor_allgather_init && op <= PW_OP_Neighbor_alltoallw_init)
        return (uint16_t)(op - PW_OP_Neighbor_allgather_init + PW_OP_Neighbor_allgather);
    return op;
}

void pw_mpi_collective_bytes(const struct pw_mpi_call *c, bool large, struct pw_mpi_comm *comm,
                             int64_t *sent, int64_t *received)
{
    struct shape s = {
        .c = c,
        .op = started_as(c->op),
        .large = large,
        .n = comm->remote_size,
        .my_rank = comm->my_rank,
        .local_size = comm->size,
    };
    if (is_neighbourhood(s.op)) {
        if (comm->in_degree < 0)
            pw_mpi_comm_degrees(comm);
        bytes_of_neighbours(&s, comm, sent, received);
        return;
    }
    switch (s.op) {
    case PW_OP_Barrier:
    case PW_OP_Ibarrier:
        break;
    case PW_OP_Bcast:
    case PW_OP_Ibcast:
    case PW_OP_Reduce:
    case PW_OP_Ireduce:
    case PW_OP_Gather:
    case PW_OP_Igather:
    case PW_OP_Gatherv:
    case PW_OP_Igatherv:
    case PW_OP_Scatter:
    case PW_OP_Iscatter:
    case PW_OP_Scatterv:
    case PW_OP_Iscatterv:
        s.root = c->root == (comm->inter ? MPI_ROOT : comm->my_rank);
        if (comm->inter && s.root)
            bytes_of_root_across(&s, sent, received);
        else if (!comm->inter || c->root != MPI_PROC_NULL)
            bytes_of_rooted(&s, sent, received);
        break;
    case PW_OP_Allgather:
    case PW_OP_Iallgather:
    case PW_OP_Allgatherv:
    case PW_OP_Iallgatherv:
    case PW_OP_Alltoall:
    case PW_OP_Ialltoall:
    case PW_OP_Alltoallv:
    case PW_OP_Ialltoallv:
    case PW_OP_Alltoallw:
    case PW_OP_Ialltoallw:
        bytes_of_exchange(&s, sent, received);
        break;
    default:
        bytes_of_reduction(&s, sent, received);
        break;
    }
}

/* What the call waits for, where that is one operation in front of the table. Which of several has
 * not come cannot be told from here. */
static void show_awaited(const struct pw_mpi_call *c)
{
    struct pw_open_call *open = c->thread->call;
    const struct pw_mpi_request *row = NULL;
    if (c->nrequests == 1 && c->saved)
        row = pw_mpi_request_row(c->saved[0]);
    if (!row || !(row->state & PW_REQUEST_OPEN) || row->handle != c->saved[0]) {
        atomic_store_explicit(&open->awaited, 0, memory_order_relaxed);
        return;
    }
    const struct pw_record *record = &row->record;
    int is_collective = (row->state & PW_REQUEST_CLASS) == PW_CLASS_COLL;
    int32_t tag = is_collective ? (int32_t)record->comm.seq : record->comm.tag;
    atomic_store_explicit(&open->peer, record->comm.peer, memory_order_relaxed);
    atomic_store_explicit(&open->tag, tag, memory_order_relaxed);
    atomic_store_explicit(&open->handle, record->comm.comm, memory_order_relaxed);
    atomic_store_explicit(&open->awaited, record->op, memory_order_relaxed);
}

void pw_mpi_save_requests(struct pw_mpi_call *c, int count, const MPI_Request *requests)
{
    c->nrequests = count;
    c->requests = requests;
    c->saved =
        count > 0 && requests ? scratch_take(&handles, sizeof(*c->saved) * (size_t)count) : NULL;
    if (c->saved)
        memcpy(c->saved, requests, sizeof(*c->saved) * (size_t)count);
    else
        c->nrequests = 0;
    show_awaited(c);
}

MPI_Status *pw_mpi_statuses(struct pw_mpi_call *c, MPI_Status *given)
{
    if (given != MPI_STATUSES_IGNORE || c->nrequests <= 0 || !pw_mpi_request_receives())
        return given;
    MPI_Status *own = scratch_take(&statuses, sizeof(*own) * (size_t)c->nrequests);
    return own ? own : given;
}
