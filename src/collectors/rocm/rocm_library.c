/* Chooses a rocprofiler-sdk; see rocm_library.h. */
#include "collectors/rocm/rocm_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank/probe/scope.h"

static const struct {
    const char *name;
    size_t place;
    bool is_needed;
} functions[] = {
    {"rocprofiler_get_version", offsetof(struct pw_rocp, version), true},
    {"rocprofiler_get_timestamp", offsetof(struct pw_rocp, timestamp), true},
    {"rocprofiler_is_initialized", offsetof(struct pw_rocp, is_initialized), true},
    {"rocprofiler_create_context", offsetof(struct pw_rocp, create_context), true},
    {"rocprofiler_create_buffer", offsetof(struct pw_rocp, create_buffer), true},
    {"rocprofiler_flush_buffer", offsetof(struct pw_rocp, flush_buffer), true},
    {"rocprofiler_configure_buffer_tracing_service", offsetof(struct pw_rocp, trace_buffered),
     true},
    {"rocprofiler_configure_callback_tracing_service", offsetof(struct pw_rocp, trace_called),
     true},
    {"rocprofiler_iterate_buffer_tracing_kind_operations", offsetof(struct pw_rocp, each_operation),
     true},
    {"rocprofiler_query_buffer_tracing_kind_operation_name",
     offsetof(struct pw_rocp, operation_name), true},
    {"rocprofiler_query_available_agents", offsetof(struct pw_rocp, agents), true},
    {"rocprofiler_start_context", offsetof(struct pw_rocp, start_context), true},
    {"rocprofiler_create_callback_thread", offsetof(struct pw_rocp, create_thread), false},
    {"rocprofiler_assign_callback_thread", offsetof(struct pw_rocp, assign_thread), false},
    {"rocprofiler_configure_external_correlation_id_request_service",
     offsetof(struct pw_rocp, ask_external), false},
};

static struct {
    struct pw_rocp rocp;
    uint32_t other_version; /* version of a library that is not supported */
} ours;

static bool bind(void *library)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *found = dlsym(library, functions[i].name);
        if (!found && functions[i].is_needed)
            return false;
        memcpy((char *)&ours.rocp + functions[i].place, &found, sizeof(found));
    }
    return true;
}

static uint32_t version_of(void *library)
{
    enum { MAJOR = 10000, MINOR = 100 };
    int (*ask)(uint32_t *, uint32_t *, uint32_t *) = NULL;
    uint32_t major = 0, minor = 0, patch = 0;
    void *found = dlsym(library, "rocprofiler_get_version");
    memcpy(&ask, &found, sizeof(found));
    return ask && ask(&major, &minor, &patch) == PW_ROCP_SUCCESS
               ? major * MAJOR + minor * MINOR + patch
               : 0;
}

/* Loads the library, and makes its symbols global only if its version is supported:
 * rocprofiler-register uses the first one that it finds, and ends the program when it finds a tool
 * and no rocprofiler. */
static bool take(const char *path, int how)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL | how);
    if (!library)
        return false;
    const uint32_t version = version_of(library);
    if (version < PW_ROCP_OLDEST || version >= PW_ROCP_TOO_NEW || !bind(library)) {
        ours.other_version = ours.other_version ? ours.other_version : version;
        return false; /* it stays loaded: it may be the application's, and cannot be unloaded
                       * safely */
    }
    return dlopen(path, RTLD_LAZY | RTLD_GLOBAL | RTLD_NODELETE | how) != NULL;
}

static bool take_loaded(void)
{
    char path[PATH_MAX];
    return pw_scope_path(pw_scope_is_named, "librocprofiler-sdk.so", 0, path) &&
           take(path, RTLD_NOLOAD);
}

static bool take_of_folder(const char *folder, const char *inside)
{
    static const char *const names[] = {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so"};
    char path[PATH_MAX + 64];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s%s%s", folder, inside, names[i]);
        if (take(path, 0))
            return true;
    }
    return false;
}

static bool take_beside(const void *address)
{
    const struct link_map *object = address ? pw_scope_object(address) : NULL;
    char path[PATH_MAX];
    char *slash;
    if (!object || !object->l_name)
        return false;
    snprintf(path, sizeof(path), "%s", object->l_name);
    slash = strrchr(path, '/');
    if (slash)
        slash[1] = '\0';
    return slash && take_of_folder(path, "");
}

static bool take_of_rocm(void)
{
    static const char *const variables[] = {"ROCM_PATH", "ROCM_HOME", "HIP_PATH", "EBROOTROCM"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *root = getenv(variables[i]);
        if (root && *root && take_of_folder(root, "/lib/"))
            return true;
    }
    return false;
}

const struct pw_rocp *pw_rocp_open(const void *beside, uint32_t *version)
{
    const char *named = getenv("PROFWRAP_ROCPROFILER");
    const bool found = take_loaded() || (named && *named && take(named, 0)) ||
                       take_beside(beside) || take_of_rocm() || take_of_folder("", "") ||
                       take_of_folder("/opt/rocm", "/lib/");
    *version = found ? 0 : ours.other_version;
    return found ? &ours.rocp : NULL;
}
