/* Tables of fixed size of the events that NCCL has begun and not ended, and the handles that NCCL
 * has for them. Used by nccl_event.c. In-app code, without locks or allocation.
 *
 * A handle is not a pointer but a number and a kind. So a handle of an event that is gone, or of
 * another process (PXN), finds nothing, not a wrong event. */
#ifndef PW_NCCL_SLOT_H
#define PW_NCCL_SLOT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum pw_nccl_kind {
    PW_NCCL_IS_NOTHING,
    PW_NCCL_IS_COMM,    /* the number is a communicator's; see nccl_event.h */
    PW_NCCL_IS_PLAN,    /* has no slot, only a number */
    PW_NCCL_IS_GROUP,   /* as for a plan */
    PW_NCCL_IS_LAUNCH,  /* the number is the communicator's */
    PW_NCCL_IS_CALL,    /* a function that the program called */
    PW_NCCL_IS_TASK,    /* a collective or message as it is enqueued */
    PW_NCCL_IS_CHANNEL, /* a channel of a kernel */
    PW_NCCL_IS_PROXY,   /* the work of a proxy thread for a task and one peer */
    PW_NCCL_IS_STEP,    /* a step of a proxy's work */
    PW_NCCL_KINDS
};

/* Reasons for which a proxy thread waits. */
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
    uint64_t id;             /* number of the operation; 0: not known */
    uint32_t comm;           /* the communicator's number in records; UINT32_MAX: none */
    uint32_t seq;            /* 1 + sequence number on the communicator; 0: none */
    int32_t peer;            /* partner or root; -1: none */
    uint16_t op, channels;
    uint8_t flags; /* PW_NCCL_CALL_* */
    uint8_t is_done, has_call, is_replay, state, is_send;
    uint8_t is_whole; /* a collective that NCCL reports as messages */
    uint32_t element_bytes;
    uint32_t datatype, algorithm, protocol; /* names */
    uint32_t stream;
    int64_t count;
    uint64_t plan, launch_start, launch_end;
    uint64_t timer, timer_end;
    uint64_t since, wait[PW_NCCL_WAITS]; /* ticks */
    uint64_t bytes, above;               /* above: number of the proxy's event */
    uint64_t part;                       /* for is_whole: number of the task of the messages */
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

/* Returns a new number for an event without a slot. */
uint64_t pw_nccl_number_next(void);

/* Returns a slot for a new event, zeroed except its number; NULL when all tried slots are in use. A
 * call or task replaces the oldest one: slots of calls and tasks are not freed at their end,
 * because their parts come later, at an unknown time. */
struct pw_nccl_slot *pw_nccl_slot_take(enum pw_nccl_kind kind);

/* Returns the slot of the handle's event; NULL when it is gone. */
struct pw_nccl_slot *pw_nccl_slot_find(const void *handle);

/* Returns the number of the operation to which the event belongs; 0: not known. */
uint64_t pw_nccl_slot_id(const void *handle);

/* Frees the slot of an event that has ended. */
void pw_nccl_slot_end(enum pw_nccl_kind kind, struct pw_nccl_slot *slot);

/* Returns the number of events that got no slot, or lost it before their end. */
uint64_t pw_nccl_slot_refused(void);

#endif
