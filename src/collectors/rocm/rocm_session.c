/* Sets rocprofiler up and ends it; see rocm_records.h. rocprofiler sets up its tools when ROCm's
 * first runtime registers itself, and ends them at the program's exit. In between, our only thread
 * in the application flushes the buffer regularly. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collectors/gpu/gpu_present.h"
#include "collectors/rocm/rocm_layout.h"
#include "collectors/rocm/rocm_names.h"
#include "collectors/rocm/rocm_records.h"
#include "rank/probe/attach.h"
#include "rank/probe/scope.h"

/* ---- finds a usable rocprofiler-sdk: nothing is linked with it, and nothing unloaded ---- */

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

/* Returns the first library with a supported version: the one that the process has loaded, that of
 * PROFWRAP_ROCPROFILER, one near the process's ROCm libraries (`beside` is an address in one), one
 * in the ROCm folder that the environment names, or the one that the loader finds. It stays loaded
 * until the process ends, and its symbols are global, as if rocprofiler-register had loaded it.
 * Returns NULL when there is none; *version is then that of an unsupported library, or 0. */
static const struct pw_rocp *open_rocp(const void *beside, uint32_t *version)
{
    const char *named = getenv("PROFWRAP_ROCPROFILER");
    const bool found = take_loaded() || (named && *named && take(named, 0)) ||
                       take_beside(beside) || take_of_rocm() || take_of_folder("", "") ||
                       take_of_folder("/opt/rocm", "/lib/");
    *version = found ? 0 : ours.other_version;
    return found ? &ours.rocp : NULL;
}

/* ---- the session ---- */

/* The lossless policy uses two buffers of this size. With the other policy, version 1.0 loses
 * records without reporting it while it swaps buffers. */
enum { BUFFER_BYTES = 1 << 20, WATERMARK_BYTES = BUFFER_BYTES / 2, FLUSH_NS = 250000000 };
enum { MOST_OPERATIONS = 1024, END_MS = 1000 };

/* ---- our thread ---- */

static void sleep_until_woken(uint32_t seen)
{
    const struct timespec limit = {.tv_nsec = FLUSH_NS};
    syscall(SYS_futex, &pw_rocm.wake, FUTEX_WAIT_PRIVATE, seen, &limit, NULL, 0);
}

/* The thread ends before rocprofiler does, which prints an error when it is called after its
 * end. */
static void work(void)
{
    for (;;) {
        const uint32_t seen = atomic_load(&pw_rocm.wake);
        atomic_store(&pw_rocm.is_asking, 1);
        if (atomic_load(&pw_rocm.stopping)) {
            atomic_store(&pw_rocm.is_asking, 0);
            return;
        }
        pw_rocm_clock_add(&pw_rocm.clock, pw_rocm_read_clocks());
        pw_rocm.rocp->flush_buffer(pw_rocm.buffer);
        atomic_store(&pw_rocm.is_asking, 0);
        sleep_until_woken(seen);
    }
}

/* ---- set up ---- */

struct operations {
    int kind;
    size_t n;
    int32_t of[MOST_OPERATIONS];
};

/* Whether the level requires records of the function. */
static bool is_wanted(const struct pw_rocm_function *f)
{
    return pw_rocm.level >= 2 ? !(f->use & PW_ROCM_TINY)
                              : f->use & (PW_ROCM_LAUNCHES | PW_ROCM_WAITS);
}

static int add_operation(int kind, int32_t operation, void *data)
{
    struct operations *o = data;
    const char *name = NULL;
    if (pw_rocm.rocp->operation_name(kind, operation, &name, NULL) || !name ||
        !pw_rocm_name_function(kind, operation, name))
        return 0;
    const struct pw_rocm_function *f = pw_rocm_function(kind, operation);
    if (f && is_wanted(f) && o->n < MOST_OPERATIONS)
        o->of[o->n++] = operation;
    return 0;
}

/* Never called with an empty list, by which rocprofiler would record all operations. */
static int trace_calls(int kind)
{
    static struct operations o;
    o.kind = kind;
    o.n = 0;
    int result = pw_rocm.rocp->each_operation(kind, add_operation, &o);
    return result || !o.n
               ? result
               : pw_rocm.rocp->trace_buffered(pw_rocm.context, kind, o.of, o.n, pw_rocm.buffer);
}

static int trace(int kind)
{
    return pw_rocm.rocp->trace_buffered(pw_rocm.context, kind, NULL, 0, pw_rocm.buffer);
}

/* Requests the callbacks that give records a stream; without them, records have only the queue. */
static void watch_streams(void)
{
    static const int asked[] = {PW_ROCP_ASKED_HIP_RUNTIME, PW_ROCP_ASKED_MEMORY_COPY,
                                PW_ROCP_ASKED_KERNEL_DISPATCH};
    const struct pw_rocp *rocp = pw_rocm.rocp;
    if (rocp->ask_external && !rocp->trace_called(pw_rocm.context, PW_ROCP_CALLED_HIP_STREAM, NULL,
                                                  0, pw_rocm_take_stream, NULL))
        rocp->ask_external(pw_rocm.context, asked, sizeof(asked) / sizeof(asked[0]),
                           pw_rocm_say_stream, NULL);
}

/* Gets a thread for our buffer only, so that it does not wait for other tools. */
static void take_thread(void)
{
    const struct pw_rocp *rocp = pw_rocm.rocp;
    uint64_t thread = 0;
    if (rocp->create_thread && rocp->assign_thread && !rocp->create_thread(&thread))
        rocp->assign_thread(pw_rocm.buffer, thread);
}

/* Kernels and copies first: without them, the other kinds are useless. */
static int choose_services(void)
{
    int result = trace(PW_ROCP_KERNEL_DISPATCH);
    result = result ? result : trace(PW_ROCP_MEMORY_COPY);
    if (result)
        return result;
    if (pw_rocm.level >= 1) {
        const int memory = trace(PW_ROCP_MEMORY_ALLOCATION);
        const int calls = trace_calls(PW_ROCP_HIP_RUNTIME);
        pw_rocm.result = memory ? memory : calls;
        watch_streams();
    }
    if (pw_rocm.level >= 2) {
        trace_calls(PW_ROCP_HSA_CORE);
        trace_calls(PW_ROCP_HSA_AMD_EXT);
        trace(PW_ROCP_SCRATCH_MEMORY);
    }
    return 0;
}

static int set_up(struct pw_thread *thread)
{
    const struct pw_rocp *rocp = pw_rocm.rocp;
    int result = rocp->create_context(&pw_rocm.context);
    result =
        result ? result
               : rocp->create_buffer(pw_rocm.context, BUFFER_BYTES, WATERMARK_BYTES,
                                     PW_ROCP_LOSSLESS, pw_rocm_take_buffer, NULL, &pw_rocm.buffer);
    if (result)
        return result;
    take_thread();
    result = rocp->trace_called(pw_rocm.context, PW_ROCP_CALLED_CODE_OBJECT, NULL, 0,
                                pw_rocm_take_code, NULL);
    result = result ? result : choose_services();
    result = result ? result
                    : rocp->agents(PW_ROCP_AGENT_INFO, pw_rocm_name_agents,
                                   sizeof(struct pw_rocp_agent), thread);
    return result ? result : rocp->start_context(pw_rocm.context);
}

static struct pw_gpu_worker worker;

static int initialize(pw_rocp_finalize *finalize, void *data)
{
    struct pw_thread *thread = pw_probe_thread();
    (void)finalize, (void)data;
    if (!thread || !pw_probe_lock(thread))
        return -1;
    pw_rocm.result = 0;
    pw_rocm_clock_add(&pw_rocm.clock, pw_rocm_read_clocks());
    const int result = pw_gpu_worker_start(&worker, work) ? PW_ROCM_NO_THREAD : set_up(thread);
    pw_rocm.result = result ? result : pw_rocm.result;
    pw_rocm.is_recording = !result;
    pw_gpu_worker_order(&worker, pw_rocm.is_recording);
    pw_probe_unlock(thread);
    return pw_rocm.is_recording ? 0 : -1;
}

/* ---- the end ---- */

static void await_thread(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    atomic_store(&pw_rocm.stopping, 1);
    atomic_fetch_add(&pw_rocm.wake, 1);
    syscall(SYS_futex, &pw_rocm.wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    for (int ms = 0; atomic_load(&pw_rocm.is_asking) && ms < END_MS; ms++)
        syscall(SYS_nanosleep, &pause, NULL);
}

/* Flushes twice, for both buffers: a thread that had chosen a buffer before the flush may write its
 * record after it. */
static void flush_rest(void)
{
    enum { BUFFERS = 2 };
    for (int i = 0; i < BUFFERS && !atomic_load(&pw_rocm.is_asking); i++)
        pw_rocm.rocp->flush_buffer(pw_rocm.buffer);
}

/* Called by rocprofiler after it has stopped our context and waited for running work. */
static void finalize(void *data)
{
    (void)data;
    if (!pw_gate->on || !pw_rocm.is_recording) /* a forked child, too */
        return;
    await_thread();
    flush_rest();
    struct pw_thread *thread = pw_probe_thread();
    if (thread && pw_probe_lock(thread)) {
        pw_rocm_put_losses(thread);
        pw_probe_unlock(thread);
    }
}

struct pw_rocp_tool *pw_rocm_configure(uint32_t version, const char *text, uint32_t priority,
                                       struct pw_rocp_client *client)
{
    static struct pw_rocp_tool tool = {sizeof(tool), initialize, finalize, NULL};
    (void)text, (void)priority;
    if (!pw_gate->on || !pw_rocm.rocp)
        return NULL;
    pw_rocm.version = version;
    if (version < PW_ROCP_OLDEST || version >= PW_ROCP_TOO_NEW) {
        pw_rocm.result = PW_ROCM_OTHER_VERSION;
        return NULL;
    }
    client->name = "profwrap";
    return &tool;
}

/* Makes rocprofiler call profwrap in a program that uses ROCm. When a ROCm runtime starts, it
 * registers its functions with rocprofiler-register. This library looks for a tool by the symbol
 * rocprofiler_configure; if it finds one it loads rocprofiler-sdk, and it ends the program when
 * there is none. So the probe must not define that symbol. Instead it wraps rocprofiler-register's
 * function. At the first call, if there is a GPU and a supported rocprofiler, it loads
 * libprofwrap_rocm.so, which defines the symbol. Other tools are found as without the probe.
 * Without ROCm, nothing here runs. */

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

static bool register_is_wanted(void)
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
    if (!register_is_wanted() || atomic_exchange(&has_begun, 1) || !pw_probe_thread())
        return false;
    pw_rocm.level = pw_probe_borrow_segment()->level;
    const struct pw_rocp *rocp = open_rocp(beside, &pw_rocm.version);
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
