/* The C binding of every function in mpi_api.def. `cmake --build build --target show-mpi` prints
 * the expansion. The compiler checks each row against mpi.h, whose prototypes are in scope. */
#include "collectors/mpi/mpi_classes.h"

#define EXPORT __attribute__((visibility("default")))

/* Some functions each. What is called has no frame, so that a call above the recorded level costs a
 * look at the gate and a jump; some calls have a usual way, below; all have this one. Collectives
 * are counted while recording is paused. */
#define RECORDED(Name, Op, CLASS, ...)                                                            \
    static __attribute__((noinline, unused)) int counted_##Name(EACH(C_DECL, COMMA, __VA_ARGS__)) \
    {                                                                                             \
        struct pw_mpi_call c;                                                                     \
        MPI_Status own;                                                                           \
        (void)own;                                                                                \
        c.thread = NULL;                                                                          \
        EACH(C_PRE, NONE, __VA_ARGS__)                                                            \
        int rc = pw_pmpi.Name(EACH(PASS, COMMA, __VA_ARGS__));                                    \
        pw_mpi_count_paused_slow(c.comm, PW_OP_##Op == PW_OP_Win_fence, rc);                      \
        return rc;                                                                                \
    }                                                                                             \
    static __attribute__((noinline)) int recorded_##Name(EACH(C_DECL, COMMA, __VA_ARGS__))        \
    {                                                                                             \
        struct pw_mpi_call c;                                                                     \
        MPI_Status own;                                                                           \
        (void)own;                                                                                \
        if (!pw_mpi_begin(&c, PW_OP_##Op, 0, PW_OP_LEVEL_##Op, PW_ACT_##CLASS)) {                 \
            if (__builtin_expect(!pw_pmpi.Name, 0))                                               \
                pw_mpi_resolve(); /* calls are recorded only once it is */                        \
            if (pw_mpi_gives_back(PW_OP_##Op)) {                                                  \
                c.thread = NULL;                                                                  \
                EACH(C_PRE, NONE, __VA_ARGS__)                                                    \
            }                                                                                     \
            if (PW_ACT_##CLASS == PW_MPI_COUNTS && pw_mpi_gate() < 0)                             \
                return counted_##Name(EACH(PASS, COMMA, __VA_ARGS__));                            \
            return pw_pmpi.Name(EACH(PASS, COMMA, __VA_ARGS__));                                  \
        }                                                                                         \
        EACH(C_PRE, NONE, __VA_ARGS__)                                                            \
        int rc = pw_pmpi.Name(EACH(C_USE, COMMA, __VA_ARGS__));                                   \
        c.end = pw_probe_now();                                                                   \
        EACH(C_POST, NONE, __VA_ARGS__)                                                           \
        pw_mpi_after_##CLASS(&c, rc);                                                             \
        pw_mpi_end(&c);                                                                           \
        return rc;                                                                                \
    }

#define MPI_FN(Name, name, CLASS, ...) RECORDED(Name, Name, CLASS, __VA_ARGS__)
#define MPI_FN_C(Name, name, CLASS, ...) RECORDED(Name##_c, Name, CLASS, __VA_ARGS__)
#include "collectors/mpi/mpi_api.def"
#undef MPI_FN
#undef MPI_FN_C

/* ---- the usual way ----
 *
 * The calls that training and most solvers spend their time in, on the communicator and datatype
 * that the thread used last: a plain Allreduce of one rank takes 13 ns, and the general way costs
 * more than twice of that. What is to be recorded is worked out before the call, so that little has
 * to be kept over it. Everything else goes the general way. */

/* Whether the thread may record, is in no call, and remembers the communicator; the clock is the
 * TSC then, and no call stacks are taken. */
PW_ALWAYS_INLINE bool usual_begin(struct pw_mpi_call *c, uint16_t op, MPI_Comm comm)
{
    c->thread = &pw_this_thread;
    struct pw_open_call *open = c->thread->call;
    uint32_t inside = atomic_load_explicit(&open->op, memory_order_relaxed);
    uint32_t poked = atomic_load_explicit(&open->poked, memory_order_relaxed);
    if (__builtin_expect((inside | poked | pw_gate->general) != 0 || pw_mpi_last.handle != comm ||
                             pw_mpi_last.epoch != pw_mpi_epoch_now(),
                         0))
        return false;
    c->op = op;
    c->flags = 0;
    c->quiet = false;
    c->stack = 0;
    c->start = pw_tick_read(PW_TICK_TSC);
    atomic_store_explicit(&open->start, c->start, memory_order_relaxed);
    atomic_store_explicit(&open->op, op, memory_order_relaxed);
    atomic_store_explicit(&open->handle, (uint64_t)(uintptr_t)comm, memory_order_relaxed);
    return true;
}

static __attribute__((noinline)) int usual_Allreduce(const void *sendbuf, void *recvbuf, int count,
                                                     MPI_Datatype datatype, MPI_Op op,
                                                     MPI_Comm comm)
{
    struct pw_mpi_call c;
    if (__builtin_expect(pw_mpi_last.type != datatype, 0) ||
        !usual_begin(&c, PW_OP_Allreduce, comm))
        return recorded_Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
    struct pw_mpi_comm *entry = pw_mpi_last.comm;
    const int64_t bytes = count * pw_mpi_last.type_size;
    int rc = pw_pmpi.Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
    c.end = pw_tick_read(PW_TICK_TSC);
    if (__builtin_expect(rc == MPI_SUCCESS, 1)) {
        pw_mpi_record(&c, entry, 0, -1, 0, pw_mpi_comm_count(entry), bytes, bytes);
    } else {
        const struct pw_mpi_call copy = c; /* so that `c` itself is never in memory */
        pw_mpi_failed_collective(&copy, rc, entry);
    }
    pw_mpi_end(&c);
    return rc;
}

/* Whether the time inside the call, in units of 16 ticks, fits its field. */
PW_ALWAYS_INLINE bool is_short(const struct pw_mpi_call *c)
{
    return (c->end - c->start) >> 4 <= UINT32_MAX;
}

/* To a rank, complete when the call returns. */
static __attribute__((noinline)) int usual_Isend(const void *buf, int count, MPI_Datatype datatype,
                                                 int dest, int tag, MPI_Comm comm,
                                                 MPI_Request *request)
{
    struct pw_mpi_call c;
    if (__builtin_expect(pw_mpi_last.type != datatype || dest < 0 || pw_mpi_threads, 0) ||
        !usual_begin(&c, PW_OP_Isend, comm))
        return recorded_Isend(buf, count, datatype, dest, tag, comm, request);
    pw_mpi_show_peer(&c, dest);
    pw_mpi_show_tag(&c, tag);
    const struct pw_mpi_comm *entry = pw_mpi_last.comm;
    const int32_t peer = pw_mpi_world_rank(entry, dest);
    const int64_t bytes = count * pw_mpi_last.type_size;
    int rc = pw_pmpi.Isend(buf, count, datatype, dest, tag, comm, request);
    c.end = pw_tick_read(PW_TICK_TSC);
    c.request = *request;
    if (__builtin_expect(rc == MPI_SUCCESS && pw_mpi_is_complete(&c) && is_short(&c), 1)) {
        struct pw_record *record = pw_ring_reserve(&c.thread->ring, c.end, PW_LOST_COMMUNICATION);
        if (__builtin_expect(record != NULL, 1)) {
            pw_mpi_fill(&c, entry, PW_FLAG_NONBLOCKING, peer, tag, 0, bytes, 0, record);
            record->comm.request = pw_mpi_request_next_id();
            record->comm.begun = (uint32_t)((c.end - c.start) >> 4);
            pw_probe_commit_record(c.thread, record);
        }
    } else {
        struct pw_mpi_call copy = c;
        copy.comm = entry->handle;
        pw_mpi_begun_message(&copy, rc, entry, peer, tag, bytes);
    }
    pw_mpi_end(&c);
    return rc;
}

/* Not yet complete when the call returns. */
static __attribute__((noinline)) int usual_Irecv(void *buf, int count, MPI_Datatype datatype,
                                                 int source, int tag, MPI_Comm comm,
                                                 MPI_Request *request)
{
    struct pw_mpi_call c;
    if (!usual_begin(&c, PW_OP_Irecv, comm))
        return recorded_Irecv(buf, count, datatype, source, tag, comm, request);
    pw_mpi_show_peer(&c, source);
    pw_mpi_show_tag(&c, tag);
    const struct pw_mpi_comm *entry = pw_mpi_last.comm;
    const int32_t peer = pw_mpi_world_rank(entry, source);
    int rc = pw_pmpi.Irecv(buf, count, datatype, source, tag, comm, request);
    c.end = pw_tick_read(PW_TICK_TSC);
    c.request = *request;
    struct pw_mpi_request *begun = NULL;
    if (rc == MPI_SUCCESS && c.request != pw_mpi_handles.request_null && !pw_mpi_is_complete(&c) &&
        is_short(&c))
        begun = pw_mpi_request_add(c.request, PW_CLASS_RECV, 0);
    if (__builtin_expect(begun != NULL, 1)) {
        pw_mpi_fill(&c, entry, PW_FLAG_NONBLOCKING, peer, tag, 0, 0, 0, &begun->record);
        begun->record.comm.request = begun->id;
        begun->record.comm.begun = (uint32_t)((c.end - c.start) >> 4);
        begun->comm = entry->handle;
    } else {
        struct pw_mpi_call copy = c;
        copy.comm = entry->handle;
        bool done = rc == MPI_SUCCESS && pw_mpi_is_complete(&c);
        pw_mpi_begun_message(&copy, rc, entry, peer, done ? MPI_ANY_TAG : tag, 0);
    }
    pw_mpi_end(&c);
    return rc;
}

#define ENTRY_Allreduce ~, usual_Allreduce
#define ENTRY_Isend ~, usual_Isend
#define ENTRY_Irecv ~, usual_Irecv

/* ---- what the application calls ---- */

#define SECOND(a, b, ...) b
#define FIRST_GIVEN(...) SECOND(__VA_ARGS__, )
/* usual_X where there is one, else recorded_X. */
#define ENTRY(Name) FIRST_GIVEN(ENTRY_##Name, recorded_##Name)

#define EXPORTED(Name, Op, CLASS, ...)                                 \
    EXPORT int MPI_##Name(EACH(C_DECL, COMMA, __VA_ARGS__))            \
    {                                                                  \
        const int gate = pw_mpi_gate();                                \
        if (PW_OP_LEVEL_##Op < gate)                                   \
            return ENTRY(Name)(EACH(PASS, COMMA, __VA_ARGS__));        \
        if (!pw_pmpi.Name || pw_mpi_gives_back(PW_OP_##Op) ||          \
            (gate < 0 && pw_mpi_is_busy_paused(PW_ACT_##CLASS)))       \
            return recorded_##Name(EACH(PASS, COMMA, __VA_ARGS__));    \
        if (PW_ACT_##CLASS == PW_MPI_COUNTS && gate < 0) {             \
            struct pw_mpi_call c;                                      \
            MPI_Status own;                                            \
            (void)own;                                                 \
            c.thread = NULL;                                           \
            EACH(C_PRE, NONE, __VA_ARGS__)                             \
            if (!pw_mpi_count_paused(c.comm))                          \
                return counted_##Name(EACH(PASS, COMMA, __VA_ARGS__)); \
        }                                                              \
        return pw_pmpi.Name(EACH(PASS, COMMA, __VA_ARGS__));           \
    }

#define MPI_FN(Name, name, CLASS, ...) EXPORTED(Name, Name, CLASS, __VA_ARGS__)
#define MPI_FN_C(Name, name, CLASS, ...) EXPORTED(Name##_c, Name, CLASS, __VA_ARGS__)
#include "collectors/mpi/mpi_api.def"
#undef MPI_FN
#undef MPI_FN_C
