/* What is under way: events that NCCL has begun, in tables of fixed size, and the handles by which
 * it names them. In-app code, without locks or memory of its own making.
 *
 * A handle is no pointer but a number and a kind, so that one that NCCL still has after the event
 * is gone, or that is another process's (PXN), finds nothing instead of something else. */
#ifndef PW_NCCL_SLOT_H
#define PW_NCCL_SLOT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum pw_nccl_kind {
    PW_NCCL_IS_NOTHING,
    PW_NCCL_IS_COMM,    /* the number is a communicator's; see nccl_comm.h */
    PW_NCCL_IS_PLAN,    /* the number is all there is of it */
    PW_NCCL_IS_GROUP,   /* as for a plan */
    PW_NCCL_IS_LAUNCH,  /* the number is the communicator's */
    PW_NCCL_IS_CALL,    /* a function that the program called */
    PW_NCCL_IS_TASK,    /* a collective or message as it is enqueued */
    PW_NCCL_IS_CHANNEL, /* a channel of a kernel */
    PW_NCCL_IS_PROXY,   /* what a proxy thread does for a task with one peer */
    PW_NCCL_IS_STEP,    /* a step of that */
    PW_NCCL_KINDS
};

/* What a proxy thread waits for. */
enum pw_nccl_wait {
    PW_NCCL_WAIT_GPU,
    PW_NCCL_WAIT_PEER,
    PW_NCCL_WAIT_NETWORK,
    PW_NCCL_WAIT_FLUSH,
    PW_NCCL_WAITS
};

struct pw_nccl_slot {
    _Atomic uint64_t number; /* 0: free */
    uint64_t start;          /* ticks */
    uint64_t id;             /* of the operation, 0: not known */
    uint32_t comm;           /* number of the communicator in records, UINT32_MAX none */
    uint32_t seq;            /* 1 + its number on the communicator, 0 none */
    int32_t peer;            /* or root, -1 none */
    uint16_t op, channels;
    uint8_t flags; /* PW_NCCL_CALL_* */
    uint8_t is_done, has_call, is_replay, state, is_send;
    uint8_t is_whole; /* a call that NCCL reports by its messages */
    uint32_t element_bytes;
    uint32_t datatype, algorithm, protocol; /* names */
    uint32_t stream;
    int64_t count;
    uint64_t plan, launch_start, launch_end;
    uint64_t timer, timer_end;
    uint64_t since, wait[PW_NCCL_WAITS]; /* ticks */
    uint64_t bytes, above;               /* above: number of the proxy's event */
    uint64_t part;                       /* of a whole: number of the task of its messages */
};

static inline void *pw_nccl_handle(enum pw_nccl_kind kind, uint64_t number)
{
    return (void *)(uintptr_t)(number << 4 |
                               (uint64_t)kind); /* NOLINT(performance-no-int-to-ptr) */
}

static inline enum pw_nccl_kind pw_nccl_handle_kind(const void *handle)
{
    return (enum pw_nccl_kind)((uintptr_t)handle & 15);
}

static inline uint64_t pw_nccl_handle_number(const void *handle)
{
    return (uint64_t)(uintptr_t)handle >> 4;
}

/* A fresh number, for kinds that have no slot. */
uint64_t pw_nccl_number_next(void);

/* A slot for a new event, all zero but for its number; NULL when all that could be tried are in
 * use. Calls and tasks take the place of the oldest: what belongs to them comes after their end, at
 * an unknown time. */
struct pw_nccl_slot *pw_nccl_slot_take(enum pw_nccl_kind kind);

/* The slot that the handle means, or NULL. */
struct pw_nccl_slot *pw_nccl_slot_find(const void *handle);

/* The operation that the handle's event belongs to, 0 not known. */
uint64_t pw_nccl_slot_id(const void *handle);

/* The event is over. */
void pw_nccl_slot_end(enum pw_nccl_kind kind, struct pw_nccl_slot *slot);

/* Events that had no slot, or lost it before their end. */
uint64_t pw_nccl_slot_refused(void);

#endif
