/* The shared-memory segment of one rank: a header and rings, one per recording thread. The
 * collector creates it under an unguessable name with mode 0600; the probe in the application maps
 * it, and a recovery can after both are gone. Used on both sides: nothing here prints or allocates
 * from the heap. Everything is read by another process while its writer may die at any instruction,
 * so each field is written so that a reader needs no cleanup by the writer.
 *
 * The file is sparse. tmpfs kills a process that touches a page for which it has no memory
 * (SIGBUS), so memory is asked for first, and the header says what has been given: the header
 * itself when it has its magic number, a ring when its entry has a capacity, the pool when
 * `pool_bytes` is not 0. Nothing else may be mapped. */
#ifndef PW_RANK_RING_SEGMENT_H
#define PW_RANK_RING_SEGMENT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schedule.h"
#include "rank/ring/record.h"
#include "rank/ring/testclock.h"

enum {
    PW_SEGMENT_VERSION = 13,
    PW_SEGMENT_PAGE = 4096,
    PW_SEGMENT_HEADER = 2 * PW_SEGMENT_PAGE,
    PW_RING_CONTROL = 3 * PW_SEGMENT_PAGE, /* before a ring's records */
    PW_MAX_DEPTH = 128,                    /* open ranges of a thread */
    PW_MAX_RINGS = 256,
    PW_SEGMENT_NAME_SIZE = 128,
    PW_SHARED_COMMS = 512,   /* communicators whose collectives are counted in the header */
    PW_POOL_BYTES = 9 << 20, /* behind the rings; rank/ring/pool.h */
};
#define PW_SEGMENT_MAGIC 0x31304750524f4650ull

/* The variable through which the probe learns the segment's name. */
#define PW_SEGMENT_VARIABLE "PROFWRAP_SEGMENT"

enum pw_ring_state {
    PW_RING_NONE = 0, /* no memory behind it yet */
    PW_RING_READY,    /* it has memory, and is free */
    PW_RING_OWNED,    /* a thread writes it */
    PW_RING_RELEASED, /* its thread has ended; another may take it over */
};

/* What a ring's state holds of the process that owns it, above its lowest byte. */
enum { PW_RING_STATE_BITS = 8, PW_RING_STATE_MASK = (1 << PW_RING_STATE_BITS) - 1 };

/* Whether all ranks synchronise their clocks over MPI. */
enum pw_sync_decision { PW_SYNC_UNDECIDED = 0, PW_SYNC_YES, PW_SYNC_NO };

/* Stands for a call while a thread is in the probe itself, so that a signal handler which
 * interrupts it there records nothing in the middle of its record. */
#define PW_CALL_PROBE UINT32_MAX

/* The call a thread is in: op is 0 when it is in none. Of the rest only what this operation's
 * function has as parameters is its own; what else is there is left from earlier calls. A
 * completion call of one request that is known shows what it waits for: `awaited`, the index of its
 * communicator instead of a handle, a world rank, and of a collective its number instead of a tag.
 */
struct pw_open_call {
    _Atomic uint64_t start;
    _Atomic uint32_t op;
    _Atomic int32_t peer; /* rank in the communicator: partner (of a Sendrecv, the source), root */
    _Atomic uint64_t handle; /* of the communicator, window or file, as the application has it */
    _Atomic int32_t tag;
    _Atomic uint32_t awaited;   /* of completion calls: the operation; 0 several, or not known */
    _Atomic uint32_t signalled; /* by the collector: there is an order that takes effect at once */
};

/* An order to begin or end recording, from outside the program. It is obeyed at the first step mark
 * from `step` on, if it is committed by then; at once when `step` is -1. */
struct pw_order {
    _Atomic uint32_t id; /* not 0; written last. 0: there is none */
    _Atomic uint32_t starts;
    _Atomic uint32_t cause; /* enum pw_opened */
    _Atomic int64_t step;
};

enum { PW_ORDERS = 8 };

/* What decides when the program records, and what it shows of it. */
struct pw_control {
    struct pw_schedule schedule;
    uint32_t starts_paused;
    _Atomic uint32_t state; /* enum pw_window_state, by the program */
    _Atomic int64_t step;   /* that it marked last, -1 none */
    _Atomic uint64_t marks; /* steps that it marked */
    /* Orders that hold, ever, and those of them that the program obeyed, one after the other; order
     * n is at n % PW_ORDERS. The one at `committed` does not hold yet, and can be taken back. */
    _Atomic uint32_t committed, obeyed;
    struct pw_order orders[PW_ORDERS];
};

/* A range that was begun and not ended: word by word the record that it will be. It lies here so
 * that it is known of a program that was killed; and in words, since what is stored in one width
 * and loaded in another soon after costs more than all the rest. Most ranges have little more than
 * a name: with the bit PW_RANGE_PLAIN in `key`, which then has the record's type and the domain,
 * too, no other word is written than it, `start`, `name` and `allocated`. */
struct pw_open_range {
    uint64_t start;     /* 0: it is not recorded */
    uint64_t key;       /* who alone may end it (rank/probe/ranges.h); in the record: its end */
    uint64_t head;      /* type, flags, op, stack */
    uint64_t name;      /* name, depth, kind */
    uint64_t place;     /* domain, category */
    uint64_t extra;     /* shapes, sequence */
    uint64_t allocated; /* by the thread until it began; in the record: alloc_bytes */
    uint64_t payload;
};
static_assert(sizeof(struct pw_open_range) == sizeof(struct pw_record), "it becomes a record");

enum {
    PW_RANGE_TYPE_SHIFT = 24, /* what is below is the key */
    PW_RANGE_PLAIN = 1 << 30,
    PW_RANGE_DOMAIN_SHIFT = 32,
};

#define PW_RANGE_PLAIN_KEY(key, type, domain)                                     \
    ((uint64_t)(key) | (uint64_t)(type) << PW_RANGE_TYPE_SHIFT | PW_RANGE_PLAIN | \
     (uint64_t)(domain) << PW_RANGE_DOMAIN_SHIFT)

/* Writes what a plain range left out; the key last, should the program be killed meanwhile. */
static inline void pw_open_range_settle(struct pw_open_range *range)
{
    const uint64_t key = range->key;
    if (!(key & PW_RANGE_PLAIN))
        return;
    range->head = (key & (PW_RANGE_PLAIN - 1)) >> PW_RANGE_TYPE_SHIFT;
    range->place = key >> PW_RANGE_DOMAIN_SHIFT;
    range->extra = range->payload = 0;
    atomic_signal_fence(memory_order_seq_cst);
    range->key = key & ((1 << PW_RANGE_TYPE_SHIFT) - 1);
}

/* The control pages of a ring; the records follow them. Each group has a cache line of its own: the
 * producer must not share one with the consumer. */
struct pw_ring_shared {
    _Alignas(64) _Atomic uint64_t head; /* records ever committed: written by the producer */
    /* Records dropped, by enum pw_lost, and not yet marked in-band; pw_ring_loss_is_marked(). */
    _Atomic uint64_t lost[PW_LOST_KINDS];
    _Atomic uint64_t lost_start, lost_end;
    _Alignas(64) struct pw_open_call open;
    _Atomic uint64_t lost_marked;          /* the head from which `lost` is marked, 0 unknown yet */
    _Atomic uint64_t wait_start, wait_end; /* waiting for room, not yet marked; 0: none, still */
    _Atomic uint64_t nested; /* calls made inside another and therefore not recorded, ever */
    _Alignas(64) _Atomic uint64_t tail; /* records ever consumed: written by the collector */
    _Alignas(64) _Atomic int32_t tid;
    /* Written by the producer: ranges that its thread is in, innermost last; those past
     * PW_MAX_DEPTH are counted only. Lower half of `depth`: how many. Upper half: inside of those,
     * ranges begun while recording was paused, of which no more is known than that. A phase of
     * profwrap.h is in none of them: its start is 0 when there is none. */
    _Alignas(64) _Atomic uint64_t depth;
    _Alignas(64) struct pw_open_range phase;
    struct pw_open_range ranges[PW_MAX_DEPTH];
};

/* What the header says of a ring. */
struct pw_ring_entry {
    _Atomic uint32_t state;   /* enum pw_ring_state, and the owner's generation */
    _Atomic uint32_t records; /* capacity, a power of two, for good; 0: it has no memory */
};

struct pw_segment_shared {
    uint64_t magic;
    uint32_t version;
    uint32_t uid;
    uint64_t ring_records; /* capacity of a ring at most, a power of two */
    uint64_t ring_stride;  /* bytes from one ring to the next */
    uint64_t clock_domain; /* hash of boot id and time namespace */
    uint32_t tick_source;
    uint32_t level;
    uint32_t activities;
    uint32_t stack_depth; /* 0 .. PW_MAX_STACK */
    uint32_t waits;       /* 1: who finds a ring full waits for the collector */
    struct pw_testclock test_clock;
    _Atomic int32_t tool_pid;     /* the collector; another when one was killed */
    _Atomic int32_t guard_pid;    /* who starts another then */
    _Atomic int32_t owner_pid;    /* the application process that records, 0 before the first */
    _Atomic uint32_t nrings;      /* rings ever used are 0 .. nrings-1 */
    _Atomic uint32_t pool_bytes;  /* of the pool that have memory, 0 none */
    _Atomic int64_t memory_bytes; /* that rings may still take before they are made small */
    _Atomic uint32_t nthreads;
    _Atomic uint32_t generation; /* processes, one after the other, that have recorded */
    /* Calls that found no ring to record in (no descriptor, no memory, all taken), and when. */
    _Atomic uint64_t no_ring, no_ring_start, no_ring_end;
    _Atomic uint32_t wake;           /* futex: the collector sleeps on it */
    _Atomic uint32_t sleeping;       /* 1 while it does */
    _Atomic uint32_t sync_requested; /* 1 from when the application enters MPI_Init */
    _Atomic uint32_t sync_decision;  /* enum pw_sync_decision, the same on every rank */
    _Atomic uint32_t gpu_untimed;    /* 1: CUPTI will not say when kernels ran */
    _Atomic uint32_t gpu_processes;  /* that started CUDA while another one recorded */
    struct pw_control control;
    /* By index of the communicator: collectives that its owner has left, or begun if nonblocking.
     * Written by the application. */
    _Alignas(64) _Atomic uint32_t collectives[PW_SHARED_COMMS];
    struct pw_ring_entry rings[PW_MAX_RINGS];
};

static_assert(sizeof(struct pw_segment_shared) <= PW_SEGMENT_HEADER, "the header has its pages");
static_assert(sizeof(struct pw_ring_shared) <= PW_RING_CONTROL, "a ring's control has its pages");

/* Creates a segment whose rings hold at most `ring_bytes` (rounded to a power of two of records)
 * and writes its name, with the rank in it for people. The caller detaches and unlinks it. 0 or
 * -errno.
 */
int pw_segment_create(int rank, uint64_t ring_bytes, char name[PW_SEGMENT_NAME_SIZE],
                      struct pw_segment_shared **out);

/* Maps an existing segment's header. -EPERM when it is another user's or open to others, -EPROTO
 * when it is none of ours, of another version, or was never finished. In-app safe. */
int pw_segment_attach(const char *name, struct pw_segment_shared **out);

void pw_segment_detach(struct pw_segment_shared *segment);

/* Gives ring `index` memory, so that no later store into it can fail, and makes it READY if it was
 * NONE. It is smaller than the segment's rings may be where memory is short. In-app safe. 0 or
 * -errno (-ENOSPC: shared memory is full, but for what is left to the program). */
int pw_segment_allocate_ring(const char *name, struct pw_segment_shared *segment, int index);

/* Maps ring `index`, of `*records` records. The mapping stays valid until it is unmapped, whatever
 * happens to the name. In-app safe. 0 or -errno (-ENOENT: it has no memory; -EPROTO: the header's
 * numbers do not fit each other or the file). */
int pw_segment_map_ring(const char *name, const struct pw_segment_shared *segment, int index,
                        struct pw_ring_shared **out, uint64_t *records);

void pw_segment_unmap_ring(struct pw_ring_shared *ring, uint64_t records);

/* Gives memory to `bytes` of the place behind all rings, where rank/ring/pool.h lives, unless it
 * has it. In-app safe. 0 or -errno. */
int pw_segment_allocate_pool(const char *name, struct pw_segment_shared *segment, size_t bytes);

/* Maps `bytes` of it. In-app safe. 0 or -errno (-ENOENT: so much has no memory). */
int pw_segment_map_pool(const char *name, const struct pw_segment_shared *segment, size_t bytes,
                        void **out);

/* Wakes the collector if it sleeps. In-app safe. */
void pw_segment_wake(struct pw_segment_shared *segment);

/* True when what `lost` counts is told by a record in the ring: its producer died between writing
 * that and clearing the counts. */
static inline int pw_ring_loss_is_marked(const struct pw_ring_shared *ring)
{
    uint64_t marked = atomic_load(&ring->lost_marked);
    return marked != 0 && atomic_load(&ring->head) >= marked;
}

static inline struct pw_record *pw_ring_records(struct pw_ring_shared *ring)
{
    return (struct pw_record *)((char *)ring + PW_RING_CONTROL);
}

#endif
