/* The stand-in for rocprofiler-sdk inside. Layouts are of the headers of 1.0.0, and where
 * STANDIN_ROCP is 10100 with what 1.1 and later have more at their ends. */
#ifndef STANDIN_ROCINSIDE_H
#define STANDIN_ROCINSIDE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm.h"

enum {
    CONTEXT_NOT_FOUND = 2,
    BUFFER_NOT_FOUND = 3,
    OPERATION_NOT_FOUND = 5,
    BUFFER_BUSY = 14,
    ALREADY_CONFIGURED = 15,
    LOCKED = 16,
    INCOMPATIBLE_ABI = 18,
    FINALIZED = 21,
};
enum { CLIENTS = 4, CONTEXTS = 4, BUFFERS = 8, KINDS = 32, OPERATIONS = 1024 };
enum { HSA_CORE = 1, HIP_RUNTIME = 5, MEMORY_COPY = 10, KERNEL_DISPATCH = 11, SCRATCH = 12 };
enum { MEMORY_ALLOCATION = 16, CALLED_CODE = 10, CALLED_STREAM = 20, LOSSLESS = 2 };

struct client_id {
    size_t size;
    const char *name;
    uint32_t handle;
};

struct tool {
    size_t size;
    int (*initialize)(void *finalize, void *data);
    void (*finalize)(void *data);
    void *data;
};

struct correlation {
    uint64_t internal, external, ancestor;
};

struct called {
    uint64_t context, thread;
    struct correlation correlation;
    int32_t kind, operation, phase;
    void *payload;
};

struct header {
    uint32_t category, kind;
    void *payload;
};

typedef struct tool *configure_function(uint32_t version, const char *text, uint32_t priority,
                                        struct client_id *id);
typedef void called_function(struct called called, uint64_t *user, void *data);
typedef int asked_function(uint64_t thread, uint64_t context, int kind, int32_t operation,
                           uint64_t internal, uint64_t *external, void *data);
typedef void buffer_function(uint64_t context, uint64_t buffer, struct header **headers, size_t n,
                             void *data, uint64_t dropped);

struct context {
    _Atomic int is_started;
    uint64_t buffers[KINDS];
    unsigned char chooses[KINDS], chosen[KINDS][OPERATIONS];
    called_function *called[KINDS];
    void *data[KINDS];
    asked_function *asked;
    void *asked_data;
    unsigned asks; /* bits by kind of request */
};

struct standin_rocm {
    _Atomic int is_set_up, is_over; /* -1: it is about to be */
    int nclients, ncontexts, faults;
    struct {
        configure_function *configure;
        struct tool *tool;
    } clients[CLIENTS];
    struct context contexts[CONTEXTS];
};
extern struct standin_rocm standin_rocm;

/* ---- records ---- */

struct call_record {
    uint64_t size;
    int32_t kind, operation;
    struct correlation correlation;
    uint64_t start, end, thread;
};

struct dim3 {
    uint32_t x, y, z;
};

struct dispatch_record {
    uint64_t size;
    int32_t kind, operation;
    uint64_t internal, external, thread, start, end;
    struct {
        uint64_t size, agent, queue, kernel, dispatch;
        uint32_t private_bytes, group_bytes;
        struct dim3 workgroup, grid;
        unsigned char reserved[56];
    } info;
#if STANDIN_ROCP >= 10100
    int32_t pipe;
#endif
};

struct copy_record {
    uint64_t size;
    int32_t kind, operation;
    uint64_t internal, external, thread, start, end, target, source, bytes;
    uint64_t target_address, source_address;
};

struct memory_record {
    uint64_t size;
    int32_t kind, operation;
    struct correlation correlation;
    uint64_t thread, start, end, agent, address, bytes;
};

struct scratch_record {
    uint64_t size;
    int32_t kind, operation;
    struct correlation correlation;
    uint64_t agent, queue, thread, start, end;
    int32_t flags;
#if STANDIN_ROCP >= 10100
    uint64_t bytes;
#endif
};

struct kernel_symbol {
    uint64_t size, kernel, code_object;
    const char *name;
    uint64_t object;
    uint32_t kernarg_bytes, kernarg_alignment, group_bytes, private_bytes;
    uint32_t sgprs, vgprs, accum_vgprs;
    int64_t entry;
    uint64_t address;
};

struct stream_data {
    uint64_t size, stream, value;
};

struct agent {
    uint64_t size, id;
    int32_t type;
    uint32_t cpu_cores, simds, banks, caches, links, cpu_base, simd_base, waves, lds_kib, gds_kib,
        gws, wavefront, xccs, compute_units, arrays, banks_of_shaders, arrays_per_engine,
        cu_per_array, simd_per_cu, scratch_slots, gfx_version;
    uint16_t vendor_id, device_id;
    uint32_t location, domain, render, sdma, sdma_xgmi, sdma_queues, cp_queues, clock_c, clock_f;
    uint32_t sdma_version, firmware, capability, cu_per_engine, waves_per_cu, family;
    uint32_t workgroup_max, grid_max;
    uint64_t memory_bytes, hive, gpu;
    struct dim3 workgroup_dim, grid_dim;
    const void *mem_banks, *cache_list, *link_list;
    const char *name, *vendor_name, *product_name, *model_name;
    uint32_t node;
    int32_t logical_node, gpu_number;
    uint32_t visible;
    unsigned char uuid[STANDIN_ROCP >= 10100 ? 16 : 8];
};
_Static_assert(offsetof(struct agent, memory_bytes) == 176 && offsetof(struct agent, name) == 248 &&
                   offsetof(struct agent, uuid) == 296,
               "as in agent.h");
_Static_assert(sizeof(struct call_record) == 64 && sizeof(struct memory_record) == 88 &&
                   offsetof(struct dispatch_record, info) == 56,
               "as in buffer_tracing.h");

/* Puts a record into a context's buffer. */
void standin_rocm_emplace(uint64_t buffer, uint32_t kind, const void *record, size_t size);

int standin_rocm_operation(int kind, const char *name);

#endif
