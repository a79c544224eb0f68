/* The structs, values and functions of rocprofiler-sdk that are used, so that profwrap can be built
 * without ROCm. They are the same in the headers of 1.0.0 (release/rocm-rel-7.0 of
 * ROCm/rocm-systems) and of 1.1.0 (develop of the same repository, of August 2025; for records of
 * kernels, copies and memory, of 2026). A newer version adds members only at the end of a struct or
 * enumeration. Version 0.x (ROCm 6) is not supported: its records of calls and its numbers of kinds
 * differ. tests/unit/test_rocm.c checks sizes and offsets. */
#ifndef PW_ROCM_LAYOUT_H
#define PW_ROCM_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/* The version is 10000 * major + 100 * minor + patch. */
enum { PW_ROCP_OLDEST = 10000, PW_ROCP_TOO_NEW = 20000 };

/* rocprofiler_status_t */
enum { PW_ROCP_SUCCESS = 0, PW_ROCP_NOT_FOUND = 5, PW_ROCP_LOCKED = 16 };

/* rocprofiler_buffer_tracing_kind_t */
enum pw_rocp_kind {
    PW_ROCP_HSA_CORE = 1,
    PW_ROCP_HSA_AMD_EXT = 2,
    PW_ROCP_HIP_RUNTIME = 5,
    PW_ROCP_MEMORY_COPY = 10,
    PW_ROCP_KERNEL_DISPATCH = 11,
    PW_ROCP_SCRATCH_MEMORY = 12,
    PW_ROCP_MEMORY_ALLOCATION = 16,
};

enum {
    PW_ROCP_CATEGORY_TRACING = 1, /* rocprofiler_buffer_category_t */
    PW_ROCP_LOSSLESS = 2,         /* rocprofiler_buffer_policy_t */
    PW_ROCP_AGENT_GPU = 2,        /* rocprofiler_agent_type_t */
    PW_ROCP_AGENT_INFO = 1,       /* rocprofiler_agent_version_t */
    /* rocprofiler_callback_tracing_kind_t, operations and phases of these. */
    PW_ROCP_CALLED_CODE_OBJECT = 10,
    PW_ROCP_CALLED_HIP_STREAM = 20,
    PW_ROCP_CODE_OBJECT_KERNEL = 2,
    PW_ROCP_HIP_STREAM_SET = 3,
    PW_ROCP_PHASE_ENTER = 1, /* a code object is loaded */
    PW_ROCP_PHASE_EXIT = 2,
    /* rocprofiler_external_correlation_id_request_kind_t */
    PW_ROCP_ASKED_HIP_RUNTIME = 5,
    PW_ROCP_ASKED_MEMORY_COPY = 10,
    PW_ROCP_ASKED_KERNEL_DISPATCH = 11,
};

enum pw_rocp_copy {
    PW_ROCP_COPY_HOST_TO_HOST = 1,
    PW_ROCP_COPY_HOST_TO_DEVICE,
    PW_ROCP_COPY_DEVICE_TO_HOST,
    PW_ROCP_COPY_DEVICE_TO_DEVICE,
};

enum pw_rocp_allocation {
    PW_ROCP_ALLOCATED = 1,
    PW_ROCP_VMEM_ALLOCATED,
    PW_ROCP_FREED,
    PW_ROCP_VMEM_FREED,
};

enum pw_rocp_scratch {
    PW_ROCP_SCRATCH_ALLOCATED = 1,
    PW_ROCP_SCRATCH_FREED,
    PW_ROCP_SCRATCH_RECLAIMED,
};

/* ---- buffered records ---- */

struct pw_rocp_header {
    uint32_t category, kind;
    const void *payload;
};

/* The correlation of a kernel or copy. `external` is the value that the tool returned when
 * rocprofiler asked for one. */
struct pw_rocp_correlation {
    uint64_t internal, external;
};

/* The correlation of a call. `ancestor` is the number of the call that made this call. */
struct pw_rocp_call_correlation {
    uint64_t internal, external, ancestor;
};

struct pw_rocp_call {
    uint64_t size;
    int32_t kind, operation;
    struct pw_rocp_call_correlation correlation;
    uint64_t start, end, thread;
};

struct pw_rocp_dim3 {
    uint32_t x, y, z;
};

struct pw_rocp_dispatch_info {
    uint64_t size;
    uint64_t agent, queue, kernel, dispatch;
    uint32_t private_bytes, group_bytes;
    struct pw_rocp_dim3 workgroup, grid; /* both in work-items */
    unsigned char reserved[56];
};

struct pw_rocp_dispatch {
    uint64_t size;
    int32_t kind, operation;
    struct pw_rocp_correlation correlation;
    uint64_t thread, start, end;
    struct pw_rocp_dispatch_info info;
};

struct pw_rocp_memory_copy {
    uint64_t size;
    int32_t kind, operation;
    struct pw_rocp_correlation correlation;
    uint64_t thread, start, end;
    uint64_t dst_agent, src_agent, bytes;
};

/* When memory is freed, only the address is reported. */
struct pw_rocp_memory {
    uint64_t size;
    int32_t kind, operation;
    struct pw_rocp_call_correlation correlation;
    uint64_t thread, start, end;
    uint64_t agent, address, bytes;
};

struct pw_rocp_scratch_memory {
    uint64_t size;
    int32_t kind, operation;
    struct pw_rocp_call_correlation correlation;
    uint64_t agent, queue, thread, start, end;
};

/* ---- callbacks ---- */

struct pw_rocp_called {
    uint64_t context, thread;
    struct pw_rocp_call_correlation correlation;
    int32_t kind, operation, phase;
    void *payload;
};

struct pw_rocp_kernel_symbol {
    uint64_t size, kernel, code_object;
    const char *name;
    uint64_t object;
    uint32_t kernarg_bytes, kernarg_alignment, group_bytes, private_bytes;
};

struct pw_rocp_stream {
    uint64_t size, stream;
};

/* rocprofiler_agent_v0_t: up to the UUID, which is 8 bytes in 1.0 and 16 from 1.1 on. */
struct pw_rocp_agent {
    uint64_t size, id;
    int32_t type;
    uint32_t unread0[8], lds_kib, unread1[4], compute_units, unread2[6], gfx_version;
    uint16_t vendor, device;
    uint32_t location, domain, unread3[13], max_workgroup, max_grid;
    uint64_t memory_bytes, hive, gpu;
    struct pw_rocp_dim3 unread4[2];
    const void *unread5[3];
    const char *name, *vendor_name, *product_name, *model_name;
    uint32_t node;
    int32_t logical_node, gpu_number;
    uint32_t visible; /* bits: enum below */
    unsigned char uuid[8];
};
enum { PW_ROCP_VISIBLE_TO_HIP = 2, PW_ROCP_UUID_LONG = 16 };

/* ---- registration ---- */

struct pw_rocp_client {
    size_t size;
    const char *name;
    uint32_t handle;
};

/* The client is passed by value. */
typedef void pw_rocp_finalize(struct pw_rocp_client client);

struct pw_rocp_tool {
    size_t size;
    int (*initialize)(pw_rocp_finalize *finalize, void *data);
    void (*finalize)(void *data);
    void *data;
};

typedef struct pw_rocp_tool *pw_rocp_configure(uint32_t version, const char *text,
                                               uint32_t priority, struct pw_rocp_client *client);
typedef void pw_rocp_on_buffer(uint64_t context, uint64_t buffer, struct pw_rocp_header **headers,
                               size_t n, void *data, uint64_t dropped);
typedef void pw_rocp_on_call(struct pw_rocp_called called, uint64_t *user, void *data);
typedef int pw_rocp_on_operation(int kind, int32_t operation, void *data);
typedef int pw_rocp_on_agents(int version, const void **agents, size_t n, void *data);
typedef int pw_rocp_on_asked(uint64_t thread, uint64_t context, int kind, int32_t operation,
                             uint64_t internal, uint64_t *external, void *data);

/* The functions that are called; those after `start_context` may be NULL. Handles are structs of
 * one 64-bit number and are passed as that number. Each function returns a rocprofiler_status_t. */
struct pw_rocp {
    int (*version)(uint32_t *major, uint32_t *minor, uint32_t *patch);
    int (*timestamp)(uint64_t *ns);
    int (*is_initialized)(int *status);
    int (*create_context)(uint64_t *context);
    int (*create_buffer)(uint64_t context, size_t size, size_t watermark, int policy,
                         pw_rocp_on_buffer *callback, void *data, uint64_t *buffer);
    int (*flush_buffer)(uint64_t buffer);
    int (*trace_buffered)(uint64_t context, int kind, const int32_t *operations, size_t n,
                          uint64_t buffer);
    int (*trace_called)(uint64_t context, int kind, const int32_t *operations, size_t n,
                        pw_rocp_on_call *callback, void *data);
    int (*each_operation)(int kind, pw_rocp_on_operation *callback, void *data);
    int (*operation_name)(int kind, int32_t operation, const char **name, uint64_t *length);
    int (*agents)(int version, pw_rocp_on_agents *callback, size_t agent_size, void *data);
    int (*start_context)(uint64_t context);
    int (*create_thread)(uint64_t *thread);
    int (*assign_thread)(uint64_t buffer, uint64_t thread);
    int (*ask_external)(uint64_t context, const int *kinds, size_t n, pw_rocp_on_asked *callback,
                        void *data);
};

#endif
