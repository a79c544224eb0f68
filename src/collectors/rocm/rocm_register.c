/* Makes rocprofiler call profwrap in a program that uses ROCm. When a ROCm runtime starts, it
 * registers its functions with rocprofiler-register. This library looks for a tool by the symbol
 * rocprofiler_configure; if it finds one it loads rocprofiler-sdk, and it ends the program when
 * there is none. So the probe must not define that symbol. Instead it wraps rocprofiler-register's
 * function. At the first call, if there is a GPU and a supported rocprofiler, it loads
 * libprofwrap_rocm.so, which defines the symbol. Other tools are found as without the probe.
 * Without ROCm, nothing here runs. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/gpu/gpu_present.h"
#include "collectors/rocm/rocm_records.h"
#include "rank/probe/attach.h"
#include "rank/probe/scope.h"

#define EXPORT __attribute__((visibility("default")))

enum { NO_TOOLS = 1 }; /* rocprofiler_register_error_code_t */

typedef int register_tables(const char *name, uint32_t (*import)(void), uint32_t version,
                            void **tables, uint64_t n, uint64_t *id);
typedef int force_configure(pw_rocp_configure *configure);

EXPORT register_tables rocprofiler_register_library_api_table;
EXPORT force_configure rocprofiler_force_configure;
EXPORT pw_rocp_configure profwrap_rocm_configure;

/* Called by libprofwrap_rocm.so's rocprofiler_configure(). */
struct pw_rocp_tool *profwrap_rocm_configure(uint32_t version, const char *text, uint32_t priority,
                                             struct pw_rocp_client *client)
{
    return pw_rocm_configure(version, text, priority, client);
}

static bool is_wanted(void)
{
    const struct pw_segment_shared *segment = pw_gate->on ? pw_probe_borrow_segment() : NULL;
    return segment && (segment->activities & PW_ACTIVITY_ROCM);
}

/* Loads libprofwrap_rocm.so, which is in the probe's folder. */
static bool load_helper(void)
{
    static const char anchor, name[] = "libprofwrap_rocm.so";
    const struct link_map *probe = pw_scope_object(&anchor);
    const char *slash = probe && probe->l_name ? strrchr(probe->l_name, '/') : NULL;
    char path[PATH_MAX];
    if (!slash)
        return false;
    snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - probe->l_name), probe->l_name, name);
    return dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE) != NULL;
}

/* Begins recording, once, in the recording process. `beside`: an address in ROCm's code. Returns
 * whether the state must be recorded. */
static bool begin(const void *beside)
{
    static _Atomic int has_begun;
    int status = 0;
    if (!pw_gpu_is_present(PW_GPU_ROCM))
        return false;
    pw_probe_count_gpu_process(PW_ACTIVITY_ROCM); /* counts only when another process of the rank
                                                   * records */
    if (!is_wanted() || atomic_exchange(&has_begun, 1) || !pw_probe_thread())
        return false;
    pw_rocm.level = pw_probe_borrow_segment()->level;
    const struct pw_rocp *rocp = pw_rocp_open(beside, &pw_rocm.version);
    if (!rocp) {
        pw_rocm.result = pw_rocm.version ? PW_ROCM_OTHER_VERSION : PW_ROCM_NO_LIBRARY;
        return true;
    }
    rocp->is_initialized(&status);
    pw_rocm.rocp = rocp;
    pw_rocm.result = status          ? PW_ROCP_LOCKED
                     : load_helper() ? PW_ROCM_NOT_CALLED /* until rocprofiler calls us */
                                     : PW_ROCM_NO_HELPER;
    return true;
}

/* Writes PW_REC_GPU_STATE in the thread that starts ROCm, before its next range, because the
 * collector stores ranges from then on. */
static void say_state(void)
{
    struct pw_thread *thread = pw_probe_thread();
    const uint64_t now = pw_probe_now();
    const struct pw_record record = {
        .type = PW_REC_GPU_STATE,
        .op = PW_GPU_ROCM,
        .start = now,
        .end = now,
        .gpu_state = {.version = pw_rocm.version,
                      .level = pw_rocm.level,
                      .result = pw_rocm.result,
                      .is_recording = pw_rocm.is_recording},
    };
    if (!pw_rocm.is_recording)
        pw_probe_say_gpu_untimed();
    if (!thread || !pw_probe_lock(thread))
        return;
    pw_gpu_put(thread, &record, 0);
    pw_probe_unlock(thread);
}

/* Used when the caller is not known, as after a tail call. */
static void *find_any(const char *symbol)
{
    char path[PATH_MAX];
    void *library = pw_scope_path(pw_scope_is_defining, symbol, 0, path)
                        ? dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD)
                        : NULL;
    void *found = library ? dlsym(library, symbol) : NULL;
    if (library)
        dlclose(library); /* it stays loaded, because the program has loaded it */
    return found;
}

/* Returns the function that the caller would get without the probe. */
static void *find_real(const char *symbol, const void *caller)
{
    const struct pw_scope_query query = {.symbol = symbol, .caller = caller, .otherwise = find_any};
    struct pw_scope_answer answer;
    if (!pw_scope_recall(&query, &answer))
        answer = pw_scope_find(&query);
    return answer.target;
}

int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void),
                                           uint32_t version, void **tables, uint64_t n,
                                           uint64_t *id)
{
    const int saved = errno;
    void *found = find_real("rocprofiler_register_library_api_table", __builtin_return_address(0));
    register_tables *real = (register_tables *)(uintptr_t)found;
    const bool has_begun = real && begin(found);
    errno = saved;
    const int result = real ? real(name, import, version, tables, n, id) : NO_TOOLS;
    if (has_begun)
        say_state();
    return result;
}

/* Wrapped, too: a tool in the program calls it to configure rocprofiler before a runtime starts. */
int rocprofiler_force_configure(pw_rocp_configure *configure)
{
    const int saved = errno;
    void *found = find_real("rocprofiler_force_configure", __builtin_return_address(0));
    force_configure *real = (force_configure *)(uintptr_t)found;
    const bool has_begun = real && begin(found);
    errno = saved;
    const int result = real ? real(configure) : PW_ROCP_LOCKED;
    if (has_begun)
        say_state();
    return result;
}
