/* The table of open nonblocking operations. It maps a request's handle to the record that is
 * written when the operation completes. Called by the wrappers. In-app, by the rules of mpi_call.h.
 * Each function takes constant time, independent of the number of open requests. Memory grows with
 * the largest number of requests that were open at the same time, and is reused.
 *
 * The table has two parts. While only one thread uses MPI, new operations are entered in the
 * *front*, an array with one row per hash value. All other operations, such as persistent ones, are
 * in a hash table behind it. */
#ifndef PW_MPI_REQUEST_H
#define PW_MPI_REQUEST_H

#include <stdatomic.h>

#include "collectors/mpi/mpi_library.h"
#include "collectors/mpi/mpi_lock.h"
#include "collectors/mpi/mpi_requeststate.h"
#include "core/ops.h"
#include "rank/ring/record.h"

struct pw_mpi_request {
    _Alignas(64) struct pw_record record; /* without the values that completion adds */
    MPI_Request handle;
    pw_mpi_key comm; /* for the world rank of a received message's source */
    struct pw_mpi_request *next;
    union {
        struct { /* MPI_Comm_idup: address of the new handle; if it is NULL, `made` is the handle */
            MPI_Comm *newcomm;
            MPI_Comm made;
        };
        struct { /* MPI_Isendrecv: the send; `record` is the receive */
            int64_t sent_bytes;
            int32_t sent_peer, sent_tag;
        };
    };
    uint32_t id;    /* of the operation, unique in the process */
    uint32_t state; /* enum pw_op_class, and PW_REQUEST_* */
};
static_assert(sizeof(struct pw_mpi_request) == PW_REQUEST_BYTES, "two cache lines");

/* Counts over all entries: those that need a status, and persistent ones. With several threads,
 * changed under the table's lock only. */
struct pw_mpi_request_counts {
    _Atomic int receives, persistents;
    _Atomic uint32_t last_id;
};
extern struct pw_mpi_request_counts pw_mpi_request_counts __attribute__((visibility("hidden")));

/* The front, used while only one thread uses MPI: one row per hash value. When a new operation
 * needs a row that is in use, the old operation is moved from the row to the hash table. So recent
 * operations are in the front, even if many are open. */
extern struct pw_mpi_request pw_mpi_request_front[PW_REQUEST_FRONT]
    __attribute__((visibility("hidden")));

/* Adds `by` to a counter without a locked instruction: only one thread uses MPI, or the caller has
 * the table's lock. */
static inline void pw_mpi_request_count(_Atomic int *counter, int by)
{
    int value = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, value + by, memory_order_relaxed);
}

static inline uint32_t pw_mpi_request_next_id(void)
{
    _Atomic uint32_t *last = &pw_mpi_request_counts.last_id;
    uint32_t id = atomic_load_explicit(last, memory_order_relaxed) + 1;
    atomic_store_explicit(last, id, memory_order_relaxed);
    return id;
}

/* The row of the front for `handle`. */
static inline struct pw_mpi_request *pw_mpi_request_row(MPI_Request handle)
{
    uint64_t hash = PW_MPI_NUMBER(handle) * 0x9e3779b97f4a7c15ull;
    return &pw_mpi_request_front[hash >> (64 - 10)];
}
static_assert(PW_REQUEST_FRONT == 1 << 10, "the hash has ten bits");

/* The state of a new request. */
static inline uint32_t pw_mpi_request_state(enum pw_op_class cls, int persistent)
{
    int needs_status = cls == PW_CLASS_RECV || cls == PW_CLASS_IO;
    return (uint32_t)cls | (needs_status ? PW_REQUEST_NEEDS_STATUS : 0) |
           (persistent ? PW_REQUEST_PERSISTENT : 0);
}

static inline int pw_mpi_request_needs_status(uint32_t state)
{
    return (state & PW_REQUEST_NEEDS_STATUS) != 0;
}

/* Enters `handle` in a row of the front that is not held. Only while one thread uses MPI. */
static inline void pw_mpi_request_use_row(struct pw_mpi_request *row, MPI_Request handle,
                                          uint32_t state)
{
    if (pw_mpi_request_needs_status(state))
        pw_mpi_request_count(&pw_mpi_request_counts.receives, 1);
    row->handle = handle;
    row->state = state | PW_REQUEST_OPEN | PW_REQUEST_HELD;
    row->id = pw_mpi_request_next_id();
}

/* The out-of-line parts of pw_mpi_request_add(), _take() and _free(), for requests that are not in
 * the front. pw_mpi_request_move_back() moves an operation from a row of the front to the hash
 * table, unless it has been taken; returns whether the row is free now. */
struct pw_mpi_request *pw_mpi_request_add_slow(MPI_Request handle, enum pw_op_class cls,
                                               int persistent);
int pw_mpi_request_move_back(struct pw_mpi_request *row);
struct pw_mpi_request *pw_mpi_request_take_slow(MPI_Request handle, uint64_t before);
void pw_mpi_request_free_slow(struct pw_mpi_request *request);

/* Makes an entry for a new operation of class `cls` with the request `handle`. The entry's `id` is
 * unique in the process; the caller must set its record and communicator. Returns NULL when memory
 * is short; the operation is then not recorded. If there is an older entry with the same handle
 * (MPI reuses handles of freed requests), the new entry is found instead. Must not be called for
 * the handle that MPI returns for all operations that are already complete. */
static inline struct pw_mpi_request *pw_mpi_request_add(MPI_Request handle, enum pw_op_class cls,
                                                        int persistent)
{
    struct pw_mpi_request *row = pw_mpi_request_row(handle);
    uint32_t before = row->state, state = pw_mpi_request_state(cls, 0);
    /* A row with the same handle can be used: its operation ended without being seen. */
    int usable =
        !(before & PW_REQUEST_HELD) || ((before & PW_REQUEST_OPEN) && row->handle == handle);
    if (__builtin_expect(pw_mpi_threads || persistent || !usable, 0)) {
        if (pw_mpi_threads || persistent || !pw_mpi_request_move_back(row))
            return pw_mpi_request_add_slow(handle, cls, persistent);
        before = 0;
    }
    if (__builtin_expect((before & PW_REQUEST_HELD) && pw_mpi_request_needs_status(before), 0))
        pw_mpi_request_count(&pw_mpi_request_counts.receives, -1);
    pw_mpi_request_use_row(row, handle, state);
    return row;
}

/* Removes and returns the newest entry of `handle` that was begun before `before` (ticks), the time
 * at which the completing call was entered; NULL if there is none. (While the completing call
 * returns, MPI may give the same handle to another thread's new operation.) The caller must call
 * pw_mpi_request_free() afterwards. */
static inline struct pw_mpi_request *pw_mpi_request_take(MPI_Request handle, uint64_t before)
{
    struct pw_mpi_request *row = pw_mpi_request_row(handle);
    uint32_t state = row->state;
    if (__builtin_expect(!(state & PW_REQUEST_OPEN) || row->handle != handle, 0))
        return pw_mpi_request_take_slow(handle, before);
    row->state = state & ~(uint32_t)PW_REQUEST_OPEN;
    if (pw_mpi_request_needs_status(state))
        pw_mpi_request_count(&pw_mpi_request_counts.receives, -1);
    return row;
}

static inline void pw_mpi_request_free(struct pw_mpi_request *request)
{
    if (__builtin_expect(request->state & PW_REQUEST_HELD, 1))
        request->state &= ~(uint32_t)PW_REQUEST_HELD;
    else
        pw_mpi_request_free_slow(request);
}

/* Returns the entry of a persistent request, which stays in the table; NULL when `handle` is not a
 * persistent request. */
struct pw_mpi_request *pw_mpi_request_find(MPI_Request handle);

/* Whether there is any persistent request. If there is none, no request keeps its handle after
 * completion. */
static inline int pw_mpi_request_persistents(void)
{
    return atomic_load_explicit(&pw_mpi_request_counts.persistents, memory_order_relaxed) > 0;
}

/* Shows in the segment where the table is, for collectors. Called by MPI_Init. */
void pw_mpi_request_show_places(void);

/* Number of open operations, without persistent ones. Reads all rows of the front. */
int pw_mpi_request_count_open(void);

/* Returns a new operation id, for an operation without an entry, or for a persistent request that
 * is started again. */
uint32_t pw_mpi_request_id(void);

/* Whether there are open operations whose received bytes are known from the status only: receives,
 * and reads and writes of files. */
static inline int pw_mpi_request_receives(void)
{
    return atomic_load_explicit(&pw_mpi_request_counts.receives, memory_order_relaxed) > 0;
}

#endif
