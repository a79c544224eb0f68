/* One MPI call on its way through a wrapper: what the parameter kinds note down, and the inline
 * pieces that every wrapper runs. The struct lives in the wrapper's frame and is not cleared, which
 * would cost as much as a record: only what the function's parameters noted may be read. */
#ifndef PW_MPI_CALL_H
#define PW_MPI_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/mpi/mpi_comm.h"
#include "collectors/mpi/mpi_paused.h"
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

/* The level that the run records, or -1 outside MPI_Init .. MPI_Finalize: operations whose own
 * level is higher pass through. */
static inline int pw_mpi_gate(void)
{
    return atomic_load_explicit(&pw_gate->mpi, memory_order_relaxed);
}

static inline int pw_mpi_level(void)
{
    return pw_mpi_gate() - 1;
}

/* The calling thread, where that is more than a look at its open call: it has no ring yet, or is in
 * a call already, or its call stack is to be taken. NULL when the call is not to be recorded. */
struct pw_thread *pw_mpi_enter(void);

/* The same where whose call it is has been looked at; see pw_mpi_by_caller. */
struct pw_thread *pw_mpi_enter_located(void);

/* The calling thread of a call that is above the gate, for an operation of `op_level` whose class
 * does `act` while recording is paused: NULL when the call is to go through as it is. */
struct pw_thread *pw_mpi_enter_paused(int op_level, enum pw_mpi_act act);
struct pw_thread *pw_mpi_enter_paused_located(int op_level, enum pw_mpi_act act);

/* Notes that the thread is inside a call; false when it is not to be recorded, or not yet known to
 * be one of MPI (`is_located` is a constant). Every test here is paid by every call of the
 * application: the gate's level answers for the process (it is 0 in forked children, and raised
 * only when MPI is resolved), the open call for the thread and for nesting. */
PW_ALWAYS_INLINE bool pw_mpi_begin(struct pw_mpi_call *c, uint16_t op, uint8_t flags, int op_level,
                                   enum pw_mpi_act act, bool is_located)
{
    const int gate = pw_mpi_gate();
    struct pw_thread *thread = &pw_this_thread;
    c->quiet = false;
    if (op_level >= gate) {
        thread = gate >= 0    ? NULL
                 : is_located ? pw_mpi_enter_paused_located(op_level, act)
                              : pw_mpi_enter_paused(op_level, act);
        if (!thread)
            return false;
        if (act == PW_MPI_KEEPS || act == PW_MPI_ENDS)
            c->quiet = pw_mpi_gate() < 0;
    } else {
        const struct pw_open_call *call = thread->call;
        uint32_t open = atomic_load_explicit(&call->op, memory_order_relaxed);
        uint32_t poked = atomic_load_explicit(&call->poked, memory_order_relaxed);
        if (__builtin_expect((open | poked | pw_gate->mpi_slow) != 0, 0)) {
            thread = is_located ? pw_mpi_enter_located() : pw_mpi_enter();
            if (!thread)
                return false;
        }
    }
    c->thread = thread;
    c->op = op;
    c->flags = flags;
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

static inline MPI_Status *pw_mpi_status(MPI_Status *given, MPI_Status *own)
{
    return given == MPI_STATUS_IGNORE ? own : given;
}

MPI_Status *pw_mpi_statuses(struct pw_mpi_call *c, MPI_Status *given);

#endif
