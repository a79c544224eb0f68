/* Finds a usable rocprofiler-sdk and fills the table of its functions. Called by rocm_session.c
 * when ROCm's first runtime begins. Nothing is linked with it. In-app code: it may load a library,
 * and unloads none. */
#ifndef PW_ROCM_LIBRARY_H
#define PW_ROCM_LIBRARY_H

#include <stdbool.h>

#include "collectors/rocm/rocm_layout.h"

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

/* Returns the first library with a supported version: the one that the process has loaded, that of
 * PROFWRAP_ROCPROFILER, one near the process's ROCm libraries (`beside` is an address in one), one
 * in the ROCm folder that the environment names, or the one that the loader finds. It stays loaded
 * until the process ends, and its symbols are global, as if rocprofiler-register had loaded it.
 * Returns NULL when there is none; *version is then that of an unsupported library, or 0. */
const struct pw_rocp *pw_rocp_open(const void *beside, uint32_t *version);

#endif
