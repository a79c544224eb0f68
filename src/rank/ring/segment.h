/* The shared-memory segment of one rank: a header, one ring for each recording thread, and a pool.
 * The collector creates it under a random name with mode 0600. The probe in the application maps
 * it; `profwrap recover` can map it after both processes have ended. Used on both sides: nothing
 * here prints or allocates from the heap. The writer may die at any instruction, so readers must
 * always find usable values without any cleanup by the writer.
 *
 * The file is sparse. When tmpfs has no memory for a page, the kernel kills the process that
 * touches the page (SIGBUS). So memory is allocated first, and only then recorded in the header.
 * The magic number shows that the header itself has memory. A ring has memory when `records` in its
 * entry is not 0. The first `pool_bytes` bytes of the pool have memory. No other part of the file
 * may be mapped. */
#ifndef PW_RANK_RING_SEGMENT_H
#define PW_RANK_RING_SEGMENT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/callorder.h"
#include "core/schedule.h"
#include "rank/ring/record.h"
#include "rank/ring/testclock.h"

enum {
    PW_SEGMENT_VERSION = 24,
    PW_SEGMENT_PAGE = 4096,
    /* Parts of the file begin at multiples of this, so that each can be mapped: pages have 64 KiB
     * on some machines of aarch64. */
    PW_SEGMENT_ALIGN = 64 << 10,
    PW_SEGMENT_HEADER = 15 * PW_SEGMENT_PAGE,
    PW_RING_CONTROL = 3 * PW_SEGMENT_PAGE, /* bytes in front of a ring's records */
    PW_MAX_DEPTH = 128,                    /* open ranges of a thread that are stored */
    PW_MAX_RINGS = 256,
    /* Parts of a ring: the producer wakes the collector after each, and after smaller ones once
     * half of the ring is in use. */
    PW_RING_STEP = 8,
    PW_RING_STEP_FULL = 32,
    PW_SEGMENT_NAME_SIZE = 128,
    PW_SHARED_COMMS = 512,   /* communicators whose collectives are counted in the header */
    PW_ORDERED_COMMS = 256,  /* of these, the ones whose order is compared */
    PW_POOL_BYTES = 9 << 20, /* the pool, after the rings; rank/ring/pool.h */
};
#define PW_SEGMENT_MAGIC 0x31304750524f4650ull

/* The environment variable with the segment's name, for the probe. */
#define PW_SEGMENT_VARIABLE "PROFWRAP_SEGMENT"

enum pw_ring_state {
    PW_RING_NONE = 0, /* has no memory yet */
    PW_RING_READY,    /* has memory, and no owner yet */
    PW_RING_OWNED,    /* owned by the thread that writes it */
    PW_RING_RELEASED, /* its owner has ended; another thread may take it over */
};

/* pw_ring_entry.state: the lowest byte is an enum pw_ring_state, the upper bytes are the generation
 * of the process that owns the ring. */
enum { PW_RING_STATE_BITS = 8, PW_RING_STATE_MASK = (1 << PW_RING_STATE_BITS) - 1 };

/* Whether all ranks synchronise their clocks over MPI. PW_SYNC_NO also when that is not needed. */
enum pw_sync_decision { PW_SYNC_UNDECIDED = 0, PW_SYNC_YES, PW_SYNC_NO };

/* The value of pw_open_call.op while the thread is in the probe itself. A signal handler that
 * interrupts the probe sees it and records nothing, so that no record is written inside another. */
#define PW_CALL_PROBE UINT32_MAX

/* The call that a thread is in; op is 0 when it is in no call. A field is valid only when the
 * function has that parameter; the others have values of earlier calls.
 *
 * Exception: a completion call (MPI_Wait, ...) of one known request shows the operation that it
 * waits for. Then `awaited` is that operation, `handle` the index of its communicator, `peer` a
 * world rank, and `tag` the tag, or for a collective its number. */
struct pw_open_call {
    _Atomic uint64_t start;
    _Atomic uint32_t op;
    _Atomic int32_t peer;    /* rank in the communicator: partner (Sendrecv: source) or root */
    _Atomic uint64_t handle; /* of the communicator, window or file, as the application has it */
    _Atomic int32_t tag;
    _Atomic uint32_t awaited;   /* of a completion call: the operation; 0: several or unknown */
    _Atomic uint32_t signalled; /* 1: the thread must apply changes now. Set by the collector */
    _Atomic uint32_t signature; /* of a blocking collective (core/callorder.h); of MPI_Sendrecv: the
                                 * rank that it sends to */
};

/* What a thread awaits that is in no field of its open call. Written by the thread; read by the
 * collector when somebody asks what the thread waits for.
 *
 * A completion call (MPI_Waitall, ...) whose requests the open call does not describe shows where
 * the call's array of requests is, in the program's memory. It is of the call that began at
 * `start`. The collector reads the array, and the table of open requests
 * (struct pw_request_places), from the program's memory; so a call costs nothing for each request.
 *
 * `polls` is the sum, modulo 2^64, of the `poll_what` of all tests and probes that have completed
 * nothing: an odd hash of what was tested, and by which function. So a test costs one addition, and
 * who looks twice sees whether there were tests meanwhile, and whether they were all for the same
 * thing (pw_ringpage_count_polls()). A probe shows its parameters here, because it may be too cheap
 * to be an open call. */
struct pw_shown_requests {
    _Atomic uint64_t start;
    _Atomic uint64_t requests; /* address of the array, in the program's memory */
    _Atomic uint64_t polls, poll_what;
    _Atomic uint64_t handle;   /* of the communicator, of a probe; */
    _Atomic uint64_t peer_tag; /* its source in the upper half, its tag in the lower */
    _Atomic uint32_t count;    /* of the requests */
    _Atomic uint32_t poll_op;  /* enum pw_op: the test or probe that was last */
    /* Records of the language's runtime (PW_REC_RUNTIME) in the ring since it is there. They are no
     * progress of the thread: a loop of tests in Python collects garbage, too. */
    _Atomic uint64_t runtime;
};

/* The last error that MPI reported in a recorded call of the thread, which began at `start`. As
 * long as the thread is in that call, the error is fatal, or its handler has not returned. */
struct pw_shown_error {
    _Atomic uint64_t start; /* written last */
    _Atomic uint64_t time;
    _Atomic uint32_t error; /* enum pw_mpi_error */
};

/* Where the table of open requests is in the program's memory (collectors/mpi/mpi_request.h): two
 * arrays, and how an entry is laid out. All 0 before MPI_Init. */
struct pw_request_places {
    _Atomic uint64_t front;    /* address of PW_REQUEST_FRONT entries */
    _Atomic uint64_t segments; /* address of an array of addresses: of arrays of buckets */
    _Atomic uint64_t buckets;  /* address of their number, 32 bits */
    _Atomic uint32_t handle_bytes;
    _Atomic uint32_t handle_at, next_at, state_at; /* offsets in an entry */
};

/* The call of NCCL that a thread is in: the last one that was entered, as threads have no room for
 * it in their open calls, which NCCL's own calls of the probe need. */
struct pw_shown_nccl {
    _Atomic uint64_t start; /* ticks, written last; 0: none */
    _Atomic uint64_t uid;   /* of the communicator; 0: not known */
    _Atomic uint32_t op; /* enum pw_op; PW_OP_Init: it makes a communicator of all ranks of the job,
                          * PW_OP_Comm_create: another one */
    _Atomic int32_t size; /* of the communicator; 0 not known */
    _Atomic int32_t tid;
    _Atomic uint32_t inits; /* communicators of all ranks that the program has made */
};

/* A change to begin or end recording, from outside the program. When `step` is -1, the program
 * applies it at once. Otherwise the program applies it at the first mark of a step >= `step` that
 * comes after the commit of the change. */
struct pw_change {
    _Atomic uint32_t id;     /* written last; 0: no change */
    _Atomic uint32_t starts; /* 1: begin recording, 0: end it */
    _Atomic uint32_t cause;  /* enum pw_opened */
    _Atomic int64_t step;
};

enum { PW_CHANGES = 8 };

/* Decides when the program records, and shows whether it does. */
struct pw_control {
    struct pw_schedule schedule;
    uint32_t starts_paused;
    _Atomic uint32_t state; /* enum pw_window_state, written by the program */
    _Atomic int64_t step;   /* the step that the program marked last; -1: none */
    _Atomic uint64_t marks; /* number of steps that the program marked */
    /* How many changes have been committed, and how many applied, since the start. Change n,
     * counted from 0, is changes[n % PW_CHANGES]. Changes are applied in the order of their
     * numbers. The change with the number `committed` is only prepared: the program ignores it, and
     * the collector can withdraw it. */
    _Atomic uint32_t committed, applied;
    struct pw_change changes[PW_CHANGES];
};

/* A range that has begun and not ended. Its words are in the order of the record that it becomes
 * (pw_range_fill()). It is in shared memory, so that the collector can read it after the program
 * was killed. It is stored as whole words, because a load that is wider than the store before it is
 * slow.
 *
 * Most ranges have little more than a name. For such a plain range (bit PW_RANGE_PLAIN in `key`)
 * only `start`, `key`, `name` and `allocated` are valid; `key` then also has the record's type and
 * the domain. */
struct pw_open_range {
    uint64_t start;     /* 0: the range is not recorded */
    uint64_t key;       /* of the calls that can end it (rank/probe/ranges.h); in the record: end */
    uint64_t head;      /* type, flags, op, stack */
    uint64_t name;      /* name, depth, kind */
    uint64_t place;     /* domain, category */
    uint64_t extra;     /* shapes, sequence */
    uint64_t allocated; /* bytes, by the thread before it began; in the record: alloc_bytes */
    uint64_t payload;
};
static_assert(sizeof(struct pw_open_range) == sizeof(struct pw_record), "it becomes a record");

enum {
    PW_RANGE_TYPE_SHIFT = 24, /* the bits below are the key */
    PW_RANGE_PLAIN = 1 << 30,
    PW_RANGE_DOMAIN_SHIFT = 32,
};

#define PW_RANGE_PLAIN_KEY(key, type, domain)                                     \
    ((uint64_t)(key) | (uint64_t)(type) << PW_RANGE_TYPE_SHIFT | PW_RANGE_PLAIN | \
     (uint64_t)(domain) << PW_RANGE_DOMAIN_SHIFT)

/* Makes the word `name`. */
enum { PW_RANGE_KIND_SHIFT = 48 };

static inline uint64_t pw_range_name(uint32_t name, int depth, enum pw_kind kind)
{
    return name | (uint64_t)depth << 32 | (uint64_t)kind << PW_RANGE_KIND_SHIFT;
}

/* Writes the words that are missing in a plain range. The key is last, so that the range stays
 * valid when the program is killed meanwhile. */
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
    /* Records dropped, by enum pw_lost, that no record in the ring reports yet; see
     * pw_ring_loss_is_marked(). */
    _Atomic uint64_t lost[PW_LOST_KINDS];
    _Atomic uint64_t lost_start, lost_end;
    _Alignas(64) struct pw_open_call open;
    _Atomic uint64_t lost_marked; /* if head >= this, a record reports `lost`; 0: none does */
    /* The last wait for room, until a record reports it. Start 0: none; end 0: still waiting. */
    _Atomic uint64_t wait_start, wait_end;
    _Atomic uint64_t nested; /* calls not recorded: inside another one, or left by a jump */
    struct pw_shown_error error;
    _Alignas(64) struct pw_shown_requests shown;
    _Alignas(64) _Atomic uint64_t tail; /* records ever consumed: written by the collector */
    _Alignas(64) _Atomic int32_t tid;
    /* Open ranges of the thread, written by the producer. Lower half of `depth`: number of ranges
     * in `ranges`, innermost last; ranges beyond PW_MAX_DEPTH are counted but not stored. Upper
     * half: number of ranges inside these that began while recording was paused; they are only
     * counted. `phase` is the open phase of profwrap.h, which is in neither number; start
     * 0: none. */
    _Alignas(64) _Atomic uint64_t depth;
    _Alignas(64) struct pw_open_range phase;
    struct pw_open_range ranges[PW_MAX_DEPTH];
};

/* How far the program is with MPI. A launcher of MPI programs takes the end of a program in the
 * phases IN_USE and FINALIZING for a failure, also with exit code 0. UNSEEN: no probe was loaded.
 */
enum pw_mpi_phase {
    PW_MPI_UNSEEN = 0,
    PW_MPI_UNUSED,
    PW_MPI_IN_USE,
    PW_MPI_FINALIZING,
    PW_MPI_FINALIZED
};

/* The header's entry for a ring. */
struct pw_ring_entry {
    _Atomic uint32_t state;   /* see PW_RING_STATE_BITS */
    _Atomic uint32_t records; /* capacity, a power of two, never changed; 0: no memory */
};

/* The order of the collectives of a communicator; see core/callorder.h. */
struct pw_comm_order {
    _Atomic uint64_t hash[PW_CALLORDER_LEVELS];
    _Atomic uint32_t state; /* enum pw_callorder_state */
};

struct pw_segment_shared {
    uint64_t magic;
    uint32_t version;
    uint32_t uid;
    uint64_t ring_records; /* largest capacity of a ring, a power of two */
    uint64_t ring_stride;  /* bytes from one ring to the next */
    uint64_t clock_domain; /* hash of boot id and time namespace */
    uint32_t tick_source;
    uint32_t level;
    uint32_t activities;
    uint32_t stack_depth; /* 0 .. PW_MAX_STACK */
    int32_t world_size;   /* ranks of the job; 0 not known */
    uint32_t waits;       /* 1: a thread whose ring is full waits for the collector */
    struct pw_testclock test_clock;
    _Atomic int32_t tool_pid;     /* the collector; a new one after the first was killed */
    _Atomic int32_t guard_pid;    /* the process that starts the new collector */
    _Atomic int32_t owner_pid;    /* the process that records; 0: none yet */
    _Atomic uint32_t nrings;      /* rings 0 .. nrings-1 have been used */
    _Atomic uint32_t pool_bytes;  /* bytes of the pool that have memory */
    _Atomic int64_t memory_bytes; /* bytes left for rings of full size; later rings are small */
    _Atomic uint32_t nthreads;
    _Atomic uint32_t generation; /* number of processes that have recorded, one after another */
    /* Number of calls without a ring (no file descriptor, no memory, all in use); first and last
     * time of such a call. */
    _Atomic uint64_t no_ring, no_ring_start, no_ring_end;
    _Atomic uint32_t wake;           /* futex: the collector sleeps on it */
    _Atomic uint32_t sleeping;       /* 1 while it does */
    _Atomic uint32_t sync_requested; /* 1 from when the application enters MPI_Init */
    /* 1 from when the application enters MPI_Init, or begins a session of MPI. */
    _Atomic uint32_t mpi_begun;
    /* enum pw_mpi_phase. Unlike mpi_begun, also when MPI calls are not recorded. */
    _Atomic uint32_t mpi_phase;
    _Atomic uint32_t sync_decision; /* enum pw_sync_decision, the same on every rank */
    _Atomic uint32_t gpu_untimed;   /* 1: CUPTI does not report kernel times */
    _Atomic uint32_t gpu_processes; /* processes that used CUDA while another one recorded */
    _Atomic uint64_t cut_stacks;    /* call stacks that lack outer frames; see probe/stack.h */
    _Atomic uint32_t meetings;      /* how many of PyTorch's TCPStores the program has connected to;
                                       of MindSpore, how many times it has left init() */
    struct pw_control control;
    struct pw_request_places requests;
    struct pw_shown_nccl nccl;
    /* For each communicator index: number of collectives that the application has completed, or
     * begun if nonblocking. Written by the application. */
    _Alignas(64) _Atomic uint32_t collectives[PW_SHARED_COMMS];
    /* For each communicator index, the hash of the order of its collectives by level, and enum
     * pw_callorder_state (core/callorder.h). A hash is stored before the collective is counted. */
    _Alignas(64) struct pw_comm_order callorders[PW_ORDERED_COMMS];
    struct pw_ring_entry rings[PW_MAX_RINGS];
};

static_assert(sizeof(struct pw_segment_shared) <= PW_SEGMENT_HEADER, "the header has its pages");
static_assert(sizeof(struct pw_ring_shared) <= PW_RING_CONTROL, "a ring's control has its pages");

/* Creates a segment whose rings have at most `ring_bytes` (rounded to a power of two of records).
 * Writes its name to `name`; it contains the rank, so that people can recognise it. The caller
 * detaches and unlinks the segment. Returns 0 or -errno. */
int pw_segment_create(int rank, uint64_t ring_bytes, char name[PW_SEGMENT_NAME_SIZE],
                      struct pw_segment_shared **out);

/* Maps the header of an existing segment. Returns 0 or -errno: -EPERM when it belongs to another
 * user or others may open it; -EPROTO when it is no segment, has another version, or was never
 * completed. In-app safe. */
int pw_segment_attach(const char *name, struct pw_segment_shared **out);

void pw_segment_detach(struct pw_segment_shared *segment);

/* Allocates the memory of ring `index`, so that no later store into it can fail, and changes its
 * state from NONE to READY. Where memory is short the ring is smaller than the others. In-app safe.
 * Returns 0 or -errno. -ENOSPC: the smallest ring does not fit into the free shared memory; a part
 * of this memory is kept free for the program. */
int pw_segment_allocate_ring(const char *name, struct pw_segment_shared *segment, int index);

/* Maps ring `index`, which has `*records` records. The mapping stays valid until it is unmapped,
 * even if the name is removed. In-app safe. Returns 0 or -errno: -ENOENT when the ring has no
 * memory; -EPROTO when numbers in the header contradict each other or the size of the file. */
int pw_segment_map_ring(const char *name, const struct pw_segment_shared *segment, int index,
                        struct pw_ring_shared **out, uint64_t *records);

void pw_segment_unmap_ring(struct pw_ring_shared *ring, uint64_t records);

/* Allocates the first `bytes` of the pool (rank/ring/pool.h), if not yet done. In-app safe. Returns
 * 0 or -errno. */
int pw_segment_allocate_pool(const char *name, struct pw_segment_shared *segment, size_t bytes);

/* Maps the first `bytes` of the pool. In-app safe. Returns 0 or -errno; -ENOENT when less is
 * allocated. */
int pw_segment_map_pool(const char *name, const struct pw_segment_shared *segment, size_t bytes,
                        void **out);

/* Wakes the collector if it sleeps. In-app safe. */
void pw_segment_wake(struct pw_segment_shared *segment);

/* True when a record in the ring already reports the losses that `lost` counts: the producer died
 * after it wrote that record and before it cleared the counts. */
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
