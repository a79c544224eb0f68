/* What formats make of a trace's events, before they are nested, joined and put in order. The keys
 * are sorter.h's. */
#ifndef PW_IMPORT_RECORDS_H
#define PW_IMPORT_RECORDS_H

#include <stdint.h>

enum pw_host_type {
    PW_HOST_RANGE,  /* a row of /events/range */
    PW_HOST_CALL,   /* a call of the CUDA runtime or driver */
    PW_HOST_MEMORY, /* an allocation: delta bytes in `sequence`, all of the device in `count_in` */
};

struct pw_host_record {
    int64_t thread, start, minus_end; /* the key: what is around others comes first */
    uint64_t id;                      /* of a call, its correlation; of a range, its External id */
    int64_t sequence;                 /* as in /events/range */
    int64_t count_in, count_out;      /* elements of a collective; -1: not known */
    uint32_t name, shapes, category;  /* rows of /strings */
    uint32_t collective;              /* traceops.h; 0: none */
    int32_t device;                   /* of memory, -1: the host */
    uint8_t type, kind;               /* enum pw_host_type; enum pw_kind of a range */
    uint8_t sync;                     /* enum pw_sync of a call that waits, else 0 */
    uint8_t pad;
};

enum pw_device_type {
    PW_DEVICE_KERNEL,
    PW_DEVICE_MEMCPY,
    PW_DEVICE_MEMSET,
    PW_DEVICE_OPERATION, /* of NCCL, of which a log tells without its kernel */
};

struct pw_device_record {
    int64_t key[3]; /* correlation and start until it is joined, start and end then */
    int64_t start, end;
    uint64_t correlation, external;
    union {
        uint64_t graph_node;
        int64_t seq; /* of an operation, its number on the communicator; -1: it has none */
    };
    union {
        int64_t bytes;
        int64_t ran_ns; /* of an operation; 0: not known */
    };
    int64_t count_in, count_out, launch;
    int32_t thread, device;
    uint32_t launched_by, name, collective, context, stream;
    int32_t grid[3], block[3], registers, shared_bytes, src_device, dst_device;
    uint8_t type;
    union {
        uint8_t copy;
        uint8_t timed; /* of an operation: enum pw_timed */
    };
    uint8_t asynchronous;
    uint8_t is_nccl;
};

/* Who launched what has this correlation, or External id. */
struct pw_launch_record {
    int64_t id, time, pad; /* the key */
    int64_t count_in, count_out;
    int32_t thread;
    uint32_t launched_by, collective;
    uint32_t timed; /* 0: `time` is not that of the launch, but of the operator around it */
};

#endif
