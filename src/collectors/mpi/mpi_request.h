/* The nonblocking operations under way: from a request's handle to the record that will be written
 * when the operation completes. Called by the wrappers. In-app, by the rules of mpi_call.h. An
 * operation takes constant time, whatever the number of open requests; memory grows with the
 * largest number that was ever open, and is reused. */
#ifndef PW_MPI_REQUEST_H
#define PW_MPI_REQUEST_H

#include <stdatomic.h>

#include "collectors/mpi/mpi_lock.h"
#include "collectors/mpi/mpi_real.h"
#include "core/ops.h"
#include "rank/ring/record.h"

/* In one word, so that the usual request is known by one comparison. */
enum {
    PW_REQUEST_CLASS = 0xff,           /* enum pw_op_class */
    PW_REQUEST_PERSISTENT = 1 << 8,    /* it stays in the table */
    PW_REQUEST_ACTIVE = 1 << 9,        /* of a persistent one: started */
    PW_REQUEST_MAKES_COMM = 1 << 10,   /* MPI_Comm_idup: completion puts its handle at newcomm */
    PW_REQUEST_NEEDS_STATUS = 1 << 11, /* counted among those */
    PW_REQUEST_OPEN = 1 << 12,         /* of a row of the front: entered and not taken */
    PW_REQUEST_QUIET = 1 << 14,        /* begun while recording was paused */
    PW_REQUEST_HELD = 1 << 13,         /* of a row of the front: open, or taken and not freed */
    PW_REQUEST_TWO_PARTS = 1 << 15,    /* MPI_Isendrecv: completion writes both halves */
};

struct pw_mpi_request {
    _Alignas(64) struct pw_record record; /* complete but for what only completion tells */
    MPI_Request handle;
    MPI_Comm comm; /* where a received message's source is to be looked up */
    struct pw_mpi_request *next;
    union {
        struct { /* of MPI_Comm_idup: where the new handle will be, or when NULL, it */
            MPI_Comm *newcomm;
            MPI_Comm made;
        };
        struct { /* of MPI_Isendrecv: the half that `record` is not */
            int64_t sent_bytes;
            int32_t sent_peer, sent_tag;
        };
    };
    uint32_t id;    /* of the operation, unique in the process */
    uint32_t state; /* enum pw_op_class, and PW_REQUEST_* */
};
static_assert(sizeof(struct pw_mpi_request) == 128, "two cache lines");

/* Kept for all entries; changed under the table's lock where there are threads. */
struct pw_mpi_request_counts {
    _Atomic int receives, persistents;
    _Atomic uint32_t last_id;
};
extern struct pw_mpi_request_counts pw_mpi_request_counts __attribute__((visibility("hidden")));

/* In front of the table, while only one thread uses MPI: a row per hash value. What has it goes to
 * the table when another wants it, so that what was begun lately is in front, however much is open.
 */
enum { PW_REQUEST_FRONT = 1024 };
extern struct pw_mpi_request pw_mpi_request_front[PW_REQUEST_FRONT]
    __attribute__((visibility("hidden")));

/* Not one locked instruction: the table's lock, where there is one to take, is held. */
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

static inline struct pw_mpi_request *pw_mpi_request_row(MPI_Request handle)
{
    uint64_t hash = (uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15ull;
    return &pw_mpi_request_front[hash >> (64 - 10)];
}
static_assert(PW_REQUEST_FRONT == 1 << 10, "the hash has ten bits");

/* The state of a new one. */
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

/* Enters `handle` in a row that is not held: without threads. */
static inline void pw_mpi_request_use_row(struct pw_mpi_request *row, MPI_Request handle,
                                          uint32_t state)
{
    if (pw_mpi_request_needs_status(state))
        pw_mpi_request_count(&pw_mpi_request_counts.receives, 1);
    row->handle = handle;
    row->state = state | PW_REQUEST_OPEN | PW_REQUEST_HELD;
    row->id = pw_mpi_request_next_id();
}

/* pw_mpi_request_add(), _take() and _free() where the front does not serve; and moves an operation
 * from a row to the table, unless it has been taken: whether the row is free now. */
struct pw_mpi_request *pw_mpi_request_add_slow(MPI_Request handle, enum pw_op_class cls,
                                               int persistent);
int pw_mpi_request_move_back(struct pw_mpi_request *row);
struct pw_mpi_request *pw_mpi_request_take_slow(MPI_Request handle, uint64_t before);
void pw_mpi_request_free_slow(struct pw_mpi_request *request);

/* Makes an entry under `handle` for the caller to fill: its record and communicator are not set,
 * `id` is a number of its own, `cls` is the class of the operation. NULL when memory is short: the
 * operation is then not recorded. A handle that is already there (a freed request's number, reused)
 * hides the older entry. Never for the handle that complete operations share. */
static inline struct pw_mpi_request *pw_mpi_request_add(MPI_Request handle, enum pw_op_class cls,
                                                        int persistent)
{
    struct pw_mpi_request *row = pw_mpi_request_row(handle);
    uint32_t before = row->state, state = pw_mpi_request_state(cls, 0);
    /* The same handle again: the operation that had it ended unseen. */
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

/* Removes and returns the entry of `handle`, or NULL: the newest that had begun by `before`
 * (ticks), when the completing call was entered. It is the caller's until pw_mpi_request_free(). */
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

/* The entry of a persistent request, which stays in the table; NULL when `handle` is none. */
struct pw_mpi_request *pw_mpi_request_find(MPI_Request handle);

/* Whether there is any persistent request: only then can a completed one keep its handle. */
static inline int pw_mpi_request_persistents(void)
{
    return atomic_load_explicit(&pw_mpi_request_counts.persistents, memory_order_relaxed) > 0;
}

/* Operations under way, but for persistent ones; looks at all of the front. */
int pw_mpi_request_count_open(void);

/* A new operation's number, for one that has no entry or a persistent request that starts again. */
uint32_t pw_mpi_request_id(void);

/* Whether operations are open of which only the status tells what came: receives and files. */
static inline int pw_mpi_request_receives(void)
{
    return atomic_load_explicit(&pw_mpi_request_counts.receives, memory_order_relaxed) > 0;
}

#endif
