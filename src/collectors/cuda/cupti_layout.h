/* The fields of CUPTI's activity records that are read. These are the first fields of CUPTI's
 * structs, which have only grown at their ends since CUDA 11.8. So one binary, built without a CUDA
 * toolkit, can read records of CUPTI 11.8 to 13. tests/unit/test_cupti_layout.c compares the fields
 * with the headers of the installed toolkit. */
#ifndef PW_CUPTI_LAYOUT_H
#define PW_CUPTI_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

enum pw_cupti_kind {
    PW_CUPTI_MEMCPY = 1,
    PW_CUPTI_MEMSET = 2,
    PW_CUPTI_KERNEL = 3, /* never enabled, because it serialises kernels */
    PW_CUPTI_DRIVER = 4,
    PW_CUPTI_RUNTIME = 5,
    PW_CUPTI_DEVICE = 8,
    PW_CUPTI_CONCURRENT_KERNEL = 10,
    PW_CUPTI_OVERHEAD = 17,
    PW_CUPTI_MEMCPY2 = 22, /* from device to device */
    PW_CUPTI_SYNCHRONIZATION = 38,
    PW_CUPTI_MEMORY2 = 49,
    PW_CUPTI_MEMORY_POOL = 50,
    PW_CUPTI_KINDS = 64, /* larger than all kinds that are used here */
};

enum {
    PW_CUPTI_SUCCESS = 0,
    PW_CUPTI_OUT_OF_MEMORY = 8,
    PW_CUPTI_LIMIT_REACHED = 12,
    PW_CUPTI_NOT_READY = 13,
    PW_CUPTI_NOT_INITIALIZED = 15,
    PW_CUPTI_INVALID_KIND = 21,
    PW_CUPTI_NOT_SUPPORTED = 27,
    PW_CUPTI_NO_PRIVILEGES = 35,
    PW_CUPTI_OTHER_SUBSCRIBER = 39,
    PW_CUPTI_NO_PRIVILEGES_VIRTUAL = 40,
    PW_CUPTI_THREAD_ID_SYSTEM = 1,
    PW_CUPTI_FLUSH_FORCED = 1,
    PW_CUPTI_MEMCPY_ASYNC = 1,
    PW_CUPTI_MEMCPY_PTOP = 10,
    PW_CUPTI_MEMORY_ALLOCATION = 1,
    PW_CUPTI_MEMORY_DEVICE = 3,
    PW_CUPTI_POOL_DESTROYED = 2,
    PW_CUPTI_POOL_LOCAL = 1, /* of this process */
    PW_CUPTI_DOMAIN_DRIVER = 1,
    PW_CUPTI_DOMAIN_RUNTIME = 2,
    PW_CUPTI_NO_TIME = 0, /* CUPTI could not read a time */
};

/* CUpti_CallbackData, and the structs of functions' parameters to which it points
 * (generated_cuda_meta.h). */
enum { PW_CUPTI_CALL_EXIT = 1, PW_CUDA_LOCATION_DEVICE = 1 };

struct pw_cupti_call {
    int32_t site;
    const char *function;
    const void *params, *result;
};

struct pw_cuda_mem_prop {
    uint32_t type, handle_types, location_type;
    int32_t device;
};

struct pw_cupti_mem_create {
    const uint64_t *handle;
    size_t bytes;
    const struct pw_cuda_mem_prop *prop;
};

struct pw_cupti_mem_retain {
    const uint64_t *handle;
    uint64_t address;
};

struct pw_cupti_mem_map {
    uint64_t address;
    size_t bytes, offset;
    uint64_t handle;
};

struct pw_cupti_mem_unmap {
    uint64_t address;
    size_t bytes;
};

/* Versions of the API in which something was added. */
enum {
    PW_CUPTI_SUBSCRIBERS_NAMES = 130000,
    PW_CUPTI_SEVERAL_SUBSCRIBERS = 130200,
    PW_CUPTI_SUBSCRIBERS_CLOCKS = 130400,
};

/* CUpti_ActivityAttribute */
enum {
    PW_CUPTI_DEVICE_BUFFER_BYTES = 0, /* size_t */
    PW_CUPTI_DEVICE_BUFFERS = 2,      /* size_t: largest number in each context */
    PW_CUPTI_PER_THREAD_BUFFER = 9,   /* uint8_t; since 12.3, and on from 13.0 */
    PW_CUPTI_THREAD_IDS = 21,         /* int; of a subscriber */
    PW_CUPTI_CLOCK = 22,              /* pw_cupti_clock *; of a subscriber */
};

struct pw_cupti_kernel {
    uint32_t kind;
    uint8_t cache[2];
    uint16_t registers;
    uint32_t part_requested, part_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total;
    uint32_t correlation;
    int64_t grid_id;
    const char *name;
    void *reserved0;
    uint64_t queued, submitted;
    uint8_t launch_type, is_carveout_requested, carveout, unused;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shared_limit, graph;
    void *access_policy;
    uint32_t channel, channel_type, cluster[3]; /* 0: no such launch */
};

struct pw_cupti_memcpy {
    uint32_t kind;
    uint8_t copy_kind, src_kind, dst_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t correlation, runtime_correlation, pad;
    void *reserved0;
    uint64_t graph_node;
};

struct pw_cupti_memcpy2 {
    uint32_t kind;
    uint8_t copy_kind, src_kind, dst_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t src_device, src_context, dst_device, dst_context;
    uint32_t correlation;
    void *reserved0;
    uint64_t graph_node;
};

struct pw_cupti_memset {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint16_t flags, memory_kind;
    uint32_t pad;
    void *reserved0;
    uint64_t graph_node;
};

struct pw_cupti_memory {
    uint32_t kind, operation, memory_kind, correlation;
    uint64_t address, bytes, time, pc;
    uint32_t pid, device, context, stream;
    const char *name;
    uint32_t is_async, pad;
    uint32_t pool_type, pad_pool; /* the pool that it belongs to, and its state after the
                                   * operation */
    uint64_t pool, pool_threshold, pool_bytes, pool_used;
};

struct pw_cupti_pool {
    uint32_t kind, operation, type, correlation, pid, device;
    uint64_t unread, pool, bytes, threshold, time;
};

struct pw_cupti_sync {
    uint32_t kind, type;
    uint64_t start, end;
    uint32_t correlation, context, stream, event;
};

struct pw_cupti_api {
    uint32_t kind, callback;
    uint64_t start, end;
    uint32_t pid, tid, correlation, result;
};

struct pw_cupti_overhead {
    uint32_t kind, overhead_kind, object_kind, object[3];
    uint64_t start, end;
};

struct pw_cupti_device {
    uint32_t kind, flags;
    uint64_t memory_bandwidth, memory_bytes, unread0[2];
    uint32_t unread1, multiprocessors, unread2, warps, blocks, shared_bytes, registers, unread3[9];
    uint32_t major, minor;
    uint32_t id, compute_instance;
    unsigned char uuid[16];
    const char *name;
};

#endif
