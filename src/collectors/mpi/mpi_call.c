/* The out-of-line parts of a wrapped call: sizes of types, copies of requests and statuses, the
 * work while recording is paused, and the bytes of collectives. See mpi_call.h. */
#include "collectors/mpi/mpi_call.h"

#include <sys/mman.h>

#include "collectors/mpi/mpi_request.h"
#include "rank/probe/attach.h"
#include "rank/probe/recording.h"
#include "rank/probe/stack.h"

/* A buffer for each use and thread. When it is too small it is replaced by a larger one; its memory
 * is never freed. */
struct scratch {
    void *memory;
    size_t bytes;
};
_Thread_local MPI_Status pw_mpi_own_status __attribute__((tls_model("initial-exec")));
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
    struct pw_thread *thread = pw_probe_thread();
    if (!thread || !pw_probe_lock(thread))
        return NULL;
    if (pw_recording_is_signalled())
        pw_recording_apply(thread);
    if (pw_mpi_gate() < 0) { /* the change has paused recording: do not record this call */
        pw_probe_unlock(thread);
        return NULL;
    }
    thread->stack = pw_stack_take(thread, (int)pw_gate->stack_depth);
    return thread;
}

int64_t pw_mpi_type_size_slow(MPI_Datatype type)
{
    MPI_Count size;
    /* A type that MPI ignores may be null, and asking MPI for the size of a null type is an
     * error. */
    if (!type || type == pw_mpi_handles.datatype_null)
        return 0;
    if (pw_pmpi.Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
        return 0;
    pw_mpi_last_refresh();
    pw_mpi_last.type = type;
    pw_mpi_last.type_size = size;
    return size;
}

/* Shows where the requests are: which of them are missing is found out when somebody asks. */
static void show_requests(const struct pw_mpi_call *c)
{
    struct pw_shown_requests *shown = &c->thread->ring.shared->shown;
    atomic_store_explicit(&shown->requests, (uintptr_t)c->requests, memory_order_relaxed);
    atomic_store_explicit(&shown->count, (uint32_t)c->nrequests, memory_order_relaxed);
    atomic_store_explicit(&shown->start, c->start, memory_order_relaxed);
}

/* Shows in the open call which operation it waits for, when it is a single one that is in the front
 * of the table. */
static void show_awaited(const struct pw_mpi_call *c)
{
    struct pw_open_call *open = c->thread->call;
    const struct pw_mpi_request *row = NULL;
    if (c->nrequests == 1 && c->saved)
        row = pw_mpi_request_row(c->saved[0].handle);
    if (!row || !(row->state & PW_REQUEST_OPEN) || row->handle != c->saved[0].handle) {
        atomic_store_explicit(&open->awaited, 0, memory_order_relaxed);
        show_requests(c);
        return;
    }
    const struct pw_record *record = &row->record;
    int is_collective = (row->state & PW_REQUEST_CLASS) == PW_CLASS_COLL;
    int32_t tag = is_collective ? (int32_t)record->comm.seq : record->comm.tag;
    atomic_store_explicit(&open->peer, record->comm.peer, memory_order_relaxed);
    atomic_store_explicit(&open->tag, tag, memory_order_relaxed);
    atomic_store_explicit(&open->handle, record->comm.comm, memory_order_relaxed);
    atomic_store_explicit(&open->signature,
                          is_collective ? record->comm.signature : PW_REDUCTION_UNKNOWN,
                          memory_order_relaxed);
    atomic_store_explicit(&open->awaited, record->op, memory_order_relaxed);
}

void pw_mpi_count_poll(const struct pw_mpi_call *c)
{
    const uint64_t first = c->nrequests > 0 ? (uintptr_t)c->requests[0] : 0;
    pw_mpi_show_poll(&c->thread->ring.shared->shown, c->op,
                     (uintptr_t)c->requests + first * PW_CALLORDER_FACTOR + (uint64_t)c->nrequests);
}

/* Not by memcpy(): glibc's uses 256-bit registers for more than 31 bytes, and a processor that
 * powers these up for it is up to a seventh slower during the call. The fence keeps the compiler
 * from making the loop a memcpy(). */
static void copy_handles(union pw_mpi_saved *to, int count, const MPI_Request *from)
{
    for (int i = 0; i < count; i++) {
        to[i].handle = from[i];
        atomic_signal_fence(memory_order_seq_cst);
    }
}

void pw_mpi_save_requests(struct pw_mpi_call *c, int count, const MPI_Request *requests)
{
    c->nrequests = count;
    c->requests = requests;
    c->saved =
        count > 0 && requests ? scratch_take(&handles, sizeof(*c->saved) * (size_t)count) : NULL;
    if (!c->saved)
        c->nrequests = 0;
    else
        copy_handles(c->saved, count, requests);
    show_awaited(c);
}

MPI_Status *pw_mpi_statuses(struct pw_mpi_call *c, MPI_Status *given)
{
    if (given != MPI_STATUSES_IGNORE || c->nrequests <= 0 || !pw_mpi_request_receives())
        return given;
    MPI_Status *own = scratch_take(&statuses, sizeof(*own) * (size_t)c->nrequests);
    return own ? own : given;
}

/* ---- while recording is paused ---- */

bool pw_mpi_has_requests(void)
{
    int left = atomic_load_explicit(&pw_gate->left_open, memory_order_relaxed);
    if (__builtin_expect(left < 0, 0)) {
        left = pw_mpi_request_count_open();
        atomic_store_explicit(&pw_gate->left_open, left, memory_order_relaxed);
    }
    return left > 0 || pw_mpi_request_persistents();
}

void pw_mpi_request_has_ended(void)
{
    int left = atomic_load_explicit(&pw_gate->left_open, memory_order_relaxed);
    if (left > 0)
        atomic_store_explicit(&pw_gate->left_open, left - 1, memory_order_relaxed);
}

void pw_mpi_request_is_quiet(struct pw_mpi_request *request)
{
    int left = atomic_load_explicit(&pw_gate->left_open, memory_order_relaxed);
    request->state |= PW_REQUEST_QUIET;
    if (left >= 0)
        atomic_store_explicit(&pw_gate->left_open, left + 1, memory_order_relaxed);
}

void pw_mpi_count_after(const struct pw_mpi_call *c, enum pw_mpi_act act, int rc)
{
    struct pw_thread *thread = pw_probe_thread();
    if (!thread || !pw_probe_lock(thread))
        return;
    struct pw_mpi_comm *comm = act == PW_MPI_COUNTS_KNOWN || rc != MPI_SUCCESS
                                   ? pw_mpi_comm_known(c->comm)
                                   : pw_mpi_comm_find(thread, c->comm);
    if (comm && rc != MPI_SUCCESS)
        pw_mpi_comm_lose_order(comm, PW_CALLORDER_FAILED);
    if (comm)
        pw_mpi_comm_count(comm, rc == MPI_SUCCESS ? pw_mpi_signature_of(c, comm) : 0);
    pw_probe_unlock(thread);
}

struct pw_thread *pw_mpi_enter_paused(int op_level, enum pw_mpi_act act)
{
    struct pw_thread *thread = pw_mpi_gate() < 0 ? pw_probe_thread() : NULL;
    if (!thread || !pw_probe_lock(thread))
        return NULL;
    if (pw_recording_is_signalled())
        pw_recording_apply(thread);
    thread->stack = 0;
    if (op_level < pw_mpi_gate()) { /* recording has been resumed */
        thread->stack = pw_stack_take(thread, (int)pw_gate->stack_depth);
        return thread;
    }
    if (op_level <= pw_recording_level() && pw_mpi_gate() < 0 &&
        pw_mpi_due(act, pw_mpi_gate()) == PW_DUE_ALL)
        return thread;
    pw_probe_unlock(thread);
    return NULL;
}

/* ---- bytes that a rank sends and receives in a collective or one-sided operation: the columns
 * `sent` and `received` of its row in core/mpi_functions.def, applied to the call's arguments ----
 *
 * Called when the call has succeeded. Arguments that MPI ignores on a rank (MPI-3.1, 5.5 to 5.11)
 * are not read there. */

/* The values of a call from which the bytes are computed. */
struct amounts {
    const struct pw_mpi_call *c;
    bool large;           /* arrays of counts have elements of MPI_Count */
    int senders, targets; /* number of ranks from which data comes, and to which it goes */
    uint64_t absent;      /* bit per neighbour that does not exist */
    int my_rank, local_size;
};

/* Returns count i of a list; 0 when neighbour i does not exist. Only grids have missing neighbours,
 * and they have at most 64. */
static int64_t count_at(const struct amounts *a, const int *counts, int i)
{
    if (i < 64 && (a->absent >> i & 1))
        return 0;
    return a->large ? (int64_t)((const MPI_Count *)(const void *)counts)[i] : counts[i];
}

static int64_t sum(const struct amounts *a, const int *counts, int n)
{
    int64_t total = 0;
    for (int i = 0; i < n; i++)
        total += count_at(a, counts, i);
    return total;
}

static int64_t sum_typed(const struct amounts *a, const int *counts, const MPI_Datatype *types,
                         int n)
{
    int64_t total = 0;
    for (int i = 0; i < n; i++) {
        const int64_t count = count_at(a, counts, i);
        total += count ? count * pw_mpi_type_size(types[i]) : 0;
    }
    return total;
}

/* With count 0 the type may be invalid, so it is not read. */
static int64_t block(int64_t count, MPI_Datatype type)
{
    return count ? count * pw_mpi_type_size(type) : 0;
}

static int present(const struct amounts *a, int peers)
{
    return peers - __builtin_popcountll(a->absent);
}

static int64_t amount(const struct amounts *a, enum pw_op_amount what)
{
    const struct pw_mpi_call *c = a->c;
    switch (what) {
    case PW_AMOUNT_NOTHING:
    case PW_AMOUNT_UNTOLD:
        return 0;
    case PW_AMOUNT_SBLOCK:
        return block(c->scount, c->stype);
    case PW_AMOUNT_EACH_SBLOCK:
        return present(a, a->targets) * block(c->scount, c->stype);
    case PW_AMOUNT_SLIST:
        return block(sum(a, c->scounts, a->targets), c->stype);
    case PW_AMOUNT_SLIST_TYPES:
        return sum_typed(a, c->scounts, c->stypes, a->targets);
    case PW_AMOUNT_RBLOCK:
        return block(c->rcount, c->rtype);
    case PW_AMOUNT_EACH_RBLOCK:
        return present(a, a->senders) * block(c->rcount, c->rtype);
    case PW_AMOUNT_RLIST:
        return block(sum(a, c->rcounts, a->senders), c->rtype);
    case PW_AMOUNT_RLIST_TYPES:
        return sum_typed(a, c->rcounts, c->rtypes, a->senders);
    case PW_AMOUNT_PARTS:
        return block(sum(a, c->rcounts, a->local_size), c->stype);
    case PW_AMOUNT_PART:
        return block(count_at(a, c->rcounts, a->my_rank), c->stype);
    case PW_AMOUNT_EACH_PART:
        return a->local_size * block(c->scount, c->stype);
    case PW_AMOUNT_ELEMENT:
        return pw_mpi_type_size(c->stype);
    }
    return 0;
}

/* Returns the bytes sent when the send buffer is MPI_IN_PLACE. These are this rank's own block of
 * the receive buffer; in an Alltoall, which sends to each peer, as many bytes as are received. */
static int64_t sent_in_place(const struct amounts *a, const struct pw_op_info *op)
{
    const struct pw_mpi_call *c = a->c;
    if (op->sent != PW_AMOUNT_SBLOCK)
        return amount(a, op->received);
    if (op->received == PW_AMOUNT_RLIST)
        return block(count_at(a, c->rcounts, a->my_rank), c->rtype);
    return block(c->rcount, c->rtype);
}

/* Returns the bytes received when the receive buffer is MPI_IN_PLACE, at the root of a Scatter. */
static int64_t received_in_place(const struct amounts *a, const struct pw_op_info *op)
{
    const struct pw_mpi_call *c = a->c;
    if (op->sent == PW_AMOUNT_SLIST)
        return block(count_at(a, c->scounts, a->my_rank), c->stype);
    return block(c->scount, c->stype);
}

static bool is_by_receive_arguments(enum pw_op_amount what)
{
    return what == PW_AMOUNT_RBLOCK || what == PW_AMOUNT_EACH_RBLOCK || what == PW_AMOUNT_RLIST ||
           what == PW_AMOUNT_RLIST_TYPES;
}

/* Whether this rank sends, and whether it receives, the bytes of the row. */
struct part {
    bool sends, receives;
};

/* In an intercommunicator, the other ranks of the root's group neither send nor receive. */
static struct part part_of(const struct pw_mpi_call *c, const struct pw_op_info *op,
                           const struct pw_mpi_comm *comm)
{
    const bool is_root = c->root == (comm->inter ? MPI_ROOT : comm->my_rank);
    const bool sends_from_root = op->shape == PW_SHAPE_FROM_ROOT;
    if (comm->inter && c->root == MPI_PROC_NULL)
        return (struct part){false, false};
    if (comm->inter)
        return (struct part){is_root == sends_from_root, is_root != sends_from_root};
    if (sends_from_root) /* MPI_Bcast has one buffer: the root receives nothing */
        return (struct part){is_root, !is_root || op->received != PW_AMOUNT_SBLOCK};
    return (struct part){true, is_root};
}

void pw_mpi_collective_bytes(const struct pw_mpi_call *c, bool large, struct pw_mpi_comm *comm,
                             struct pw_record *record)
{
    const struct pw_op_info *op = pw_op_info(c->op);
    struct amounts a = {.c = c,
                        .large = large,
                        .senders = comm->remote_size,
                        .targets = comm->remote_size,
                        .my_rank = comm->my_rank,
                        .local_size = comm->size};
    if (op->shape == PW_SHAPE_PARTIAL && is_by_receive_arguments(op->received)) {
        if (comm->in_degree < 0)
            pw_mpi_comm_degrees(comm);
        a.senders = comm->in_degree;
        a.targets = comm->out_degree;
        a.absent = comm->absent;
    }
    const bool is_rooted = op->shape == PW_SHAPE_FROM_ROOT || op->shape == PW_SHAPE_TO_ROOT;
    const struct part part = is_rooted ? part_of(c, op, comm) : (struct part){true, true};
    const bool two_buffers = is_by_receive_arguments(op->received);
    if (part.sends)
        record->comm.sent_bytes =
            two_buffers && c->sbuf == MPI_IN_PLACE ? sent_in_place(&a, op) : amount(&a, op->sent);
    if (part.receives)
        record->comm.recv_bytes = two_buffers && c->rbuf == MPI_IN_PLACE ? received_in_place(&a, op)
                                                                         : amount(&a, op->received);
}

/* ---- the signature of a collective ---- */

/* The block that must have one size on all members: by the arguments for sending or for receiving,
 * of which one may be ignored on this rank (MPI_IN_PLACE, other ranks than the root). */
enum block { BLOCK_NONE, BLOCK_SENT, BLOCK_RECEIVED };

static enum block equal_block(const struct pw_op_info *op, bool is_root)
{
    const bool sends = op->sent == PW_AMOUNT_SBLOCK || op->sent == PW_AMOUNT_EACH_SBLOCK;
    if (op->received == PW_AMOUNT_SBLOCK) /* one buffer size, such as of reductions */
        return BLOCK_SENT;
    if (op->shape == PW_SHAPE_TO_ROOT && op->received == PW_AMOUNT_EACH_RBLOCK)
        return is_root ? BLOCK_RECEIVED : BLOCK_SENT;
    if (op->shape == PW_SHAPE_FROM_ROOT && op->sent == PW_AMOUNT_EACH_SBLOCK)
        return is_root ? BLOCK_SENT : BLOCK_RECEIVED;
    if (op->shape == PW_SHAPE_ALL && sends && op->received == PW_AMOUNT_EACH_RBLOCK)
        return BLOCK_RECEIVED;
    return BLOCK_NONE;
}

static bool has_root(const struct pw_op_info *op)
{
    return op->shape == PW_SHAPE_FROM_ROOT || op->shape == PW_SHAPE_TO_ROOT;
}

uint32_t pw_mpi_signature_of(const struct pw_mpi_call *c, const struct pw_mpi_comm *comm)
{
    const struct pw_op_info *op = pw_op_info(c->op);
    const enum block which = equal_block(op, has_root(op) && c->root == comm->my_rank);
    const int64_t bytes = which == BLOCK_SENT       ? block(c->scount, c->stype)
                          : which == BLOCK_RECEIVED ? block(c->rcount, c->rtype)
                                                    : 0;
    return pw_mpi_signature(c, bytes, has_root(op) ? c->root : 0);
}

void pw_mpi_show_signature(const struct pw_mpi_call *c)
{
    const struct pw_mpi_last *last = &pw_mpi_last;
    const struct pw_mpi_comm *comm = pw_mpi_comm_known(c->comm);
    uint32_t signature = PW_REDUCTION_UNKNOWN;
    if (comm) {
        const struct pw_op_info *op = pw_op_info(c->op);
        const enum block which = equal_block(op, has_root(op) && c->root == comm->my_rank);
        const MPI_Datatype type = which == BLOCK_SENT ? c->stype : c->rtype;
        /* A type that the program has given may be none, which MPI must not be asked about. */
        if (which == BLOCK_NONE || (last->type == type && last->epoch == pw_mpi_epoch_now()))
            signature = pw_mpi_signature_of(c, comm);
    }
    atomic_store_explicit(&c->thread->call->signature, signature, memory_order_relaxed);
}

void pw_mpi_one_sided_bytes(const struct pw_mpi_call *c, struct pw_record *record)
{
    const struct pw_op_info *op = pw_op_info(c->op);
    const struct amounts a = {.c = c};
    record->comm.sent_bytes = amount(&a, op->sent);
    record->comm.recv_bytes = amount(&a, op->received);
}
