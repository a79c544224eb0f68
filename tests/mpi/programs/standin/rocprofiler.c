/* A stand-in for rocprofiler-sdk, after its sources in ROCm 7.0 (registration.cpp, buffer.cpp and
 * buffer.hpp, record_header_buffer.hpp, hsa/queue.cpp, hip/stream.cpp, external_correlation.cpp):
 * clients, contexts, and services; what a program declares by standin_rocm_*() comes to the buffers
 * and callbacks that asked for it. STANDIN_ROCP is the version. STANDIN_ROCP_REFUSES=FUNCTION:ERROR
 * makes one function fail, STANDIN_ROCP_SILENT lets no tool be asked. */
#include "rocinside.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct standin_rocm standin_rocm;

/* Whether the environment wants this function to fail; then with which error. */
static int refused(const char *function)
{
    const char *refuses = getenv("STANDIN_ROCP_REFUSES");
    const size_t length = strlen(function);
    return refuses && strncmp(refuses, function, length) == 0 && refuses[length] == ':'
               ? atoi(refuses + length + 1)
               : 0;
}

static int is_locked(void)
{
    return atomic_load(&standin_rocm.is_set_up) > 0 ? LOCKED : 0;
}

/* ---- clients ---- */

static void add_client(configure_function *configure)
{
    for (int i = 0; i < standin_rocm.nclients; i++)
        if (standin_rocm.clients[i].configure == configure)
            return;
    if (configure && standin_rocm.nclients < CLIENTS)
        standin_rocm.clients[standin_rocm.nclients++].configure = configure;
}

static configure_function *find_configure(void *handle)
{
    configure_function *found;
    void *symbol = dlsym(handle, "rocprofiler_configure");
    memcpy(&found, &symbol, sizeof(found));
    return found;
}

/* Where everybody's names have one, those of all libraries are looked for, too. */
static void find_clients(void)
{
    if (!find_configure(RTLD_DEFAULT))
        return;
    add_client(find_configure(RTLD_DEFAULT));
    void *self = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
    struct link_map *object = NULL;
    dlinfo(self, RTLD_DI_LINKMAP, &object);
    for (object = object->l_next; object; object = object->l_next) {
        void *handle = dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD);
        if (handle && *object->l_name)
            add_client(find_configure(handle));
    }
}

static void finalize(void)
{
    if (atomic_exchange(&standin_rocm.is_over, -1))
        return;
    for (int i = 0; i < CONTEXTS; i++)
        atomic_store(&standin_rocm.contexts[i].is_started, 0);
    for (int i = 0; i < standin_rocm.nclients; i++) {
        struct tool *tool = standin_rocm.clients[i].tool;
        if (tool && tool->finalize)
            tool->finalize(tool->data);
    }
    atomic_store(&standin_rocm.is_over, 1);
}

static void set_up(configure_function *forced)
{
    if (atomic_exchange(&standin_rocm.is_set_up, -1))
        return;
    atexit(finalize);
    add_client(forced);
    if (!getenv("STANDIN_ROCP_SILENT"))
        find_clients();
    for (int i = 0; i < standin_rocm.nclients; i++) {
        struct client_id id = {sizeof(id), NULL, 1000u + (uint32_t)i};
        standin_rocm.clients[i].tool =
            standin_rocm.clients[i].configure(STANDIN_ROCP, "stand-in", (uint32_t)i, &id);
    }
    for (int i = 0; i < standin_rocm.nclients; i++)
        if (standin_rocm.clients[i].tool)
            standin_rocm.clients[i].tool->initialize(NULL, standin_rocm.clients[i].tool->data);
    atomic_store(&standin_rocm.is_set_up, 1);
}

EXPORT int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance,
                                     void **tables, uint64_t n)
{
    (void)name, (void)version, (void)instance, (void)tables, (void)n;
    if (!atomic_load(&standin_rocm.is_set_up))
        set_up(NULL);
    return 0;
}

EXPORT int rocprofiler_force_configure(configure_function *configure)
{
    if (atomic_load(&standin_rocm.is_set_up))
        return LOCKED;
    set_up(configure);
    return 0;
}

EXPORT int rocprofiler_is_initialized(int *status)
{
    *status = atomic_load(&standin_rocm.is_set_up);
    return 0;
}

EXPORT int rocprofiler_get_version(uint32_t *major, uint32_t *minor, uint32_t *patch)
{
    *major = STANDIN_ROCP / 10000;
    *minor = STANDIN_ROCP % 10000 / 100;
    *patch = STANDIN_ROCP % 100;
    return 0;
}

EXPORT int rocprofiler_get_timestamp(uint64_t *ns)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    *ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
    return 0;
}

/* ---- contexts and services ---- */

static struct context *context_of(uint64_t handle)
{
    return handle >= 1 && handle <= (uint64_t)standin_rocm.ncontexts
               ? &standin_rocm.contexts[handle - 1]
               : NULL;
}

EXPORT int rocprofiler_create_context(uint64_t *handle)
{
    if (is_locked() || refused("create_context") || standin_rocm.ncontexts == CONTEXTS)
        return is_locked() ? LOCKED : refused("create_context");
    *handle = (uint64_t)++standin_rocm.ncontexts;
    return 0;
}

EXPORT int rocprofiler_start_context(uint64_t handle)
{
    struct context *context = context_of(handle);
    if (!context || refused("start_context"))
        return context ? refused("start_context") : CONTEXT_NOT_FOUND;
    atomic_store(&context->is_started, 1);
    return 0;
}

EXPORT int rocprofiler_configure_buffer_tracing_service(uint64_t handle, int kind,
                                                        const int32_t *operations, size_t n,
                                                        uint64_t buffer)
{
    struct context *context = context_of(handle);
    if (is_locked() || refused("buffer_tracing"))
        return is_locked() ? LOCKED : refused("buffer_tracing");
    if (!context || kind <= 0 || kind >= KINDS || context->buffers[kind])
        return context ? ALREADY_CONFIGURED : CONTEXT_NOT_FOUND;
    context->buffers[kind] = buffer;
    context->chooses[kind] = n != 0;
    for (size_t i = 0; i < n; i++) {
        if (operations[i] <= 0 || operations[i] >= OPERATIONS)
            return OPERATION_NOT_FOUND;
        context->chosen[kind][operations[i]] = 1;
    }
    return 0;
}

EXPORT int rocprofiler_configure_callback_tracing_service(uint64_t handle, int kind,
                                                          const int32_t *operations, size_t n,
                                                          called_function *callback, void *data)
{
    struct context *context = context_of(handle);
    (void)operations, (void)n;
    if (is_locked() || !context || kind <= 0 || kind >= KINDS || context->called[kind])
        return is_locked() ? LOCKED : ALREADY_CONFIGURED;
    context->called[kind] = callback;
    context->data[kind] = data;
    return 0;
}

EXPORT int rocprofiler_configure_external_correlation_id_request_service(uint64_t handle,
                                                                         const int *kinds, size_t n,
                                                                         asked_function *callback,
                                                                         void *data)
{
    struct context *context = context_of(handle);
    if (is_locked() || !context || context->asked)
        return is_locked() ? LOCKED : ALREADY_CONFIGURED;
    context->asked = callback;
    context->asked_data = data;
    for (size_t i = 0; i < n; i++)
        context->asks |= 1u << kinds[i];
    return 0;
}

/* ---- names ---- */

static const struct {
    int kind;
    const char *name;
} names[] = {
    {HIP_RUNTIME, "hipDeviceSynchronize"},
    {HIP_RUNTIME, "hipGetDevice"},
    {HIP_RUNTIME, "hipGraphLaunch"},
    {HIP_RUNTIME, "hipLaunchHostFunc"},
    {HIP_RUNTIME, "hipLaunchKernel"},
    {HIP_RUNTIME, "hipMalloc"},
    {HIP_RUNTIME, "hipMemcpyAsync"},
    {HIP_RUNTIME, "hipStreamSynchronize"},
    {HIP_RUNTIME, "hipStreamWaitEvent"},
    {HSA_CORE, "hsa_queue_create"},
    {HSA_CORE, "hsa_signal_load_relaxed"},
    {HSA_CORE, "hsa_signal_store_screlease"},
    {HSA_CORE, "hsa_queue_load_write_index_relaxed"},
};

int standin_rocm_operation(int kind, const char *name)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].kind == kind && strcmp(names[i].name, name) == 0)
            return (int)i + 1;
    return 0;
}

EXPORT int rocprofiler_iterate_buffer_tracing_kind_operations(
    int kind, int (*callback)(int kind, int32_t operation, void *data), void *data)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].kind == kind)
            callback(kind, (int32_t)i + 1, data);
    return 0;
}

EXPORT int rocprofiler_query_buffer_tracing_kind_operation_name(int kind, int32_t operation,
                                                                const char **name, uint64_t *length)
{
    const size_t at = (size_t)operation - 1;
    if (at >= sizeof(names) / sizeof(names[0]) || names[at].kind != kind)
        return OPERATION_NOT_FOUND;
    if (name)
        *name = names[at].name;
    if (length)
        *length = strlen(names[at].name);
    return 0;
}

/* ---- agents ---- */

EXPORT int rocprofiler_query_available_agents(int version,
                                              int (*callback)(int version, const void **agents,
                                                              size_t n, void *data),
                                              size_t size, void *data)
{
    static struct agent agents[4];
    const void *all[4];
    if (size > sizeof(struct agent))
        return INCOMPATIBLE_ABI;
    for (int i = 0; i < 4; i++) {
        struct agent *a = &agents[i];
        *a =
            (struct agent){.size = sizeof(*a), .id = STANDIN_HOST + (uint64_t)i, .type = i ? 2 : 1};
        a->compute_units = i ? 304 : 0;
        a->lds_kib = i ? 64 : 0;
        a->memory_bytes = i ? UINT64_C(192) << 30 : 0;
        a->location = 0xc1 << 8 | (uint32_t)i << 3;
        a->product_name = i ? "AMD Instinct MI300X" : "EPYC";
        a->name = i ? "gfx942" : "EPYC";
        a->gpu_number = i - 1;
        a->visible = i == STANDIN_HIDDEN - STANDIN_HOST ? 1 : 15;
        a->uuid[0] = (unsigned char)(0xa0 + i);
        a->uuid[7] = 0x5e;
        all[i] = a;
    }
    return callback(version, all, 4, data);
}

EXPORT int standin_rocm_faults(void)
{
    return standin_rocm.faults;
}
