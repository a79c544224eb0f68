/* MPI_X and PMPI_X of every wrapped function in core/mpi_functions.def. `cmake --build build
 * --target show-mpi` prints the expansion. The compiler checks each row against mpi.h, whose
 * prototypes are in scope.
 *
 * MPI_X is the fast function. It reads the gate (pw_mpi_gate()) once. It handles the usual calls
 * itself: it passes the call on, or records it. All other calls go to the slow function. PMPI_X,
 * which Open MPI's Fortran functions call, passes on calls that are not the program's and calls the
 * same slow function for the others. In-app: see the rules in mpi_call.h. */
#include "collectors/mpi/mpi_classes.h"
#include "collectors/mpi/mpi_library.h"

#define EXPORT __attribute__((visibility("default")))
#define NOINLINE __attribute__((noinline))

/* ---- recording by a fast function ----
 *
 * For the most frequent calls of training and of most solvers, on the communicator and datatype
 * that the thread used last. A fast function takes 13 ns for an Allreduce of one rank, the slow
 * function more than twice as long. It fills the record in its place in the ring before the call.
 * No signal handler writes to that place meanwhile, because the thread's open call (struct
 * pw_open_call) is set. So only one or two pointers have to be saved across the call. An unusual
 * case ends in a tail call, which needs no saved register either. */

enum fast {
    FAST_NONE,
    FAST_COLL,
    FAST_ROOTED,
    FAST_SEND,
    FAST_RECV,
    FAST_SENDRECV,
    FAST_ISEND,
    FAST_IRECV,
#define PW_MPI_CLASS(CLASS, fast, paused) FAST_OF_##CLASS = FAST_##fast,
#include "collectors/mpi/mpi_class_table.def"
#undef PW_MPI_CLASS
};

/* What is saved across the call. */
struct kept {
    struct pw_record *record; /* its place in the ring, or that of the first of two; not used by
                               * MPI_Irecv, which is recorded at completion */
    struct pw_mpi_comm *comm;
};

/* Sets the thread's open call and returns true if the thread may record, is in no call, and has the
 * communicator in its cache. The cache is valid only while pw_gate->mpi_usual is
 * `usual`. While it is, the clock is the TSC, and no call stacks are recorded. */
PW_ALWAYS_INLINE bool fast_enter(struct pw_mpi_call *c, uint64_t usual)
{
    struct pw_open_call *open = pw_this_thread.call;
    if (__builtin_expect(usual != atomic_load_explicit(&pw_gate->mpi_usual, memory_order_relaxed) ||
                             pw_mpi_last.handle != c->comm,
                         0))
        return false;
    uint32_t inside = atomic_load_explicit(&open->op, memory_order_relaxed);
    uint32_t signalled = atomic_load_explicit(&open->signalled, memory_order_relaxed);
    if (__builtin_expect((inside | signalled) != 0, 0))
        return false;
    c->stack = 0;
    c->start = pw_tick_read(PW_TICK_TSC);
    atomic_store_explicit(&open->start, c->start, memory_order_relaxed);
    atomic_store_explicit(&open->op, c->op, memory_order_relaxed);
    atomic_store_explicit(&open->handle, PW_MPI_NUMBER(c->comm), memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* from here on, no signal handler writes a record */
    return true;
}

/* Clears the thread's open call. */
PW_ALWAYS_INLINE void fast_leave(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&pw_this_thread.call->op, 0, memory_order_relaxed);
}

/* Finds the place of `count` records, one after the other, in the ring, whose limit is never beyond
 * the place where it wraps around. Returns false, and clears the open call, when the slow path of
 * the ring is needed. */
PW_ALWAYS_INLINE bool fast_place(struct kept *kept, uint64_t count)
{
    struct pw_ring *ring = &pw_this_thread.ring;
    kept->record = &ring->records[ring->head & ring->mask];
    kept->comm = pw_mpi_last.comm;
    if (__builtin_expect(ring->head + count <= ring->limit, 1))
        return true;
    fast_leave();
    return false;
}

static NOINLINE int wake_and_return(int rc)
{
    pw_probe_wake();
    return rc;
}

/* Publishes the records to the collector. */
PW_ALWAYS_INLINE int fast_commit(int rc, uint64_t count)
{
    int look = pw_ring_commit_many(&pw_this_thread.ring, count);
    fast_leave();
    return __builtin_expect(look, 0) ? wake_and_return(rc) : rc;
}

/* Shows the signature, and returns it. */
PW_ALWAYS_INLINE uint32_t fast_sign(const struct pw_mpi_call *c, int64_t bytes, int root)
{
    const uint32_t signature = pw_mpi_signature(c, bytes, root);
    atomic_store_explicit(&pw_this_thread.call->signature, signature, memory_order_relaxed);
    return signature;
}

/* For collectives without a root in which every rank sends and receives a block of one size, or
 * nothing (a barrier). */
PW_ALWAYS_INLINE bool fast_coll_begin(struct pw_mpi_call *c, enum pw_op_amount sent,
                                      struct kept *kept)
{
    if (sent != PW_AMOUNT_NOTHING && __builtin_expect(pw_mpi_last.type != c->stype, 0))
        return false;
    if (!fast_enter(c, pw_mpi_last.blocking) || !fast_place(kept, 1))
        return false;
    const int64_t bytes = sent == PW_AMOUNT_NOTHING ? 0 : c->scount * pw_mpi_last.type_size;
    const uint32_t signature = fast_sign(c, bytes, 0); /* before the stores into the record */
    pw_mpi_fill(c, 0, kept->comm->index, kept->record);
    kept->record->comm.signature = signature;
    kept->record->comm.sent_bytes = kept->record->comm.recv_bytes = bytes;
    return true;
}

static NOINLINE int fast_coll_failed(struct pw_record *record, int rc, struct pw_mpi_comm *comm)
{
    record->flags |= PW_FLAG_ERROR;
    record->comm.sent_bytes = record->comm.recv_bytes = 0;
    pw_mpi_comm_lose_order(comm, PW_CALLORDER_FAILED);
    record->comm.seq = pw_mpi_comm_count(comm, 0);
    return fast_commit(rc, 1);
}

PW_ALWAYS_INLINE int fast_coll_end(const struct kept *kept, int rc)
{
    struct pw_record *record = kept->record;
    record->end = pw_tick_read(PW_TICK_TSC);
    if (__builtin_expect(rc != MPI_SUCCESS, 0))
        return fast_coll_failed(record, rc, kept->comm);
    record->comm.seq = pw_mpi_comm_count(kept->comm, record->comm.signature);
    pw_ring_prefetch_at(record, PW_RING_AHEAD);
    return fast_commit(rc, 1);
}

PW_ALWAYS_INLINE void fast_show_peer(int peer)
{
    atomic_store_explicit(&pw_this_thread.call->peer, peer, memory_order_relaxed);
}

/* For collectives with a root and one block: the root sends it to the others, or receives from all
 * (shape: PW_SHAPE_FROM_ROOT or PW_SHAPE_TO_ROOT). Not on intercommunicators, where the root has
 * another meaning. */
PW_ALWAYS_INLINE bool fast_rooted_begin(struct pw_mpi_call *c, enum pw_op_shape shape,
                                        struct kept *kept)
{
    if (__builtin_expect(pw_mpi_last.type != c->stype, 0))
        return false;
    if (!fast_enter(c, pw_mpi_last.blocking) || !fast_place(kept, 1))
        return false;
    if (__builtin_expect(kept->comm->inter, 0)) {
        fast_leave();
        return false;
    }
    struct pw_record *record = kept->record;
    const bool is_root = c->root == kept->comm->my_rank, from_root = shape == PW_SHAPE_FROM_ROOT;
    const int32_t root = pw_mpi_world_rank(kept->comm, c->root); /* read before the stores */
    const int64_t bytes = c->scount * pw_mpi_last.type_size;
    const uint32_t signature = fast_sign(c, bytes, c->root);
    fast_show_peer(c->root);
    pw_mpi_fill(c, is_root ? PW_FLAG_ROOT : 0, kept->comm->index, record);
    record->comm.peer = root;
    record->comm.sent_bytes = is_root || !from_root ? bytes : 0;
    record->comm.recv_bytes = is_root != from_root ? bytes : 0;
    record->comm.signature = signature;
    return true;
}

PW_ALWAYS_INLINE void fast_show(int peer, int tag)
{
    fast_show_peer(peer);
    atomic_store_explicit(&pw_this_thread.call->tag, tag, memory_order_relaxed);
}

/* ---- blocking messages ---- */

/* A send to a rank, or the send of an MPI_Sendrecv, which has `count` records. */
PW_ALWAYS_INLINE bool fast_send_begin(struct pw_mpi_call *c, struct kept *kept, uint64_t count)
{
    if (__builtin_expect(pw_mpi_last.type != c->stype || c->dest < 0, 0))
        return false;
    if (!fast_enter(c, pw_mpi_last.blocking) || !fast_place(kept, count))
        return false;
    struct pw_record *record = kept->record;
    const int32_t peer = pw_mpi_world_rank(kept->comm, c->dest); /* read before the stores */
    const int64_t bytes = c->scount * pw_mpi_last.type_size;
    if (count == 1) {
        fast_show(c->dest, c->stag);
    } else {
        fast_show(c->src, c->rtag);
        pw_mpi_show_dest(&pw_this_thread, c->dest);
    }
    pw_mpi_fill(c, 0, kept->comm->index, record);
    record->comm.peer = peer;
    record->comm.tag = c->stag;
    record->comm.sent_bytes = bytes;
    return true;
}

PW_ALWAYS_INLINE void fast_send_finish(struct pw_record *record, uint64_t end, int rc)
{
    record->end = end;
    if (__builtin_expect(rc != MPI_SUCCESS, 0)) {
        record->flags |= PW_FLAG_ERROR;
        record->comm.sent_bytes = 0;
    }
    pw_ring_prefetch(record);
}

PW_ALWAYS_INLINE int fast_send_end(const struct kept *kept, int rc)
{
    fast_send_finish(kept->record, pw_tick_read(PW_TICK_TSC), rc);
    return fast_commit(rc, 1);
}

PW_ALWAYS_INLINE void fast_receive_fill(const struct pw_mpi_call *c, uint8_t flags,
                                        const struct pw_mpi_comm *comm, struct pw_record *record)
{
    pw_mpi_fill(c, flags, comm->index, record);
    record->comm.tag = c->rtag;
}

PW_ALWAYS_INLINE void fast_receive_finish(const struct pw_mpi_call *c,
                                          const struct pw_mpi_comm *comm, struct pw_record *record,
                                          uint64_t end, int rc)
{
    record->end = end;
    if (__builtin_expect(rc == MPI_SUCCESS, 1))
        pw_mpi_read_status(record, comm, c->status);
    else
        record->flags |= PW_FLAG_ERROR;
    pw_ring_prefetch(record);
}

PW_ALWAYS_INLINE bool fast_recv_begin(struct pw_mpi_call *c, struct kept *kept)
{
    if (!fast_enter(c, pw_mpi_last.blocking) || !fast_place(kept, 1))
        return false;
    fast_show(c->src, c->rtag);
    fast_receive_fill(c, 0, kept->comm, kept->record);
    return true;
}

PW_ALWAYS_INLINE int fast_recv_end(const struct pw_mpi_call *c, const struct kept *kept, int rc)
{
    fast_receive_finish(c, kept->comm, kept->record, pw_tick_read(PW_TICK_TSC), rc);
    return fast_commit(rc, 1);
}

/* The record of the send, then that of the receive, which is filled in after the call. */
PW_ALWAYS_INLINE int fast_sendrecv_end(const struct pw_mpi_call *c, const struct kept *kept, int rc)
{
    struct pw_record *received = kept->record + 1;
    const uint64_t end = pw_tick_read(PW_TICK_TSC);
    fast_send_finish(kept->record, end, rc);
    fast_receive_fill(c, PW_FLAG_RECV_PART, kept->comm, received);
    fast_receive_finish(c, kept->comm, received, end, rc);
    return fast_commit(rc, 2);
}

/* ---- nonblocking messages ---- */

/* Does the work of the slow function after a call, for a message that a fast function began and
 * cannot finish. Either the call failed, or the fast function expected wrongly that the message is
 * complete (or that it is not), or the request has no place in the front of the request table
 * (mpi_request.h). The message's parameters are in the open call. */
static NOINLINE int begun_message(int rc, uint64_t end, MPI_Request request, uint8_t flags,
                                  int64_t bytes)
{
    const struct pw_open_call *open = pw_this_thread.call;
    const struct pw_mpi_comm *comm = pw_mpi_last.comm;
    struct pw_mpi_call c = {
        .thread = &pw_this_thread,
        .start = atomic_load_explicit(&open->start, memory_order_relaxed),
        .end = end,
        .op = (uint16_t)atomic_load_explicit(&open->op, memory_order_relaxed),
        .flags = flags,
        .comm = comm->handle,
        .request = request,
    };
    const int peer = atomic_load_explicit(&open->peer, memory_order_relaxed);
    const int32_t tag = atomic_load_explicit(&open->tag, memory_order_relaxed);
    bool is_from_nobody = c.op == PW_OP_Irecv && rc == MPI_SUCCESS && pw_mpi_is_complete(&c);
    const struct pw_mpi_message message = {.comm = comm,
                                           .peer = pw_mpi_world_rank(comm, peer),
                                           .tag = is_from_nobody ? MPI_ANY_TAG : tag,
                                           .bytes = bytes};
    pw_mpi_begun_message(&c, rc, &message);
    pw_mpi_end(&c);
    return rc;
}

/* Returns the time in a call in units of 16 ticks, for a field of 32 bits. */
PW_ALWAYS_INLINE uint64_t time_inside(uint64_t start, uint64_t end)
{
    return (end - start) >> 4;
}

/* Prefetches a cache line for a later completion call. That call writes the records of all open
 * messages one after the other, faster than their cache lines come from memory. `next` is the place
 * of the next record. */
PW_ALWAYS_INLINE void fast_prefetch(const struct pw_record *next)
{
    const uint32_t open =
        (uint32_t)atomic_load_explicit(&pw_mpi_request_counts.receives, memory_order_relaxed);
    pw_ring_prefetch_at(next, PW_RING_AHEAD + open % 64);
}

/* A send to a rank; recorded by the fast function if it is complete when the call returns. */
PW_ALWAYS_INLINE bool fast_isend_begin(struct pw_mpi_call *c, struct kept *kept)
{
    if (__builtin_expect(pw_mpi_last.type != c->stype || c->dest < 0, 0))
        return false;
    if (!fast_enter(c, pw_mpi_last.nonblocking) || !fast_place(kept, 1))
        return false;
    struct pw_record *record = kept->record;
    const int32_t peer = pw_mpi_world_rank(kept->comm, c->dest); /* read before the stores:
                                                                  * the compiler cannot know
                                                                  * that they leave it as it
                                                                  * is */
    const int64_t bytes = c->scount * pw_mpi_last.type_size;
    fast_show(c->dest, c->stag);
    pw_mpi_fill(c, PW_FLAG_NONBLOCKING, kept->comm->index, record);
    record->comm.peer = peer;
    record->comm.tag = c->stag;
    record->comm.sent_bytes = bytes;
    return true;
}

PW_ALWAYS_INLINE int fast_isend_end(const struct pw_mpi_call *c, const struct kept *kept, int rc)
{
    struct pw_record *record = kept->record;
    uint64_t end = pw_tick_read(PW_TICK_TSC), inside = time_inside(record->start, end);
    if (__builtin_expect(rc != MPI_SUCCESS || !pw_mpi_is_complete(c) || inside > UINT32_MAX, 0))
        return begun_message(rc, end, c->request, c->flags, record->comm.sent_bytes);
    record->end = end;
    record->comm.begun = (uint32_t)inside;
    record->comm.request = pw_mpi_request_next_id();
    fast_prefetch(record);
    return fast_commit(rc, 1);
}

/* A receive; handled by the fast function if it is not complete when the call returns. */
PW_ALWAYS_INLINE bool fast_irecv_begin(struct pw_mpi_call *c)
{
    if (!fast_enter(c, pw_mpi_last.nonblocking))
        return false;
    fast_show(c->src, c->rtag);
    return true;
}

PW_ALWAYS_INLINE int fast_irecv_end(struct pw_mpi_call *c, int rc)
{
    const uint64_t end = pw_tick_read(PW_TICK_TSC);
    const struct pw_open_call *open = pw_this_thread.call;
    struct pw_mpi_request *row = pw_mpi_request_row(c->request);
    c->start = atomic_load_explicit(&open->start, memory_order_relaxed);
    const uint64_t inside = time_inside(c->start, end);
    if (__builtin_expect(rc != MPI_SUCCESS || pw_mpi_is_complete(c) || inside > UINT32_MAX ||
                             (row->state & PW_REQUEST_HELD),
                         0))
        return begun_message(rc, end, c->request, c->flags, 0);
    const struct pw_mpi_comm *comm = pw_mpi_last.comm;
    struct pw_record *record = &row->record;
    const int peer = atomic_load_explicit(&open->peer, memory_order_relaxed);
    const int32_t world_peer = pw_mpi_world_rank(comm, peer);
    const int32_t tag = atomic_load_explicit(&open->tag, memory_order_relaxed);
    pw_mpi_request_use_row(row, c->request, pw_mpi_request_state(PW_CLASS_RECV, 0));
    pw_mpi_fill(c, PW_FLAG_NONBLOCKING, comm->index, record);
    record->comm.peer = world_peer;
    record->comm.tag = tag;
    record->end = end;
    record->comm.request = row->id;
    record->comm.begun = (uint32_t)inside;
    row->comm = comm->handle;
    const struct pw_ring *ring = &pw_this_thread.ring;
    fast_prefetch(&ring->records[ring->head & ring->mask]);
    fast_leave();
    return rc;
}

/* ---- by class: all parameters except the call are compile-time constants ---- */

/* Enters the call and fills the record's fields that are known before it. Returns false, and does
 * nothing, when the slow function is needed. */
PW_ALWAYS_INLINE bool fast_begin(enum fast fast, struct pw_mpi_call *c, enum pw_op_shape shape,
                                 enum pw_op_amount sent, struct kept *kept)
{
    return fast == FAST_COLL       ? fast_coll_begin(c, sent, kept)
           : fast == FAST_ROOTED   ? fast_rooted_begin(c, shape, kept)
           : fast == FAST_SEND     ? fast_send_begin(c, kept, 1)
           : fast == FAST_SENDRECV ? fast_send_begin(c, kept, 2)
           : fast == FAST_RECV     ? fast_recv_begin(c, kept)
           : fast == FAST_ISEND    ? fast_isend_begin(c, kept)
                                   : fast == FAST_IRECV && fast_irecv_begin(c);
}

/* Fills the remaining fields and leaves the call. Returns `rc`. */
PW_ALWAYS_INLINE int fast_end(enum fast fast, struct pw_mpi_call *c, const struct kept *kept,
                              int rc)
{
    return fast == FAST_COLL || fast == FAST_ROOTED ? fast_coll_end(kept, rc)
           : fast == FAST_SEND                      ? fast_send_end(kept, rc)
           : fast == FAST_SENDRECV                  ? fast_sendrecv_end(c, kept, rc)
           : fast == FAST_RECV                      ? fast_recv_end(c, kept, rc)
           : fast == FAST_ISEND                     ? fast_isend_end(c, kept, rc)
                                                    : fast_irecv_end(c, rc);
}

/* The fast functions of collectives support only these shapes and amounts. */
#define IS_ROOTED(Op) \
    ((int)PW_OP_SHAPE_##Op == PW_SHAPE_FROM_ROOT || (int)PW_OP_SHAPE_##Op == PW_SHAPE_TO_ROOT)
#define SAME_AMOUNTS(Op) ((int)PW_OP_SENT_##Op == (int)PW_OP_RECEIVED_##Op)
#define MPI_ROW(Name, Op, CLASS, ...)                                                          \
    static_assert((int)FAST_OF_##CLASS != FAST_COLL ||                                         \
                      (((int)PW_OP_SHAPE_##Op == PW_SHAPE_ALL ||                               \
                        (int)PW_OP_SHAPE_##Op == PW_SHAPE_PARTIAL) &&                          \
                       SAME_AMOUNTS(Op) &&                                                     \
                       ((int)PW_OP_SENT_##Op == PW_AMOUNT_NOTHING ||                           \
                        (int)PW_OP_SENT_##Op == PW_AMOUNT_SBLOCK)),                            \
                  #Name ": in a class of FAST_COLL, each rank sends and receives a block, or " \
                        "nothing");                                                            \
    static_assert(                                                                             \
        (int)FAST_OF_##CLASS != FAST_ROOTED ||                                                 \
            (IS_ROOTED(Op) && SAME_AMOUNTS(Op) && (int)PW_OP_SENT_##Op == PW_AMOUNT_SBLOCK),   \
        #Name ": in a class of FAST_ROOTED, there are a root and one block");
#include "collectors/mpi/mpi_installed.def"
#undef MPI_ROW

/* ---- the functions ---- */

#define NOTE(...) EACH(C_PRE, NONE, __VA_ARGS__)
/* Whether MPI_X reads parameters: to record, or to count collectives while recording is paused. */
enum {
#define PW_MPI_CLASS(CLASS, fast, paused)                                           \
    NOTED_##CLASS = FAST_##fast != FAST_NONE || PW_MPI_##paused == PW_MPI_COUNTS || \
                    PW_MPI_##paused == PW_MPI_COUNTS_KNOWN,
#include "collectors/mpi/mpi_class_table.def"
#undef PW_MPI_CLASS
};

/* Whether calls that are not recorded are counted (pw_mpi_count_probe()). */
#define IS_COUNTED(Op) ((int)PW_OP_##Op == (int)PW_OP_Iprobe)

/* The slow function. It is compiled twice: for MPI_X and for PMPI_X. */
#define SLOW(Name, Op, CLASS, ...)                                                             \
    PW_ALWAYS_INLINE int slow_##Name(EACH(C_DECL, COMMA, __VA_ARGS__), struct pw_mpi_way way)  \
    {                                                                                          \
        int (*const next)(EACH(C_DECL, COMMA, __VA_ARGS__)) =                                  \
            (int (*)(EACH(C_DECL, COMMA, __VA_ARGS__)))way.next;                               \
        struct pw_mpi_call c;                                                                  \
        if (!way.is_recorded)                                                                  \
            return next ? next(EACH(PASS, COMMA, __VA_ARGS__)) : MPI_ERR_OTHER;                \
        c.flags = way.flags;                                                                   \
        c.reduces = false;                                                                     \
        if (!pw_mpi_begin(&c, PW_OP_##Op, PW_OP_LEVEL_##Op, PW_ACT_##CLASS)) {                 \
            const enum pw_mpi_due due = pw_mpi_due(PW_ACT_##CLASS, pw_mpi_gate());             \
            const bool is_poll = IS_COUNTED(Op) && pw_mpi_gate() > 0;                          \
            if (due == PW_DUE_NUMBER || due == PW_DUE_HANDLE || is_poll) {                     \
                c.op = PW_OP_##Op;                                                             \
                NOTE(__VA_ARGS__)                                                              \
            }                                                                                  \
            if (is_poll)                                                                       \
                pw_mpi_count_probe(&c);                                                        \
            const int passed = next(EACH(PASS, COMMA, __VA_ARGS__));                           \
            if (due == PW_DUE_NUMBER)                                                          \
                pw_mpi_count_after(&c, PW_ACT_##CLASS, passed);                                \
            return passed;                                                                     \
        }                                                                                      \
        NOTE(__VA_ARGS__)                                                                      \
        if ((int)PW_ACT_##CLASS == PW_MPI_COUNTS)                                              \
            pw_mpi_show_signature(&c);                                                         \
        if ((int)FAST_OF_##CLASS == FAST_SENDRECV)                                             \
            pw_mpi_show_dest(c.thread, c.dest);                                                \
        const int rc = next(EACH(C_USE, COMMA, __VA_ARGS__));                                  \
        c.end = pw_probe_now();                                                                \
        EACH(C_POST, NONE, __VA_ARGS__)                                                        \
        pw_mpi_after_##CLASS(&c, rc);                                                          \
        pw_mpi_end(&c);                                                                        \
        return rc;                                                                             \
    }                                                                                          \
    static NOINLINE int slow_MPI_##Name(EACH(C_DECL, COMMA, __VA_ARGS__))                      \
    {                                                                                          \
        struct pw_mpi_way way = {(pw_mpi_function *)pw_next.Name, 0, true};                    \
        if (__builtin_expect(!way.next || pw_mpi_by_caller, 0))                                \
            way = pw_mpi_way_by_caller("MPI_" #Name, __builtin_return_address(0), way.next);   \
        way.flags = PW_MPI_CALLER_FLAGS();                                                     \
        if ((int)FAST_OF_##CLASS != FAST_NONE)                                                 \
            pw_mpi_last_restamp();                                                             \
        return slow_##Name(EACH(PASS, COMMA, __VA_ARGS__), way);                               \
    }                                                                                          \
    static NOINLINE int slow_PMPI_##Name(EACH(C_DECL, COMMA, __VA_ARGS__))                     \
    {                                                                                          \
        return slow_##Name(EACH(PASS, COMMA, __VA_ARGS__),                                     \
                           pw_mpi_way_profiled("PMPI_" #Name, __builtin_return_address(0),     \
                                               (pw_mpi_function *)pw_pnext.Name, PW_OP_##Op)); \
    }

/* Whether a call of MPI_X may come from Fortran: a Fortran library that makes such calls is
 * there. */
PW_ALWAYS_INLINE bool may_be_from_fortran(void)
{
    return PW_MPI_FORTRAN_CALLS_MPI && __builtin_expect(pw_mpi_fortran.pages != 0, 0);
}

/* How the signature of a collective is found that a fast function counts. */
#define BLOCK_OF(Op, CLASS)                                             \
    ((int)FAST_OF_##CLASS == FAST_ROOTED         ? PW_BLOCK_SENT_ROOTED \
     : (int)FAST_OF_##CLASS != FAST_COLL         ? PW_BLOCK_LATER       \
     : (int)PW_OP_SENT_##Op == PW_AMOUNT_NOTHING ? PW_BLOCK_NONE        \
                                                 : PW_BLOCK_SENT)

/* The body of MPI_X. It is compiled twice where calls may come from Fortran: in a program without a
 * Fortran library, `flags_of_call` is a constant. The TSC is read after the flags are known. */
#define FAST_BODY(flags_of_call, Name, Op, CLASS, ...)                                      \
    const int gate = pw_mpi_gate();                                                         \
    struct pw_mpi_call c;                                                                   \
    struct kept kept;                                                                       \
    if (NOTED_##CLASS || IS_COUNTED(Op)) {                                                  \
        c.thread = NULL; /* no open call is set */                                          \
        c.op = PW_OP_##Op;                                                                  \
        c.flags = flags_of_call;                                                            \
        c.reduces = false;                                                                  \
        NOTE(__VA_ARGS__)                                                                   \
    }                                                                                       \
    if (__builtin_expect(PW_OP_LEVEL_##Op >= gate, FAST_OF_##CLASS == FAST_NONE)) {         \
        if (pw_next.Name && pw_mpi_passes(&c, PW_ACT_##CLASS, gate, BLOCK_OF(Op, CLASS))) { \
            if (IS_COUNTED(Op) && gate > 0)                                                 \
                pw_mpi_count_probe(&c);                                                     \
            return pw_next.Name(EACH(PASS, COMMA, __VA_ARGS__));                            \
        }                                                                                   \
    } else if ((int)FAST_OF_##CLASS != FAST_NONE &&                                         \
               fast_begin(FAST_OF_##CLASS, &c, (enum pw_op_shape)PW_OP_SHAPE_##Op,          \
                          PW_OP_SENT_##Op, &kept)) {                                        \
        const int rc = pw_next.Name(EACH(C_USE, COMMA, __VA_ARGS__));                       \
        EACH(C_POST, NONE, __VA_ARGS__)                                                     \
        return fast_end(FAST_OF_##CLASS, &c, &kept, rc);                                    \
    }                                                                                       \
    return slow_MPI_##Name(EACH(PASS, COMMA, __VA_ARGS__))

/* MPI_X in a program with such a library. */
#define FORTRAN(Name, Op, CLASS, ...)                                    \
    static NOINLINE int fortran_##Name(EACH(C_DECL, COMMA, __VA_ARGS__)) \
    {                                                                    \
        FAST_BODY(PW_MPI_CALLER_FLAGS(), Name, Op, CLASS, __VA_ARGS__);  \
    }

/* The functions that the application calls. */
#define WRAPPER(Name, Op, CLASS, ...)                                                   \
    SLOW(Name, Op, CLASS, __VA_ARGS__)                                                  \
    FORTRAN(Name, Op, CLASS, __VA_ARGS__)                                               \
    EXPORT int MPI_##Name(EACH(C_DECL, COMMA, __VA_ARGS__))                             \
    {                                                                                   \
        if ((int)FAST_OF_##CLASS != FAST_NONE && may_be_from_fortran())                 \
            return fortran_##Name(EACH(PASS, COMMA, __VA_ARGS__));                      \
        FAST_BODY(0, Name, Op, CLASS, __VA_ARGS__);                                     \
    }                                                                                   \
    EXPORT int PMPI_##Name(EACH(C_DECL, COMMA, __VA_ARGS__))                            \
    {                                                                                   \
        if (pw_pnext.Name && pw_mpi_is_hidden(__builtin_return_address(0), PW_OP_##Op)) \
            return pw_pnext.Name(EACH(PASS, COMMA, __VA_ARGS__));                       \
        return slow_PMPI_##Name(EACH(PASS, COMMA, __VA_ARGS__));                        \
    }

#define MPI_ROW(Name, Op, CLASS, ...) WRAPPER(Name, Op, CLASS, __VA_ARGS__)
#include "collectors/mpi/mpi_installed.def"
#undef MPI_ROW
