/* MPI_X and PMPI_X of every function in mpi_api.def. `cmake --build build --target show-mpi` prints
 * the expansion. The compiler checks each row against mpi.h, whose prototypes are in scope. */
#include "collectors/mpi/mpi_classes.h"
#include "collectors/mpi/mpi_next.h"

#define EXPORT __attribute__((visibility("default")))

/* A call that is recorded goes on to `next`; see mpi_next.h. One that is not: `otherwise`. */
#define RECORD(begin, otherwise, next, CLASS, ...)  \
    struct pw_mpi_call c;                           \
    MPI_Status own;                                 \
    (void)own;                                      \
    if (!(begin)) {                                 \
        otherwise                                   \
    }                                               \
    EACH(C_PRE, NONE, __VA_ARGS__)                  \
    int rc = next(EACH(C_USE, COMMA, __VA_ARGS__)); \
    c.end = pw_probe_now();                         \
    EACH(C_POST, NONE, __VA_ARGS__)                 \
    pw_mpi_after_##CLASS(&c, rc);                   \
    pw_mpi_end(&c);                                 \
    return rc;

/* Handles are forgotten, and collectives counted, also where the call is not recorded. */
#define FORGET(Op, ...)                  \
    if (pw_mpi_gives_back(PW_OP_##Op)) { \
        c.thread = NULL;                 \
        EACH(C_PRE, NONE, __VA_ARGS__)   \
    }

#define COUNT_CALL(next, Op, ...)                                             \
    c.thread = NULL;                                                          \
    EACH(C_PRE, NONE, __VA_ARGS__)                                            \
    int counted = next(EACH(PASS, COMMA, __VA_ARGS__));                       \
    pw_mpi_count_paused_slow(c.comm, PW_OP_##Op == PW_OP_Win_fence, counted); \
    return counted;

/* A call that is known to be one of MPI, and of the program. */
#define PASS_ON(next, Op, CLASS, ...)                           \
    FORGET(Op, __VA_ARGS__)                                     \
    if (PW_ACT_##CLASS == PW_MPI_COUNTS && pw_mpi_gate() < 0) { \
        COUNT_CALL(next, Op, __VA_ARGS__)                       \
    }                                                           \
    return next(EACH(PASS, COMMA, __VA_ARGS__));

/* Some functions each. What is called has no frame, so that a call above the recorded level costs a
 * look at the gate and a jump; some calls have a usual way, below; all have this one. Collectives
 * are counted while recording is paused.
 *
 * located_X is for calls whose function is not in the global scope, of MPI_X and PMPI_X, and
 * profiled_X is PMPI_X. */
#define RECORDED(Name, Op, CLASS, ...)                                                            \
    static __attribute__((noinline)) int located_##Name(EACH(C_DECL, COMMA, __VA_ARGS__),         \
                                                        const struct pw_mpi_way *way)             \
    {                                                                                             \
        bool is_mpi;                                                                              \
        int (*next)(EACH(C_DECL, COMMA, __VA_ARGS__));                                            \
        void *found = pw_mpi_locate(way->symbol, way->caller, &is_mpi);                           \
        __builtin_memcpy(&next, &found, sizeof(next));                                            \
        if (!next)                                                                                \
            return MPI_ERR_OTHER; /* without the probe the loader would not have begun */         \
        if (!is_mpi || !way->is_recorded)                                                         \
            return next(EACH(PASS, COMMA, __VA_ARGS__));                                          \
        RECORD(pw_mpi_begin(&c, PW_OP_##Op, way->flags, PW_OP_LEVEL_##Op, PW_ACT_##CLASS, true),  \
               PASS_ON(next, Op, CLASS, __VA_ARGS__), next, CLASS, __VA_ARGS__)                   \
    }                                                                                             \
    static __attribute__((noinline, unused)) int counted_##Name(EACH(C_DECL, COMMA, __VA_ARGS__)) \
    {                                                                                             \
        struct pw_mpi_call c;                                                                     \
        MPI_Status own;                                                                           \
        (void)own;                                                                                \
        COUNT_CALL(pw_next.Name, Op, __VA_ARGS__)                                                 \
    }                                                                                             \
    static __attribute__((noinline)) int recorded_##Name(EACH(C_DECL, COMMA, __VA_ARGS__))        \
    {                                                                                             \
        if (__builtin_expect(!pw_next.Name, 0)) {                                                 \
            const struct pw_mpi_way way = {"MPI_" #Name, __builtin_return_address(0), 0, true};   \
            return located_##Name(EACH(PASS, COMMA, __VA_ARGS__), &way);                          \
        }                                                                                         \
        RECORD(pw_mpi_begin(&c, PW_OP_##Op, 0, PW_OP_LEVEL_##Op, PW_ACT_##CLASS, false),          \
               FORGET(Op, __VA_ARGS__) if (PW_ACT_##CLASS == PW_MPI_COUNTS &&                     \
                                           pw_mpi_gate() <                                        \
                                               0) return counted_##Name(EACH(PASS, COMMA,         \
                                                                             __VA_ARGS__));       \
               return pw_next.Name(EACH(PASS, COMMA, __VA_ARGS__));                               \
               , pw_next.Name, CLASS, __VA_ARGS__)                                                \
    }                                                                                             \
    static __attribute__((noinline)) int profiled_##Name(EACH(C_DECL, COMMA, __VA_ARGS__))        \
    {                                                                                             \
        const void *caller = __builtin_return_address(0); /* also that of PMPI_X */               \
        uint8_t flags;                                                                            \
        const bool is_programs = pw_mpi_is_programs(PW_OP_##Op, caller, &flags);                  \
        if (__builtin_expect(!pw_pnext.Name, 0)) {                                                \
            const struct pw_mpi_way way = {"PMPI_" #Name, caller, flags, is_programs};            \
            return located_##Name(EACH(PASS, COMMA, __VA_ARGS__), &way);                          \
        }                                                                                         \
        if (!is_programs)                                                                         \
            return pw_pnext.Name(EACH(PASS, COMMA, __VA_ARGS__));                                 \
        RECORD(pw_mpi_begin(&c, PW_OP_##Op, flags, PW_OP_LEVEL_##Op, PW_ACT_##CLASS, true),       \
               PASS_ON(pw_pnext.Name, Op, CLASS, __VA_ARGS__), pw_pnext.Name, CLASS, __VA_ARGS__) \
    }

#define MPI_FN(Name, CLASS, ...) RECORDED(Name, Name, CLASS, __VA_ARGS__)
#define MPI_FN_C(Name, CLASS, ...) RECORDED(Name##_c, Name, CLASS, __VA_ARGS__)
#include "collectors/mpi/mpi_api.def"
#undef MPI_FN
#undef MPI_FN_C

/* What a function does with a call that does not go the usual way. */
#define OTHERWISE(Name, Op, CLASS, ...)                                     \
    PW_ALWAYS_INLINE int otherwise_##Name(EACH(C_DECL, COMMA, __VA_ARGS__)) \
    {                                                                       \
        const int gate = pw_mpi_gate();                                     \
        if (PW_OP_LEVEL_##Op < gate)                                        \
            return recorded_##Name(EACH(PASS, COMMA, __VA_ARGS__));         \
        if (!pw_next.Name || pw_mpi_gives_back(PW_OP_##Op) ||               \
            (gate < 0 && pw_mpi_is_busy_paused(PW_ACT_##CLASS)))            \
            return recorded_##Name(EACH(PASS, COMMA, __VA_ARGS__));         \
        if (PW_ACT_##CLASS == PW_MPI_COUNTS && gate < 0) {                  \
            struct pw_mpi_call c;                                           \
            MPI_Status own;                                                 \
            (void)own;                                                      \
            c.thread = NULL;                                                \
            EACH(C_PRE, NONE, __VA_ARGS__)                                  \
            if (!pw_mpi_count_paused(c.comm))                               \
                return counted_##Name(EACH(PASS, COMMA, __VA_ARGS__));      \
        }                                                                   \
        return pw_next.Name(EACH(PASS, COMMA, __VA_ARGS__));                \
    }

#define MPI_FN(Name, CLASS, ...) OTHERWISE(Name, Name, CLASS, __VA_ARGS__)
#define MPI_FN_C(Name, CLASS, ...) OTHERWISE(Name##_c, Name, CLASS, __VA_ARGS__)
#include "collectors/mpi/mpi_api.def"
#undef MPI_FN
#undef MPI_FN_C

/* ---- the usual way ----
 *
 * The calls that training and most solvers spend their time in, on the communicator and datatype
 * that the thread used last: a plain Allreduce of one rank takes 13 ns, and the general way costs
 * more than twice of that. A record is filled in its place in the ring before the call, where the
 * thread is already shown to be in it, so that nobody else writes there; only a pointer or two have
 * to be kept over the call. Whatever turns out not to be usual is a function's last call, for the
 * same reason. Everything else goes the general way. */

/* The general way. What the thread remembers may only have been found when the gate was another.
 * And the same while nothing is recorded, asked for before anything else: a call is then a look at
 * the gate and a jump, with nothing to put back on the way. Where recording is only paused, which
 * it is for most of a scheduled run, what has to be done is done first. */
#define UNUSUAL(Name, CLASS, ...)                                                              \
    static __attribute__((noinline)) int unusual_##Name(EACH(C_DECL, COMMA, __VA_ARGS__))      \
    {                                                                                          \
        if (pw_mpi_gate() > 0 && pw_mpi_last.collectives != pw_mpi_usual_now())                \
            pw_mpi_last_restamp();                                                             \
        return otherwise_##Name(EACH(PASS, COMMA, __VA_ARGS__));                               \
    }                                                                                          \
    static __attribute__((noinline)) int idle_##Name(EACH(C_DECL, COMMA, __VA_ARGS__))         \
    {                                                                                          \
        if (__builtin_expect(                                                                  \
                pw_next.Name && pw_mpi_gate() < 0 && is_done_paused(PW_ACT_##CLASS, comm), 1)) \
            return pw_next.Name(EACH(PASS, COMMA, __VA_ARGS__));                               \
        return otherwise_##Name(EACH(PASS, COMMA, __VA_ARGS__));                               \
    }

/* Whether recording is paused, and all that a call means then is done. */
PW_ALWAYS_INLINE bool is_done_paused(enum pw_mpi_act act, MPI_Comm comm)
{
    const struct pw_open_call *call = pw_this_thread.call;
    static_assert(PW_ACT_ISEND == PW_MPI_PASSES && PW_ACT_IRECV == PW_MPI_PASSES &&
                      PW_ACT_COLL == PW_MPI_COUNTS,
                  "and nothing else is asked");
    return !atomic_load_explicit(&call->poked, memory_order_relaxed) &&
           (act == PW_MPI_PASSES || pw_mpi_count_paused(comm));
}

UNUSUAL(Allreduce, COLL, SBUF(sendbuf), RBUF(recvbuf), SCNT(count), STYPE(datatype), OPER(op),
        COMM(comm))
UNUSUAL(Isend, ISEND, SBUF(buf), SCNT(count), STYPE(datatype), DEST(dest), STAG(tag), COMM(comm),
        REQ_OUT(request))
UNUSUAL(Irecv, IRECV, RBUF(buf), RCNT(count), RTYPE(datatype), SRC(source), RTAG(tag), COMM(comm),
        REQ_OUT(request))

/* Whether nothing is recorded now. */
PW_ALWAYS_INLINE bool is_idle(void)
{
    return __builtin_expect(pw_mpi_gate() <= 0, 0);
}

/* Shows the thread to be in the call, if it may record, is in no call yet, and remembers the
 * communicator: since when (ticks), else 0. `usual` is what pw_mpi_usual_now() must be: the clock
 * is the TSC then, and no call stacks are taken. */
PW_ALWAYS_INLINE uint64_t usual_begin(uint64_t usual, uint16_t op, MPI_Comm comm)
{
    struct pw_open_call *open = pw_this_thread.call;
    if (__builtin_expect(usual != pw_mpi_usual_now() || pw_mpi_last.handle != comm, 0))
        return 0;
    uint32_t inside = atomic_load_explicit(&open->op, memory_order_relaxed);
    uint32_t poked = atomic_load_explicit(&open->poked, memory_order_relaxed);
    if (__builtin_expect((inside | poked) != 0, 0))
        return 0;
    const uint64_t start = pw_tick_read(PW_TICK_TSC);
    atomic_store_explicit(&open->start, start, memory_order_relaxed);
    atomic_store_explicit(&open->op, op, memory_order_relaxed);
    atomic_store_explicit(&open->handle, (uint64_t)(uintptr_t)comm, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* no signal handler writes a record now */
    if (!start)
        __builtin_unreachable(); /* so that who asks for 0 need not compare */
    return start;
}

/* Where the call's record goes; NULL, and the thread is in no call, where a look at the ring is
 * due. */
PW_ALWAYS_INLINE struct pw_record *usual_place(void)
{
    struct pw_ring *ring = &pw_this_thread.ring;
    struct pw_record *place = &ring->records[ring->head & ring->mask];
    if (!place)
        __builtin_unreachable(); /* the same */
    if (__builtin_expect(ring->head < ring->limit, 1))
        return place;
    atomic_store_explicit(&pw_this_thread.call->op, 0, memory_order_relaxed);
    return NULL;
}

/* Writes all that is known before the call. */
PW_ALWAYS_INLINE void usual_fill(struct pw_record *record, uint64_t start, uint16_t op,
                                 uint8_t flags, const struct pw_mpi_comm *comm, int32_t peer,
                                 int32_t tag, int64_t sent, int64_t received)
{
    record->start = start;
    record->type = PW_REC_COMM;
    record->flags = flags;
    record->op = op;
    record->stack = 0;
    record->comm.comm = comm->index;
    record->comm.peer = peer;
    record->comm.tag = tag;
    record->comm.seq = 0;
    record->comm.sent_bytes = sent;
    record->comm.recv_bytes = received;
    record->comm.request = 0;
    record->comm.begun = 0;
}

/* The thread is in no call any more. */
PW_ALWAYS_INLINE void usual_end(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&pw_this_thread.call->op, 0, memory_order_relaxed);
}

static __attribute__((noinline)) int wake_and_return(int rc)
{
    pw_probe_wake();
    return rc;
}

/* And hands the record to the collector. */
PW_ALWAYS_INLINE int usual_commit(int rc)
{
    int look = pw_ring_commit_many(&pw_this_thread.ring, 1);
    usual_end();
    return __builtin_expect(look, 0) ? wake_and_return(rc) : rc;
}

static __attribute__((noinline)) int failed_collective(struct pw_record *record, int rc,
                                                       struct pw_mpi_comm *comm)
{
    record->flags |= PW_FLAG_ERROR;
    record->comm.sent_bytes = record->comm.recv_bytes = 0;
    record->comm.seq = pw_mpi_comm_count(comm);
    return usual_commit(rc);
}

PW_ALWAYS_INLINE int usual_Allreduce(const void *sendbuf, void *recvbuf, int count,
                                     MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    if (is_idle())
        return idle_Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
    uint64_t start = 0;
    if (__builtin_expect(pw_mpi_last.type == datatype, 1))
        start = usual_begin(pw_mpi_last.collectives, PW_OP_Allreduce, comm);
    struct pw_record *record = start ? usual_place() : NULL;
    if (__builtin_expect(!record, 0))
        return unusual_Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
    struct pw_mpi_comm *entry = pw_mpi_last.comm;
    const int64_t bytes = count * pw_mpi_last.type_size;
    usual_fill(record, start, PW_OP_Allreduce, 0, entry, -1, 0, bytes, bytes);
    int rc = pw_next.Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
    record->end = pw_tick_read(PW_TICK_TSC);
    if (__builtin_expect(rc != MPI_SUCCESS, 0))
        return failed_collective(record, rc, entry);
    record->comm.seq = pw_mpi_comm_count(entry);
    pw_ring_prefetch(record);
    return usual_commit(rc);
}

/* The general way from here on, for a message that failed, is under way still where it was to be
 * complete or the other way around, or has no row. All that is known of it is in the open call. */
static __attribute__((noinline)) int begun_message(int rc, uint64_t end, MPI_Request request,
                                                   int64_t bytes)
{
    const struct pw_open_call *open = pw_this_thread.call;
    const struct pw_mpi_comm *comm = pw_mpi_last.comm;
    struct pw_mpi_call c = {
        .thread = &pw_this_thread,
        .start = atomic_load_explicit(&open->start, memory_order_relaxed),
        .end = end,
        .op = (uint16_t)atomic_load_explicit(&open->op, memory_order_relaxed),
        .comm = comm->handle,
        .request = request,
    };
    int32_t peer = pw_mpi_world_rank(comm, atomic_load_explicit(&open->peer, memory_order_relaxed));
    int32_t tag = atomic_load_explicit(&open->tag, memory_order_relaxed);
    bool is_from_nobody = c.op == PW_OP_Irecv && rc == MPI_SUCCESS && pw_mpi_is_complete(&c);
    pw_mpi_begun_message(&c, rc, comm, peer, is_from_nobody ? MPI_ANY_TAG : tag, bytes);
    pw_mpi_end(&c);
    return rc;
}

/* The time inside a call in units of 16 ticks; it fits its field where this is no more than that.
 */
PW_ALWAYS_INLINE uint64_t units(uint64_t start, uint64_t end)
{
    return (end - start) >> 4;
}

PW_ALWAYS_INLINE void usual_show(int peer, int tag)
{
    struct pw_open_call *open = pw_this_thread.call;
    atomic_store_explicit(&open->peer, peer, memory_order_relaxed);
    atomic_store_explicit(&open->tag, tag, memory_order_relaxed);
}

/* A completion call writes the records of all that is under way at once, and faster than memory can
 * follow: each message asks for one of their cache lines. `next` is where the next record goes. */
PW_ALWAYS_INLINE void usual_prefetch(const struct pw_record *next)
{
    const uint32_t open =
        (uint32_t)atomic_load_explicit(&pw_mpi_request_counts.receives, memory_order_relaxed);
    pw_ring_prefetch_at(next, PW_RING_AHEAD + open % 64);
}

/* To a rank, complete when the call returns. */
PW_ALWAYS_INLINE int usual_Isend(const void *buf, int count, MPI_Datatype datatype, int dest,
                                 int tag, MPI_Comm comm, MPI_Request *request)
{
    if (is_idle())
        return idle_Isend(buf, count, datatype, dest, tag, comm, request);
    uint64_t start = 0;
    if (__builtin_expect(pw_mpi_last.type == datatype && dest >= 0, 1))
        start = usual_begin(pw_mpi_last.messages, PW_OP_Isend, comm);
    struct pw_record *record = start ? usual_place() : NULL;
    if (__builtin_expect(!record, 0))
        return unusual_Isend(buf, count, datatype, dest, tag, comm, request);
    const struct pw_mpi_comm *entry = pw_mpi_last.comm;
    usual_show(dest, tag);
    usual_fill(record, start, PW_OP_Isend, PW_FLAG_NONBLOCKING, entry,
               pw_mpi_world_rank(entry, dest), tag, count * pw_mpi_last.type_size, 0);
    int rc = pw_next.Isend(buf, count, datatype, dest, tag, comm, request);
    uint64_t end = pw_tick_read(PW_TICK_TSC), inside = units(record->start, end);
    if (__builtin_expect(rc != MPI_SUCCESS || *request != pw_mpi_handles.request_empty ||
                             inside > UINT32_MAX,
                         0))
        return begun_message(rc, end, *request, record->comm.sent_bytes);
    record->end = end;
    record->comm.begun = (uint32_t)inside;
    record->comm.request = pw_mpi_request_next_id();
    usual_prefetch(record);
    return usual_commit(rc);
}

/* Not yet complete when the call returns. */
PW_ALWAYS_INLINE int usual_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag,
                                 MPI_Comm comm, MPI_Request *request)
{
    if (is_idle())
        return idle_Irecv(buf, count, datatype, source, tag, comm, request);
    if (!usual_begin(pw_mpi_last.messages, PW_OP_Irecv, comm))
        return unusual_Irecv(buf, count, datatype, source, tag, comm, request);
    usual_show(source, tag);
    int rc = pw_next.Irecv(buf, count, datatype, source, tag, comm, request);
    uint64_t end = pw_tick_read(PW_TICK_TSC);
    const struct pw_open_call *open = pw_this_thread.call;
    const MPI_Request handle = *request;
    struct pw_mpi_request *row = pw_mpi_request_row(handle);
    const uint64_t start = atomic_load_explicit(&open->start, memory_order_relaxed);
    const uint64_t inside = units(start, end);
    if (__builtin_expect(rc != MPI_SUCCESS || handle == pw_mpi_handles.request_empty ||
                             inside > UINT32_MAX || (row->state & PW_REQUEST_HELD),
                         0))
        return begun_message(rc, end, handle, 0);
    const struct pw_mpi_comm *entry = pw_mpi_last.comm;
    struct pw_record *record = &row->record;
    pw_mpi_request_use_row(row, handle, pw_mpi_request_state(PW_CLASS_RECV, 0));
    usual_fill(record, start, PW_OP_Irecv, PW_FLAG_NONBLOCKING, entry,
               pw_mpi_world_rank(entry, atomic_load_explicit(&open->peer, memory_order_relaxed)),
               atomic_load_explicit(&open->tag, memory_order_relaxed), 0, 0);
    record->end = end;
    record->comm.request = row->id;
    record->comm.begun = (uint32_t)inside;
    row->comm = entry->handle;
    const struct pw_ring *ring = &pw_this_thread.ring;
    usual_prefetch(&ring->records[ring->head & ring->mask]);
    usual_end();
    return rc;
}

#define ENTRY_Allreduce ~, usual_Allreduce
#define ENTRY_Isend ~, usual_Isend
#define ENTRY_Irecv ~, usual_Irecv

/* ---- what the application calls ---- */

#define SECOND(a, b, ...) b
#define FIRST_GIVEN(...) SECOND(__VA_ARGS__, )
/* usual_X where there is one. */
#define ENTRY(Name) FIRST_GIVEN(ENTRY_##Name, otherwise_##Name)

#define EXPORTED(Name, Op, ...)                                    \
    EXPORT int MPI_##Name(EACH(C_DECL, COMMA, __VA_ARGS__))        \
    {                                                              \
        return ENTRY(Name)(EACH(PASS, COMMA, __VA_ARGS__));        \
    }                                                              \
    EXPORT int PMPI_##Name(EACH(C_DECL, COMMA, __VA_ARGS__))       \
    {                                                              \
        const void *caller = __builtin_return_address(0);          \
        if (pw_pnext.Name && pw_mpi_is_hidden(caller, PW_OP_##Op)) \
            return pw_pnext.Name(EACH(PASS, COMMA, __VA_ARGS__));  \
        return profiled_##Name(EACH(PASS, COMMA, __VA_ARGS__));    \
    }

#define MPI_FN(Name, CLASS, ...) EXPORTED(Name, Name, __VA_ARGS__)
#define MPI_FN_C(Name, CLASS, ...) EXPORTED(Name##_c, Name, __VA_ARGS__)
#include "collectors/mpi/mpi_api.def"
#undef MPI_FN
#undef MPI_FN_C
