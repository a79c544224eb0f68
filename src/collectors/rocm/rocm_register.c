/* How profwrap comes into a program that uses ROCm. A runtime of ROCm's hands its functions to
 * rocprofiler-register when it begins; that looks for tools, by the name rocprofiler_configure, and
 * loads rocprofiler-sdk only when it finds one. It ends the program where it then finds no
 * rocprofiler. So the probe has no such name, but is in front of rocprofiler-register: at the first
 * call, where there is a GPU and a rocprofiler that is known, it loads libprofwrap_rocm.so, which
 * has. Other tools are found as they are without us. Where no ROCm is used nothing here runs. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/gpu/gpu_present.h"
#include "collectors/rocm/rocm_session.h"
#include "rank/probe/scope.h"

#define EXPORT __attribute__((visibility("default")))

enum { NO_TOOLS = 1 }; /* rocprofiler_register_error_code_t */

typedef int register_tables(const char *name, uint32_t (*import)(void), uint32_t version,
                            void **tables, uint64_t n, uint64_t *id);
typedef int force_configure(pw_rocp_configure *configure);

EXPORT register_tables rocprofiler_register_library_api_table;
EXPORT force_configure rocprofiler_force_configure;
EXPORT pw_rocp_configure profwrap_rocm_configure;

/* What libprofwrap_rocm.so passes rocprofiler's question on to. */
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

/* Beside the probe. */
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

/* Once, in the recording process. `beside`: code of ROCm's. True: say what came of it. */
static bool begin(const void *beside)
{
    static _Atomic int has_begun;
    int status = 0;
    if (!pw_gpu_is_present(PW_GPU_ROCM))
        return false;
    pw_probe_count_gpu_process(PW_ACTIVITY_ROCM); /* where another one of the rank records */
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
                     : load_helper() ? PW_ROCM_NOT_CALLED /* until it is */
                                     : PW_ROCM_NO_HELPER;
    return true;
}

/* By the thread that starts ROCm, before its next range: the collector keeps ranges from then on.
 */
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

/* For who is not the caller to be seen, as by a jump in place of a last call. */
static void *find_any(const char *symbol)
{
    char path[PATH_MAX];
    void *library = pw_scope_path(pw_scope_is_defining, symbol, 0, path)
                        ? dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD)
                        : NULL;
    void *found = library ? dlsym(library, symbol) : NULL;
    if (library)
        dlclose(library); /* the program that loaded it keeps it */
    return found;
}

/* The function that the caller would have called without us. */
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

/* A tool in the program that does not wait for a runtime to begin. */
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
