/* One MPI call on its way through a wrapper: what the parameter kinds note down, and the inline
 * pieces that every wrapper runs. The struct is in the wrapper's frame and is not cleared, which
 * would cost as much as a record: only fields that the function's parameters set may be read.
 *
 * Included by the wrappers and by what they call after the call (mpi_classes.h). In-app: nothing
 * here may exit, print, block, or take a lock that the application can hold; recording may only
 * lose events, and counts them. */
#ifndef PW_MPI_CALL_H
#define PW_MPI_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/mpi/mpi_comm.h"
#include "collectors/mpi/mpi_real.h"
#include "core/ops.h"
#include "rank/probe/probe.h"

/* So that the struct of a wrapper whose class is inline is never in memory at all. */
#define PW_ALWAYS_INLINE static inline __attribute__((always_inline))

struct pw_mpi_call {
    struct pw_thread *thread;
    uint64_t start, end; /* ticks */
    uint16_t op;
    uint8_t flags;  /* PW_FLAG_* */
    uint32_t stack; /* that it was made on, 0 when none are taken */
    bool quiet;     /* recording is paused: what must be known later is kept, nothing is written */
    /* Noted from the parameters, where the function has them. */
    const void *sbuf;
    void *rbuf;
    int64_t scount, rcount;
    const int *scounts, *rcounts;
    MPI_Datatype stype, rtype;
    const MPI_Datatype *stypes, *rtypes;
    int dest, src, root, stag, rtag;
    int partitions;
    MPI_Comm comm; /* or a window or file, which have entries among the communicators */
    MPI_Comm *newcomm_at;
    MPI_Request request;
    int nrequests;
    MPI_Request *saved;          /* [nrequests] handles before the call, in the thread's scratch */
    const MPI_Request *requests; /* the application's array */
    MPI_Status *status; /* what is passed to MPI: the application's, or ours when ignored */
    MPI_Status own;
    int outcount, index, flag;
    int64_t freed; /* index of the communicator, window or file that the call frees, -1 unknown */
    MPI_Message message;
    union {
        MPI_Win win;
        MPI_File file;
    } made;
    const int *indices;
    const char *text;
};

/* ---- the gate ---- */

/* 1 + the level that MPI calls are recorded at, 0 outside MPI_Init .. MPI_Finalize, -1 while
 * recording is paused: operations whose own level is not below it are not recorded. */
static inline int pw_mpi_gate(void)
{
    return atomic_load_explicit(&pw_gate->mpi, memory_order_relaxed);
}

static inline int pw_mpi_level(void)
{
    return pw_mpi_gate() - 1;
}

/* The number of a collective that was just begun or left. One thread at a time has one on a
 * communicator, as MPI demands. */
static inline uint32_t pw_mpi_comm_count(const struct pw_mpi_comm *comm)
{
    uint32_t seq = atomic_load_explicit(comm->collectives, memory_order_relaxed);
    atomic_store_explicit(comm->collectives, seq + 1, memory_order_relaxed);
    return seq;
}

/* ---- calls that are not recorded ----
 *
 * While recording is paused as little is done as leaves the tables right for when it goes on.
 * Handles are forgotten whenever they are freed, also above the level or in an attribute's delete
 * function at the end: MPI gives handles again. */

/* What calls of a class do besides; the column `paused` of mpi_classes.def. */
enum pw_mpi_act {
    PW_MPI_PASSES,
    PW_MPI_COUNTS,       /* a collective's number, which must agree between ranks */
    PW_MPI_COUNTS_KNOWN, /* the same on a window, which is no communicator to be looked up */
    PW_MPI_FREES,        /* a communicator, window or file */
    PW_MPI_KEEPS,        /* communicators, windows, files, persistent requests */
    PW_MPI_ENDS,         /* requests, where there can be any that are known */
#define PW_MPI_CLASS(CLASS, fast, paused) PW_ACT_##CLASS = PW_MPI_##paused,
#include "collectors/mpi/mpi_classes.def"
#undef PW_MPI_CLASS
};

/* What is due for one that is not recorded: nothing; its number, before the call or after it; the
 * handle that it frees is forgotten, before it; or all that is done for a recorded call, but for
 * its record. */
enum pw_mpi_due { PW_DUE_NOTHING, PW_DUE_NUMBER, PW_DUE_HANDLE, PW_DUE_ALL };

/* Whether a request can be there that was begun while calls were recorded, or is persistent. */
bool pw_mpi_has_requests(void);

/* The rule of the pause, for all calls, by whatever way they come. */
PW_ALWAYS_INLINE enum pw_mpi_due pw_mpi_due(enum pw_mpi_act act, int gate)
{
    if (act == PW_MPI_FREES)
        return PW_DUE_HANDLE;
    if (gate >= 0)
        return PW_DUE_NOTHING;
    switch (act) {
    case PW_MPI_COUNTS:
    case PW_MPI_COUNTS_KNOWN:
        return PW_DUE_NUMBER;
    case PW_MPI_KEEPS:
        return PW_DUE_ALL;
    case PW_MPI_ENDS:
        return pw_mpi_has_requests() ? PW_DUE_ALL : PW_DUE_NOTHING;
    default:
        return PW_DUE_NOTHING;
    }
}

/* Counts a collective that is about to be called, on the communicator that the thread used last;
 * false where it is another. Before the call: nothing has to be kept over it. */
PW_ALWAYS_INLINE bool pw_mpi_count_before(MPI_Comm handle)
{
    const struct pw_mpi_last *last = &pw_mpi_last;
    if (__builtin_expect(last->handle != handle || last->epoch != pw_mpi_epoch_now(), 0))
        return false;
    pw_mpi_comm_count(last->comm);
    return true;
}

/* Counts one on any communicator, or known window, after the call. */
void pw_mpi_count_after(MPI_Comm handle, enum pw_mpi_act act, int rc);

/* Whether a call that is not recorded is to go through as it is; does what is due, where that is a
 * number that can be counted at once. Otherwise it is the slow function's, also where an order has
 * come to record again. */
PW_ALWAYS_INLINE bool pw_mpi_passes(const struct pw_mpi_call *c, enum pw_mpi_act act, int gate)
{
    const enum pw_mpi_due due = pw_mpi_due(act, gate);
    if (gate >= 0)
        return due == PW_DUE_NOTHING;
    const struct pw_open_call *call = pw_this_thread.call;
    if (atomic_load_explicit(&call->signalled, memory_order_relaxed))
        return false;
    return due == PW_DUE_NOTHING || (due == PW_DUE_NUMBER && pw_mpi_count_before(c->comm));
}

/* Of what is due: an operation that was open when recording was paused has ended; and one was begun
 * that must be followed, but is not recorded. */
struct pw_mpi_request;
void pw_mpi_request_has_ended(void);
void pw_mpi_request_is_quiet(struct pw_mpi_request *request);

/* ---- the slow function ---- */

/* The calling thread, where that is more than a look at its open call: it has no ring yet, or is in
 * a call already, or its call stack is to be taken. NULL when the call is not to be recorded. */
struct pw_thread *pw_mpi_enter(void);

/* The same of a call that is not below the gate: NULL unless all that is done for a recorded call
 * is due, or an order has come to record again. */
struct pw_thread *pw_mpi_enter_paused(int op_level, enum pw_mpi_act act);

/* Notes that the thread is inside a call of an operation of `op_level`, whose class does `act` when
 * it is not recorded; false when it is not. Every test here is paid by every call that no fast
 * function records. One load of the gate says for the process whether the level is recorded: it is
 * 0 before MPI is resolved, after MPI_Finalize and in forked children, -1 while recording is
 * paused. The open call says for the thread whether it has a ring (`signalled`, as pw_no_ring_call
 * is), whether an order has come (the same), and whether it is in a call already (`op`). */
PW_ALWAYS_INLINE bool pw_mpi_begin(struct pw_mpi_call *c, uint16_t op, int op_level,
                                   enum pw_mpi_act act)
{
    struct pw_thread *thread = &pw_this_thread;
    c->quiet = false;
    if (op_level < pw_mpi_gate()) {
        const struct pw_open_call *call = thread->call;
        uint32_t open = atomic_load_explicit(&call->op, memory_order_relaxed);
        uint32_t signalled = atomic_load_explicit(&call->signalled, memory_order_relaxed);
        if (__builtin_expect((open | signalled | pw_gate->mpi_slow) != 0, 0))
            thread = pw_mpi_enter();
    } else {
        thread = pw_mpi_enter_paused(op_level, act);
        c->quiet = pw_mpi_gate() < 0;
    }
    c->thread = thread;
    if (!thread)
        return false;
    c->op = op;
    c->stack = thread->stack;
    c->start = pw_probe_now();
    atomic_store_explicit(&thread->call->start, c->start, memory_order_relaxed);
    atomic_store_explicit(&thread->call->op, op, memory_order_relaxed);
    return true;
}

/* What the parameters tell of the call while it is open, for who asks where a thread hangs: one
 * store each, into a cache line that the begin of the call has written. There is no thread where
 * parameters are looked at of a call that is not recorded; where one is, the compiler knows. */
PW_ALWAYS_INLINE void pw_mpi_show_handle(const struct pw_mpi_call *c, const void *handle)
{
    if (c->thread)
        atomic_store_explicit(&c->thread->call->handle, (uint64_t)(uintptr_t)handle,
                              memory_order_relaxed);
}

PW_ALWAYS_INLINE void pw_mpi_show_peer(const struct pw_mpi_call *c, int peer)
{
    if (c->thread)
        atomic_store_explicit(&c->thread->call->peer, peer, memory_order_relaxed);
}

PW_ALWAYS_INLINE void pw_mpi_show_tag(const struct pw_mpi_call *c, int tag)
{
    if (c->thread)
        atomic_store_explicit(&c->thread->call->tag, tag, memory_order_relaxed);
}

PW_ALWAYS_INLINE void pw_mpi_end(struct pw_mpi_call *c)
{
    atomic_store_explicit(&c->thread->call->op, 0, memory_order_relaxed);
}

/* Fills a record of the call, but for when it ended and what only some operations have: a partner,
 * a tag, a number, bytes, a request. */
PW_ALWAYS_INLINE void pw_mpi_fill(const struct pw_mpi_call *c, uint32_t comm,
                                  struct pw_record *record)
{
    record->start = c->start;
    record->type = PW_REC_COMM;
    record->flags = c->flags;
    record->op = c->op;
    record->stack = c->stack;
    record->comm.comm = comm;
    record->comm.peer = -1;
    record->comm.tag = 0;
    record->comm.seq = 0;
    record->comm.sent_bytes = record->comm.recv_bytes = 0;
    record->comm.request = 0;
    record->comm.begun = 0;
}

/* ---- bytes ---- */

/* Size of one element in bytes; 0 when MPI does not know the type. */
int64_t pw_mpi_type_size_slow(MPI_Datatype type);

PW_ALWAYS_INLINE int64_t pw_mpi_type_size(MPI_Datatype type)
{
    const struct pw_mpi_last *last = &pw_mpi_last;
    if (__builtin_expect(last->type == type && last->epoch == pw_mpi_epoch_now(), 1))
        return last->type_size;
    return pw_mpi_type_size_slow(type);
}

/* Enters into a record what this rank sends and receives in a collective, or in a one-sided
 * operation. Arrays of counts are of MPI_Count when `large`. */
void pw_mpi_collective_bytes(const struct pw_mpi_call *c, bool large, struct pw_mpi_comm *comm,
                             struct pw_record *record);
void pw_mpi_one_sided_bytes(const struct pw_mpi_call *c, struct pw_record *record);

/* ---- requests and statuses ---- */

void pw_mpi_save_requests(struct pw_mpi_call *c, int count, const MPI_Request *requests);

MPI_Status *pw_mpi_statuses(struct pw_mpi_call *c, MPI_Status *given);

#endif
