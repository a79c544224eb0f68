/* The 64-byte records that the application's threads write into their rings, and the collector
 * reads.
 *
 * Times are ticks of the segment's clock (see tick.h). Records of one ring are in the order in
 * which their operations ended. Both sides are built from the same tree, so the layout needs no
 * versioning beyond the segment's; all records have one size, so that a reader need not trust a
 * length. */
#ifndef PW_RANK_RING_RECORD_H
#define PW_RANK_RING_RECORD_H

#include <assert.h>
#include <stdint.h>

#include "core/tables.h"

enum pw_record_type {
    PW_REC_NONE = 0,
    /* The ring and the process: handled by the drain itself. */
    PW_REC_THREAD,     /* a thread begins to use this ring */
    PW_REC_LOST,       /* in-band loss marker */
    PW_REC_WAIT,       /* the producer waited for room in the ring; `op` is enum pw_lost */
    PW_REC_UNRECORDED, /* calls that left no record: written by the collector, at the end */
    PW_REC_STRING,     /* one piece of a name */
    PW_REC_STACK,      /* some frames of a call stack */
    PW_REC_WINDOW,     /* recording begins or ends */
    PW_REC_OPEN,       /* a call that was open when the program ended: made by the drain */
    /* Module mpi. */
    PW_REC_COMM,         /* one communication operation */
    PW_REC_COMM_DEF,     /* a communicator; `op` is the operation that made it, where known */
    PW_REC_COMM_MEMBERS, /* its members, as runs of world ranks */
    PW_REC_CLOCK,        /* a knot of the clock map */
    PW_REC_MPI_STATE,    /* MPI began, ended, or is another MPI than ours */
    /* Module annotations. */
    PW_REC_RANGE,
    PW_REC_STEP,
    PW_REC_QUEUE,
    PW_REC_MEMORY,
    PW_REC_WORK,
    PW_REC_FLOPS,
    PW_REC_RUNTIME, /* work of the language's runtime, such as a garbage collection */
    PW_REC_METADATA,
    /* Module nvtx. */
    PW_REC_NVTX,         /* a range or mark, as PW_REC_RANGE */
    PW_REC_NVTX_START,   /* a range of the process begins: any thread may end it */
    PW_REC_NVTX_END,     /* such a range ends */
    PW_REC_NVTX_PAYLOAD, /* one field of the data that are attached to a range */
    PW_REC_NVTX_THREAD,  /* the name of a thread */
    PW_REC_NVTX_STEP,    /* as PW_REC_STEP; recognised by the name of a range */
    /* Modules of GPUs. */
    PW_REC_GPU_KERNEL,
    PW_REC_GPU_COPY,
    PW_REC_GPU_SET,
    PW_REC_GPU_API,      /* a call of the runtime or driver */
    PW_REC_GPU_SYNC,     /* the program waits for a GPU */
    PW_REC_GPU_MEMORY,   /* memory is allocated or freed */
    PW_REC_GPU_DEVICE,   /* a GPU that the program can use */
    PW_REC_GPU_OVERHEAD, /* time that the library took for itself */
    PW_REC_GPU_GAP,      /* nothing was recorded; `op` is enum pw_reason */
    PW_REC_GPU_STATE,    /* whether GPUs could be recorded */
    /* Module nccl. */
    PW_REC_NCCL_COMM,    /* a communicator */
    PW_REC_NCCL_CALL,    /* an operation as the program called it */
    PW_REC_NCCL_TASK,    /* how NCCL executes an operation, and in which kernel */
    PW_REC_NCCL_CHANNEL, /* one channel of the operation's kernel, by the GPU's clock */
    PW_REC_NCCL_PROXY,   /* the work of a proxy thread for the operation, with one peer */
    PW_REC_NCCL_REFUSED, /* events that found no room in the probe */
    PW_REC_NCCL_PLUGIN,  /* the profiler plugin is there, and reports all operations */
    /* Module torch. */
    PW_REC_TORCH_GROUP,   /* a process group, as PW_REC_COMM_DEF */
    PW_REC_TORCH_MEMBERS, /* as PW_REC_COMM_MEMBERS */
    PW_REC_TORCH_CALL,    /* an operation was begun */
    PW_REC_TORCH_DONE,    /* an operation ended; its thread began it at `start` */
    PW_REC_TORCH_WAIT,    /* the program waited for an operation, or for all */
    /* Module mindspore. */
    PW_REC_MCCL_GROUP,   /* a group of ranks, as PW_REC_COMM_DEF */
    PW_REC_MCCL_MEMBERS, /* as PW_REC_COMM_MEMBERS */
    PW_REC_MCCL_CALL,    /* as PW_REC_TORCH_CALL, but the operation ended with the call */
    /* Module null. */
    PW_REC_MARK,
    PW_REC_TYPE_COUNT
};

/* What can be recorded: bits of a segment's `activities`. */
enum {
    PW_ACTIVITY_MPI = 1,
    PW_ACTIVITY_ANNOTATIONS = 2,
    PW_ACTIVITY_SYS = 4,
    PW_ACTIVITY_NULL = 8,
    PW_ACTIVITY_NVTX = 16,
    PW_ACTIVITY_CUDA = 32,
    PW_ACTIVITY_NCCL = 64,
    PW_ACTIVITY_ROCM = 128,
    PW_ACTIVITY_TORCH = 256,
    PW_ACTIVITY_MINDSPORE = 512,
};

/* Makers of GPUs: `op` of PW_REC_GPU_STATE, flags of PW_REC_GPU_DEVICE. */
enum pw_gpu_make { PW_GPU_CUDA, PW_GPU_ROCM, PW_GPU_MAKES };

/* Data that a maker's library may refuse to give; numbers of bits. */
enum pw_gpu_lack {
    PW_GPU_LACKS_COPIES = 0,
    PW_GPU_LACKS_SETS,
    PW_GPU_LACKS_MEMORY,
    PW_GPU_LACKS_WAITS,
    PW_GPU_LACKS_CALLS,
    PW_GPU_LACKS_DEVICES,
    PW_GPU_LACKS_OVERHEAD,
    PW_GPU_LACKS_MAPPED, /* memory that the program maps itself */
    PW_GPU_LACKS,
};

/* Flags of PW_REC_GPU_API: the call launches work on a device; the call gets a row of its own. */
enum { PW_GPU_LAUNCHES = 1, PW_GPU_HAS_ROW = 2 };

/* Flags of PW_REC_GPU_KERNEL: the upper half of graph_node is the graph's number; the number of
 * registers is not known. */
enum { PW_GPU_GRAPH_ABOVE = 1, PW_GPU_NO_REGISTERS = 2 };

/* Flags of PW_REC_GPU_COPY: enum pw_copy, and whether the call returned before the copy ended. */
enum { PW_GPU_COPY_KIND = 0x7f, PW_GPU_ASYNCHRONOUS = 0x80 };

/* Flags of PW_REC_STEP and PW_REC_NVTX_STEP. PARTIAL: only a part of the step is recorded. If such
 * a record has the number of the current step, it begins no step: it only flags the current one.
 * CANCEL: the step that ends here is none (PROFWRAP_CANCEL_STEP). */
enum { PW_STEP_WARMUP = 1, PW_STEP_PARTIAL = 2, PW_STEP_CANCEL = 4 };

/* Flags of PW_REC_WINDOW: enum pw_window_state, and whether the record begins another window. */
enum { PW_WINDOW_STATE = 3, PW_WINDOW_NEW = 4 };

/* Flags of PW_REC_NCCL_CALL. ALONE: there will be no task, so only the call's times are known. */
enum {
    PW_NCCL_CALL_CAPTURED = 1, /* into a CUDA graph */
    PW_NCCL_CALL_ROOT = 2,     /* this rank is the root */
    PW_NCCL_CALL_ALONE = 4,
};

/* Flag of PW_REC_NCCL_COMM: the program has destroyed or aborted the communicator. */
enum { PW_NCCL_COMM_CLOSED = 1 };

/* Flags of PW_REC_NCCL_TASK. LAUNCHED: the times are those of the kernel's launch; without this
 * flag, the kernel was launched before these times. REPLAYED: a CUDA graph executes the task again.
 * CAPTURED: the record is not a task. It is the launch of a kernel that a CUDA graph captures; the
 * kernel executes the calls of the communicator that were captured before. */
enum { PW_NCCL_TASK_LAUNCHED = 1, PW_NCCL_TASK_REPLAYED = 2, PW_NCCL_TASK_CAPTURED = 4 };

/* This bit in the handle of an open call shows that the call waits for a process group of PyTorch.
 * The other bits are the group's index. No address of a program has this bit. */
#define PW_TORCH_HANDLE (UINT64_C(1) << 63)
/* The same for a call that is in a collective of MindSpore. */
#define PW_MCCL_HANDLE (UINT64_C(1) << 62)

/* Flags of PW_REC_NCCL_PROXY. */
enum { PW_NCCL_PROXY_SENDS = 1 };

enum pw_mpi_state { PW_MPI_BEGAN, PW_MPI_ENDING, PW_MPI_FOREIGN };

/* Room for text in one PW_REC_STRING. */
enum { PW_STRING_PIECE = 28, PW_RUNS_PER_RECORD = 2 };

enum { PW_LOST_KINDS = PW_LOST_OTHER + 1 };

/* Whether the lost record is a definition that events refer to, and not an event. */
static inline int pw_lost_is_definition(enum pw_lost kind)
{
    return kind == PW_LOST_NAME || kind == PW_LOST_OTHER;
}

/* Frames in one PW_REC_STACK, and in one call stack. */
enum { PW_STACK_PIECE = 3, PW_MAX_STACK = 64 };

struct pw_record {
    uint64_t start, end; /* ticks; if pw_record_is_past(), local ns */
    uint8_t type, flags;
    uint16_t op;
    uint32_t stack; /* id, 0 none */
    union {
        struct {
            uint32_t comm;
            int32_t peer; /* world rank, -1 */
            union {
                int32_t tag;
                uint32_t signature; /* of a collective; see core/callorder.h */
            };
            uint32_t seq;
            int64_t sent_bytes, recv_bytes;
            uint32_t request;
            uint32_t begun; /* time inside the call that began a nonblocking operation, 16 ticks */
        } comm;
        struct {
            uint64_t uid;
            uint32_t comm;
            int32_t size, my_rank;
            int32_t remote_size; /* 0 but for intercommunicators */
            uint32_t name;
            uint32_t source;
            uint64_t handle; /* as in pw_open_call; it means the newest communicator that has it */
        } def;
        struct {
            uint32_t comm;
            uint32_t nruns;
            struct {
                int32_t first, stride, count;
            } runs[PW_RUNS_PER_RECORD];
        } members;
        struct { /* as in pw_open_call; `end` is when it was seen */
            uint64_t handle;
            int32_t peer, tag;
            uint32_t awaited, error;
            uint64_t error_time; /* ticks */
        } open;
        struct {
            int64_t local_ns, offset_ns, error_ns;
        } clock;
        struct {
            int32_t state; /* enum pw_mpi_state */
            int32_t world_rank, world_size, thread_level;
            int64_t sync_ns;      /* time spent in clock synchronisation */
            int64_t sync_wait_ns; /* time waited for all ranks to come to it */
            /* What it took of MPI: messages that this rank sent, collectives. */
            int32_t sync_messages, sync_collectives;
        } mpi;
        struct {
            uint32_t name;
            uint16_t depth, kind; /* enum pw_kind */
            union {
                uint32_t domain;
                uint32_t lane; /* if pw_record_is_past(): the thread number that the range gets */
            };
            uint32_t category, shapes;
            uint32_t sequence; /* 1 + the number, 0 none */
            union {
                int64_t alloc_bytes;
                uint64_t id; /* of PW_REC_NVTX_START */
            };
            int64_t payload; /* `op` is its enum pw_payload */
        } range;
        struct { /* PW_REC_NVTX_END; `op` is its enum pw_payload */
            uint64_t id;
            int64_t payload;
        } ended;
        struct {        /* `op` is its enum pw_payload */
            int64_t id; /* the range's payload */
            uint32_t schema, field;
            int64_t value;
        } payload;
        struct {
            int32_t tid;
            uint32_t name;
        } thread_name;
        struct {
            uint32_t name;
            int64_t size, capacity;
        } queue;
        struct {
            int64_t delta_bytes;
            int32_t device; /* -1 the host */
        } memory;
        struct {
            int64_t amount;
        } work;
        struct {
            double flops;
        } flops;
        struct { /* `op` is enum pw_runtime_kind; a group has no generation: -1 */
            int64_t total_ns, collected;
            uint64_t count;
            int32_t generation;
        } runtime;
        struct {
            uint32_t key, value;
        } metadata;
        struct {
            int64_t step; /* -1: none begins */
        } step;
        struct {          /* `op` is enum pw_opened: who decided it */
            int64_t step; /* opening: the first step; closing: the last step; -1 none */
        } window;
        /* For activities on a device, `op` is the device. Each field has room for the largest value
         * of its number. */
        struct { /* `stack` is the kernel's name; `flags` are above */
            uint64_t graph_node;
            uint32_t correlation, context, stream;
            uint32_t grid_x;
            uint16_t grid_y, grid_z;
            uint16_t block_x, block_y;
            uint8_t block_z, registers;
            uint16_t static_shared;
            uint32_t dynamic_shared : 20;
            uint32_t cluster_x : 4, cluster_y : 4, cluster_z : 4; /* blocks, less 1 */
        } kernel;
        struct {
            uint64_t graph_node;
            uint32_t correlation, context, stream;
            union {
                struct {
                    int16_t src_device, dst_device; /* of a copy between two; else -1 */
                };
                uint32_t value; /* of PW_REC_GPU_SET */
            };
            uint64_t bytes;
        } copy;
        struct { /* `stack` is the function's name */
            uint32_t correlation;
            int32_t tid;
            int32_t result;
        } api;
        struct { /* `op` is enum pw_sync */
            uint32_t correlation, context, stream, event;
        } sync;
        struct {
            int64_t delta_bytes;
            uint32_t correlation;
            uint64_t pool, pool_bytes; /* its address, 0 none; what it holds now */
        } device_memory;
        struct { /* `stack` is its name */
            unsigned char uuid[16];
            uint64_t memory_bytes;
            uint16_t multiprocessors, capability; /* 100 * major + minor; 0 not known */
            uint16_t warps, blocks;               /* these four: largest per multiprocessor */
            uint16_t shared_kib, registers_k;
            uint32_t bus; /* of AMD: domain << 16 | bus << 8 | device << 3 | function */
        } device;
        struct {
            uint64_t lost;
        } device_gap;
        struct {
            uint32_t version, level;
            int32_t result; /* CUPTI's, or enum pw_cuda_refusal; 0: no error */
            uint32_t is_recording;
            uint64_t device_bytes;
            uint32_t lacking; /* bits of enum pw_gpu_lack: not recorded; all other data are */
            int32_t lacking_result;
        } gpu_state;
        struct {
            uint64_t uid;
            uint32_t comm;
            int32_t size, my_rank, nodes; /* 0 where NCCL does not say */
            uint32_t name;
        } nccl_comm;
        struct { /* `op` is enum pw_op; `id` counts the process's operations from 1 */
            uint64_t id;
            int64_t count;
            uint32_t comm, seq; /* 1 + the number, 0 none */
            int32_t peer;       /* rank in the communicator, or root; -1 */
            uint32_t datatype, stream;
            uint32_t element_bytes; /* 0 not known */
        } nccl_call;
        struct {         /* `op` is enum pw_op */
            uint64_t id; /* 0: of a call that is not known any more */
            uint64_t plan;
            uint32_t comm;
            int32_t peer;
            uint32_t algorithm, protocol;
            uint32_t channels;
        } nccl_task;
        struct { /* `op` is the channel */
            uint64_t id;
            uint64_t timer_start, timer_end; /* ns of the GPU's timer, 0 not told */
            uint32_t comm;
        } nccl_channel;
        struct { /* `op` is the channel; waits are in 16 ticks */
            uint64_t id;
            int64_t bytes;
            uint32_t gpu_wait, peer_wait, network_wait, flush_wait;
            int32_t peer;
            uint32_t steps;
        } nccl_proxy;
        struct {
            uint64_t events;
        } nccl_refused;
        struct {         /* `op` is enum pw_op; flags: PW_FLAG_ROOT */
            uint64_t id; /* counts the process's operations from 1; 0: its end is not known */
            uint32_t comm, seq;
            int64_t sent_bytes, recv_bytes; /* of a broadcast both, on all ranks; -1 unknown */
            int32_t peer, tag;              /* world rank, -1 */
        } torch_call;
        struct {
            uint64_t id; /* of PW_REC_TORCH_WAIT: UINT64_MAX is all that were begun */
        } torch_work;
        struct {
            int64_t value;
        } mark;
        struct {
            uint64_t lost[PW_LOST_KINDS];
        } lost;
        struct {
            uint64_t nested;        /* made inside another call */
            uint64_t no_ring;       /* of threads that had no ring, between the record's times */
            uint64_t gpu_processes; /* that used GPUs while another one recorded */
            uint64_t cut_stacks;    /* call stacks that lack outer frames */
        } unrecorded;
        struct {
            uint32_t thread; /* index, in order of first record */
            int32_t tid;
            int32_t pid;
            uint64_t process; /* time at which the first thread of the process began to record; a
                               * program that executes another one is another process */
        } thread;
        struct {
            uint32_t id;
            uint32_t total;  /* bytes of the whole text */
            uint32_t offset; /* of this piece */
            char bytes[PW_STRING_PIECE];
        } string;
        struct { /* of the stack with the id `stack`, innermost first */
            uint16_t total, first;
            uint32_t module[PW_STACK_PIECE]; /* name of the file it is in, 0 unknown */
            uint64_t offset[PW_STACK_PIECE]; /* of the call, as in that file's symbol table */
        } frames;
    };
};

static_assert(sizeof(struct pw_record) == 64, "a record is one cache line");

/* Whether the record is a range or the size of a queue that another profiler measured and that was
 * recorded afterwards; or work of the runtime, which is recorded when it is known to have been
 * long. */
static inline int pw_record_is_past(const struct pw_record *record)
{
    return record->type == PW_REC_RUNTIME ||
           ((record->type == PW_REC_RANGE || record->type == PW_REC_QUEUE) &&
            (record->flags & PW_RANGE_PAST));
}

/* Whether the record marks the begin or end of a step; see record.step. */
static inline int pw_record_is_step(const struct pw_record *record)
{
    return record->type == PW_REC_STEP || record->type == PW_REC_NVTX_STEP;
}

/* Returns the kind under which the record is counted when it is lost. */
static inline enum pw_lost pw_record_kind(const struct pw_record *record)
{
    switch (record->type) {
    case PW_REC_COMM:
    case PW_REC_NCCL_CALL:
    case PW_REC_NCCL_TASK:
    case PW_REC_NCCL_CHANNEL:
    case PW_REC_NCCL_PROXY:
    case PW_REC_TORCH_CALL:
    case PW_REC_TORCH_DONE:
    case PW_REC_TORCH_WAIT:
    case PW_REC_MCCL_CALL:
        return PW_LOST_COMMUNICATION;
    case PW_REC_RANGE:
    case PW_REC_QUEUE:
    case PW_REC_MEMORY:
    case PW_REC_WORK:
    case PW_REC_FLOPS:
    case PW_REC_RUNTIME:
    case PW_REC_NVTX:
    case PW_REC_NVTX_START:
    case PW_REC_NVTX_END:
    case PW_REC_NVTX_PAYLOAD:
    case PW_REC_GPU_KERNEL:
    case PW_REC_GPU_COPY:
    case PW_REC_GPU_SET:
    case PW_REC_GPU_API:
    case PW_REC_GPU_SYNC:
    case PW_REC_GPU_MEMORY:
        return PW_LOST_RANGE;
    case PW_REC_STEP:
    case PW_REC_NVTX_STEP:
        return PW_LOST_STEP;
    case PW_REC_STRING:
    case PW_REC_STACK:
        return PW_LOST_NAME;
    default:
        return PW_LOST_OTHER;
    }
}

#endif
