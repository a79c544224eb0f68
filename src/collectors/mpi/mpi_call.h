/* The struct of one MPI call, with the values of its parameters (mpi_kinds.def fills them in), and
 * the inline functions that every wrapper runs. The struct is a local variable of the wrapper and
 * is not cleared, because clearing it would take as long as writing a record. So only fields that
 * the function's parameters set may be read.
 *
 * Included by the wrappers, and by the functions that the wrappers run after the MPI library's
 * function (mpi_classes.h). In-app: nothing here may exit, print, block, or take a lock that the
 * application can hold; recording may only lose events, and counts them. */
#ifndef PW_MPI_CALL_H
#define PW_MPI_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/mpi/mpi_comm.h"
#include "collectors/mpi/mpi_library.h"
#include "core/ops.h"
#include "rank/probe/probe.h"

/* Inlining is forced, so that the compiler can keep the struct's fields in registers. */
#define PW_ALWAYS_INLINE static inline __attribute__((always_inline))

struct pw_mpi_request;

union pw_mpi_saved {
    MPI_Request handle;
    struct pw_mpi_request *entry;
};

struct pw_mpi_call {
    struct pw_thread *thread;
    uint64_t start, end; /* ticks */
    uint16_t op;
    uint8_t flags;  /* PW_FLAG_* */
    uint32_t stack; /* id of the call stack, 0 when call stacks are not recorded */
    bool quiet;     /* recording is paused: tables are kept up to date, but no record is written */
    /* Values of parameters, for functions that have them. */
    const void *sbuf;
    void *rbuf;
    int64_t scount, rcount;
    const int *scounts, *rcounts;
    MPI_Datatype stype, rtype;
    const MPI_Datatype *stypes, *rtypes;
    int dest, src, root, stag, rtag;
    int partitions;
    bool reduces; /* it has the parameter `reducer`; set for all functions */
    MPI_Op reducer;
    pw_mpi_key comm; /* or a window or a file: these are in the table of communicators, too */
    MPI_Comm *newcomm_at;
    MPI_Request request;
    int nrequests;
    /* [nrequests] in thread-local memory. Before the call, a copy of `requests`; when the call has
     * returned, the entries that these requests had in the table */
    union pw_mpi_saved *saved;
    const MPI_Request *requests; /* the application's array */
    MPI_Status *status;          /* passed to MPI: the application's, or &pw_mpi_own_status if it
                                  * ignores it */
    int outcount, index, flag;
    int64_t freed; /* index of the communicator, window or file that the call frees; -1: unknown */
    MPI_Message message;
    union {
        MPI_Win win;
        MPI_File file;
    } made;
    const int *indices;
    const char *text;
};

/* The status of a call that ignores it. A thread has at most one recorded call at a time, so it
 * needs one. It is not in the struct: a struct whose address the call may know keeps the compiler
 * from passing on calls that are not recorded by a jump. */
extern _Thread_local MPI_Status pw_mpi_own_status
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* ---- the gate ---- */

/* The gate: 1 + the level at which MPI calls are recorded; 0 before MPI_Init and after
 * MPI_Finalize; -1 while recording is paused. An operation is recorded if its own level is less
 * than the gate. */
static inline int pw_mpi_gate(void)
{
    return atomic_load_explicit(&pw_gate->mpi[PW_MPI_ABI], memory_order_relaxed);
}

/* The level at which MPI calls are recorded; negative when they are not. */
static inline int pw_mpi_level(void)
{
    return pw_mpi_gate() - 1;
}

/* Returns the sequence number of a collective on `comm`, increments it for the next one, and adds
 * the collective to the hash of the order. Not atomic as a whole: MPI allows only one thread at a
 * time to call a collective on a communicator. */
static inline uint32_t pw_mpi_comm_count(struct pw_mpi_comm *comm, uint32_t signature)
{
    _Atomic uint32_t *counter = comm->collectives;
    const uint32_t seq = atomic_load_explicit(counter, memory_order_relaxed);
    const uint64_t hash = comm->hash * PW_CALLORDER_FACTOR + signature;
    _Atomic uint64_t *shown = &comm->order->hash[pw_callorder_level(seq + 1)];
    comm->hash = hash;
    atomic_store_explicit(shown, hash, memory_order_relaxed);
    atomic_store_explicit(counter, seq + 1, memory_order_release);
    return seq;
}

/* The signature of a collective (core/callorder.h). `root`: its rank in the communicator, 0 for
 * collectives without a root. */
PW_ALWAYS_INLINE uint32_t pw_mpi_signature(const struct pw_mpi_call *c, int64_t bytes, int root)
{
    /* A factor of 31 bits is a part of the instruction, and so needs no register. */
    const uint64_t place = (uint64_t)(uint32_t)root << 24, op = c->op * UINT64_C(0x01000193);
    const uint64_t mixed = ((uint64_t)bytes + place + op) * 0x5851f42d;
    const uint32_t reduction = c->reduces ? pw_mpi_reduction(c->reducer) : PW_REDUCTION_NONE;
    return (uint32_t)(mixed >> 20) << PW_CALLORDER_REDUCTION_BITS | reduction;
}

/* The same for any collective, when the call has succeeded on `comm`: only then may the type be
 * asked for its size. */
uint32_t pw_mpi_signature_of(const struct pw_mpi_call *c, const struct pw_mpi_comm *comm);

/* Shows the signature in the open call, if it is known before the call; else that it is not. */
void pw_mpi_show_signature(const struct pw_mpi_call *c);

/* ---- calls that are not recorded ----
 *
 * While recording is paused, wrappers do only the work that keeps the tables of communicators and
 * requests and the sequence numbers right, so that recording can continue later. A communicator,
 * window or file is removed from the tables in every call that frees it, because MPI reuses
 * handles. This includes calls whose level is not recorded, and calls that an attribute's delete
 * function makes during MPI_Finalize. */

/* The effect of a class of calls on the tables; the column `paused` of mpi_class_table.def. */
enum pw_mpi_act {
    PW_MPI_PASSES,       /* no effect */
    PW_MPI_COUNTS,       /* a collective: has a sequence number, which must agree between ranks */
    PW_MPI_COUNTS_KNOWN, /* a collective on a window: only windows in the table are counted */
    PW_MPI_FREES,        /* frees a communicator, window or file */
    PW_MPI_KEEPS,        /* makes or names a communicator, window, file or persistent request */
    PW_MPI_ENDS,         /* starts, completes or frees requests that may be in the table */
#define PW_MPI_CLASS(CLASS, fast, paused) PW_ACT_##CLASS = PW_MPI_##paused,
#include "collectors/mpi/mpi_class_table.def"
#undef PW_MPI_CLASS
};

/* The work that a wrapper must do for a call that is not recorded. */
enum pw_mpi_due {
    PW_DUE_NOTHING,
    PW_DUE_NUMBER, /* increment the sequence number, before the call or after it */
    PW_DUE_HANDLE, /* before the call: remove from the table the handle that the call frees */
    PW_DUE_ALL,    /* all work of a recorded call, without writing the record */
};

/* Whether there may be persistent requests, or open requests that were begun while calls were
 * recorded. */
bool pw_mpi_has_requests(void);

/* Returns the work for a call that is not recorded. `act` is the effect of the call's class, `gate`
 * the value of pw_mpi_gate(). All wrappers use this rule, in their fast and slow functions. */
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

/* How the signature of a collective is found before the call; a constant in each fast function. */
enum pw_mpi_block {
    PW_BLOCK_LATER, /* only after the call */
    PW_BLOCK_NONE,
    PW_BLOCK_SENT, /* of the count and the type for sending */
    PW_BLOCK_SENT_ROOTED,
};

/* Increments the sequence number for a collective that is about to be called. Returns false, and
 * does nothing, if the communicator and the type are not those that the thread used last. Done
 * before the call, so that no value has to be saved across it. */
PW_ALWAYS_INLINE bool pw_mpi_count_before(const struct pw_mpi_call *c, enum pw_mpi_block block)
{
    const struct pw_mpi_last *last = &pw_mpi_last;
    const bool has_block = block == PW_BLOCK_SENT || block == PW_BLOCK_SENT_ROOTED;
    if (block == PW_BLOCK_LATER ||
        __builtin_expect(last->handle != c->comm || last->epoch != pw_mpi_epoch_now() ||
                             (has_block && last->type != c->stype),
                         0))
        return false;
    const int64_t bytes = has_block ? c->scount * last->type_size : 0;
    const int root = block == PW_BLOCK_SENT_ROOTED ? c->root : 0;
    pw_mpi_comm_count(last->comm, pw_mpi_signature(c, bytes, root));
    return true;
}

/* Increments the sequence number after a collective on any communicator, or on a window that is in
 * the table. `rc` is the call's return code. */
void pw_mpi_count_after(const struct pw_mpi_call *c, enum pw_mpi_act act, int rc);

/* For a call that is not recorded: true if the wrapper can call the MPI library's function at once.
 * This is so if no work is due, or if the only work is to increment a sequence number and this
 * function could do that. If it returns false, the wrapper must call the slow function. It also
 * returns false while paused if the collector has signalled a change (such as to resume recording),
 * because only the slow function applies changes. */
PW_ALWAYS_INLINE bool pw_mpi_passes(const struct pw_mpi_call *c, enum pw_mpi_act act, int gate,
                                    enum pw_mpi_block block)
{
    const enum pw_mpi_due due = pw_mpi_due(act, gate);
    if (gate >= 0)
        return due == PW_DUE_NOTHING;
    const struct pw_open_call *call = pw_this_thread.call;
    if (atomic_load_explicit(&call->signalled, memory_order_relaxed))
        return false;
    return due == PW_DUE_NOTHING || (due == PW_DUE_NUMBER && pw_mpi_count_before(c, block));
}

struct pw_mpi_request;

/* To be called while recording is paused, when a request in the table has completed. */
void pw_mpi_request_has_ended(void);

/* To be called while recording is paused, for a new request that is in the table but whose record
 * is not to be written. */
void pw_mpi_request_is_quiet(struct pw_mpi_request *request);

/* ---- the slow function ---- */

/* The slow part of pw_mpi_begin(): gives the thread a ring if it has none, applies a change if one
 * is signalled, and takes the call stack. Returns the thread, or NULL if the call is not recorded:
 * the thread is already in a call, has no ring, or recording is paused now. */
struct pw_thread *pw_mpi_enter(void);

/* As pw_mpi_enter(), for an operation that the gate excludes. Returns NULL unless PW_DUE_ALL
 * applies to the call, or a change has just resumed recording. */
struct pw_thread *pw_mpi_enter_paused(int op_level, enum pw_mpi_act act);

/* Begins a call of operation `op`, whose level is `op_level` and whose class has the effect `act`:
 * marks the thread as inside the call. Returns false if the call is not recorded.
 *
 * Every call that a fast function does not record runs the tests here, so there are only a few. The
 * gate decides for the whole process whether the operation's level is recorded. It is 0 before the
 * MPI library's functions are looked up, after MPI_Finalize and in forked children, and -1 while
 * recording is paused. Two fields of the thread's open call decide for the thread. `signalled` is
 * not 0 if a change has come, or if the thread has no ring (its open call is pw_no_ring_call then,
 * which is always signalled). `op` is not 0 if the thread is already in a call. */
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

/* These functions show a parameter of the open call to the collector, which reports where a thread
 * hangs. Each is one store to a cache line that pw_mpi_begin() has just written. c->thread is NULL
 * when the wrapper reads the parameters of a call that is not recorded; the compiler knows
 * c->thread in most places and then removes the test. */
PW_ALWAYS_INLINE void pw_mpi_show_handle(const struct pw_mpi_call *c, pw_mpi_key handle)
{
    if (c->thread)
        atomic_store_explicit(&c->thread->call->handle, PW_MPI_NUMBER(handle),
                              memory_order_relaxed);
}

PW_ALWAYS_INLINE void pw_mpi_show_peer(const struct pw_mpi_call *c, int peer)
{
    if (c->thread)
        atomic_store_explicit(&c->thread->call->peer, peer, memory_order_relaxed);
}

PW_ALWAYS_INLINE void pw_mpi_show_dest(const struct pw_thread *thread, int dest)
{
    atomic_store_explicit(&thread->call->signature, (uint32_t)dest, memory_order_relaxed);
}

PW_ALWAYS_INLINE void pw_mpi_show_tag(const struct pw_mpi_call *c, int tag)
{
    if (c->thread)
        atomic_store_explicit(&c->thread->call->tag, tag, memory_order_relaxed);
}

/* Counts a test or probe that completed nothing and writes no record (struct pw_shown_requests).
 * `what` differs when it is for something else. */
PW_ALWAYS_INLINE void pw_mpi_show_poll(struct pw_shown_requests *shown, uint16_t op, uint64_t what)
{
    const uint64_t hash = ((what + op) * PW_CALLORDER_FACTOR) | 1;
    const uint64_t polls = atomic_load_explicit(&shown->polls, memory_order_relaxed);
    atomic_store_explicit(&shown->poll_op, op, memory_order_relaxed);
    atomic_store_explicit(&shown->poll_what, hash, memory_order_relaxed);
    atomic_store_explicit(&shown->polls, polls + hash, memory_order_relaxed);
}

void pw_mpi_count_poll(const struct pw_mpi_call *c);

/* Counts a probe, if the thread has a ring. One that is not recorded at this level may have found a
 * message. A part of MPI_X, which so saves no register, and calls the library's function by a jump:
 * that one finds out the program's call by its return address. */
PW_ALWAYS_INLINE void pw_mpi_count_probe(const struct pw_mpi_call *c)
{
    struct pw_ring_shared *ring = pw_this_thread.ring.shared;
    if (!ring)
        return;
    const uint64_t peer_tag = (uint64_t)(uint32_t)c->src << 32 | (uint32_t)c->rtag;
    atomic_store_explicit(&ring->shown.handle, PW_MPI_NUMBER(c->comm), memory_order_relaxed);
    atomic_store_explicit(&ring->shown.peer_tag, peer_tag, memory_order_relaxed);
    pw_mpi_show_poll(&ring->shown, c->op, PW_MPI_NUMBER(c->comm) + peer_tag * PW_CALLORDER_FACTOR);
}

/* Marks the thread as outside a call. */
PW_ALWAYS_INLINE void pw_mpi_end(struct pw_mpi_call *c)
{
    atomic_store_explicit(&c->thread->call->op, 0, memory_order_relaxed);
}

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ &&
                  offsetof(struct pw_record, flags) == offsetof(struct pw_record, type) + 1 &&
                  offsetof(struct pw_record, op) == offsetof(struct pw_record, type) + 2 &&
                  offsetof(struct pw_record, stack) == offsetof(struct pw_record, type) + 4,
              "the fields of a record's word are in this order");

/* Fills in the fields of a record that all operations have, except `end`. `flags` are added to the
 * call's. Peer, tag, sequence number, bytes and request get values that mean "none"; the caller
 * sets them where there are any.
 *
 * Type, flags, operation and call stack are one store. As stores of bytes they made a fast function
 * whose flags are not constant (MPICH's) 10 to 20 ns slower. */
PW_ALWAYS_INLINE void pw_mpi_fill(const struct pw_mpi_call *c, uint8_t flags, uint32_t comm,
                                  struct pw_record *record)
{
    const uint64_t word = PW_REC_COMM | (uint64_t)(uint8_t)(c->flags | flags) << 8 |
                          (uint64_t)c->op << 16 | (uint64_t)c->stack << 32;
    record->start = c->start;
    __builtin_memcpy(&record->type, &word, sizeof(word));
    record->comm.comm = comm;
    record->comm.peer = -1;
    record->comm.tag = 0;
    record->comm.seq = 0;
    record->comm.sent_bytes = record->comm.recv_bytes = 0;
    record->comm.request = record->comm.begun = 0;
}

/* ---- bytes ---- */

/* Size of one element of `type` in bytes; 0 if MPI does not know the type. The _slow function asks
 * MPI; the other one remembers the thread's last type. */
int64_t pw_mpi_type_size_slow(MPI_Datatype type);

PW_ALWAYS_INLINE int64_t pw_mpi_type_size(MPI_Datatype type)
{
    const struct pw_mpi_last *last = &pw_mpi_last;
    if (__builtin_expect(last->type == type && last->epoch == pw_mpi_epoch_now(), 1))
        return last->type_size;
    return pw_mpi_type_size_slow(type);
}

/* Sets the bytes in `record` that this rank sends and receives in a collective, or in a one-sided
 * operation. `large`: the arrays of counts have elements of type MPI_Count. */
void pw_mpi_collective_bytes(const struct pw_mpi_call *c, bool large, struct pw_mpi_comm *comm,
                             struct pw_record *record);
void pw_mpi_one_sided_bytes(const struct pw_mpi_call *c, struct pw_record *record);

/* ---- requests and statuses ---- */

/* Copies the handles before a call that completes requests, because the call overwrites them. */
void pw_mpi_save_requests(struct pw_mpi_call *c, int count, const MPI_Request *requests);

/* Returns the array of statuses to pass to MPI. This is `given`, or an array of the probe when the
 * application passes MPI_STATUSES_IGNORE and there are open operations whose received bytes are
 * known only from their statuses. It is `given` in this case, too, when memory is short. */
MPI_Status *pw_mpi_statuses(struct pw_mpi_call *c, MPI_Status *given);

#endif
