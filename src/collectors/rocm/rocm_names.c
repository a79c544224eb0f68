/* Tables by rocprofiler's numbers; see rocm_names.h. */
#include "collectors/rocm/rocm_names.h"

#include <stdio.h>
#include <string.h>

#include "collectors/gpu/gpu_inside.h"
#include "core/tables.h"
#include "rank/probe/arena.h"

/* ---- kernels ---- */

/* Kernels are numbered from 1. Most kernels of a library are never launched, so their names are
 * stored here and recorded at the first launch. */
enum { KERNELS = 1 << 18, LONGEST = 8191 };

struct kernel {
    uint32_t group_bytes;
    char name[];
};

static struct {
    _Atomic(struct kernel *) kernel;
    const struct pw_intern_entry *entry; /* set when it was launched */
} kernels[KERNELS];

/* "name.kd" is the kernel's descriptor in the code object, and not the function. */
static size_t name_length(const char *name)
{
    static const char suffix[] = ".kd";
    const size_t length = pw_name_length(name, LONGEST), n = sizeof(suffix) - 1;
    const bool has = length > n && memcmp(name + length - n, suffix, n) == 0;
    return has ? length - n : length;
}

void pw_rocm_name_kernel(const struct pw_rocp_kernel_symbol *symbol)
{
    if (symbol->kernel >= KERNELS || !symbol->name)
        return;
    const size_t length = name_length(symbol->name);
    struct kernel *k = pw_arena_take(sizeof(*k) + length + 1);
    if (!k)
        return;
    k->group_bytes = symbol->group_bytes;
    memcpy(k->name, symbol->name, length);
    atomic_store(&kernels[symbol->kernel].kernel, k);
}

uint32_t pw_rocm_kernel(struct pw_thread *thread, uint64_t kernel, uint32_t *group_bytes)
{
    const struct kernel *k = kernel < KERNELS ? atomic_load(&kernels[kernel].kernel) : NULL;
    *group_bytes = k ? k->group_bytes : 0;
    if (!k)
        return pw_probe_intern(thread, "(unknown kernel)");
    if (!kernels[kernel].entry)
        kernels[kernel].entry = pw_name_keep(k->name, strlen(k->name));
    return pw_name_use(thread, kernels[kernel].entry);
}

/* ---- functions ---- */

enum { FUNCTIONS = 1024, HIP, CORE, EXTENSIONS, TABLES };

static struct pw_rocm_function functions[TABLES - HIP][FUNCTIONS];

static struct pw_rocm_function *place_of(int kind, int32_t operation)
{
    const int table = kind == PW_ROCP_HIP_RUNTIME   ? HIP
                      : kind == PW_ROCP_HSA_CORE    ? CORE
                      : kind == PW_ROCP_HSA_AMD_EXT ? EXTENSIONS
                                                    : TABLES;
    return table < TABLES && operation >= 0 && operation < FUNCTIONS
               ? &functions[table - HIP][operation]
               : NULL;
}

static bool launches(const char *name)
{
    static const char *const begins[] = {"hipMemcpy", "hipMemset"};
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return strncmp(name, "hip", 3) == 0 && strstr(name, "Launch") && !strstr(name, "HostFunc");
}

/* Functions for a thread's own default stream end in _spt. */
static uint8_t sync_of(const char *name)
{
    static const struct {
        const char *begin;
        uint8_t sync;
    } waits[] = {{"hipDeviceSynchronize", PW_SYNC_CONTEXT},
                 {"hipCtxSynchronize", PW_SYNC_CONTEXT},
                 {"hipStreamSynchronize", PW_SYNC_STREAM},
                 {"hipEventSynchronize", PW_SYNC_EVENT},
                 {"hipStreamWaitEvent", PW_SYNC_STREAM_WAITS}};
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
        if (strncmp(name, waits[i].begin, strlen(waits[i].begin)) == 0)
            return waits[i].sync;
    return PW_SYNC_UNKNOWN;
}

/* Whether the function only accesses an HSA signal or the index of a queue: a few instructions. */
static bool is_tiny(const char *name)
{
    return (strncmp(name, "hsa_signal_", 11) == 0 && !strstr(name, "_wait_") &&
            !strstr(name, "create") && !strstr(name, "destroy")) ||
           (strncmp(name, "hsa_queue_", 10) == 0 && strstr(name, "_index_"));
}

bool pw_rocm_name_function(int kind, int32_t operation, const char *name)
{
    struct pw_rocm_function *f = place_of(kind, operation);
    if (!f)
        return false;
    f->name = pw_name_keep(name, pw_name_length(name, PW_LONGEST_NAME));
    f->sync = sync_of(name);
    f->use = (uint8_t)((launches(name) ? PW_ROCM_LAUNCHES : 0) | (f->sync ? PW_ROCM_WAITS : 0) |
                       (is_tiny(name) ? PW_ROCM_TINY : 0));
    return f->name != NULL;
}

const struct pw_rocm_function *pw_rocm_function(int kind, int32_t operation)
{
    const struct pw_rocm_function *f = place_of(kind, operation);
    return f && f->name ? f : NULL;
}

/* ---- agents and queues ---- */

enum { AGENTS = 64, QUEUES = 256 };

static struct {
    size_t nagents, nqueues;
    uint64_t agents[AGENTS]; /* by device */
    uint64_t queues[QUEUES]; /* by number, from 1 */
} known;

static void put_device(struct pw_thread *thread, const struct pw_rocp_agent *agent)
{
    const uint64_t now = pw_probe_now();
    const bool has_long_uuid =
        agent->size >= offsetof(struct pw_rocp_agent, uuid) + PW_ROCP_UUID_LONG;
    struct pw_record record = {
        .type = PW_REC_GPU_DEVICE,
        .flags = PW_GPU_ROCM,
        .op = (uint16_t)known.nagents,
        .start = now,
        .end = now,
        .stack = pw_probe_intern(thread, agent->product_name && *agent->product_name
                                             ? agent->product_name
                                             : agent->name),
        .device = {.memory_bytes = agent->memory_bytes,
                   .multiprocessors =
                       (uint16_t)(agent->compute_units < UINT16_MAX ? agent->compute_units : 0),
                   .shared_kib = (uint16_t)(agent->lds_kib < UINT16_MAX ? agent->lds_kib : 0)},
    };
    memcpy(record.device.uuid, agent->uuid,
           has_long_uuid ? PW_ROCP_UUID_LONG : sizeof(agent->uuid));
    record.device.bus = agent->domain << 16 | (agent->location & UINT16_MAX);
    pw_gpu_put(thread, &record, 0);
}

/* Adds agents in the order of the program's device numbers: those that HIP shows to the program
 * come first. */
static void add_agents(struct pw_thread *thread, const void **agents, size_t n, bool is_visible)
{
    for (size_t i = 0; i < n && known.nagents < AGENTS; i++) {
        const struct pw_rocp_agent *agent = agents[i];
        const bool is_wanted = (agent->visible & PW_ROCP_VISIBLE_TO_HIP) != 0;
        if (agent->size < sizeof(*agent) || agent->type != PW_ROCP_AGENT_GPU ||
            is_wanted != is_visible)
            continue;
        if (is_visible)
            put_device(thread, agent);
        known.agents[known.nagents++] = agent->id;
    }
}

int pw_rocm_name_agents(int version, const void **agents, size_t n, void *thread)
{
    if (version != PW_ROCP_AGENT_INFO)
        return PW_ROCP_NOT_FOUND;
    add_agents(thread, agents, n, true);
    add_agents(thread, agents, n, false);
    return PW_ROCP_SUCCESS;
}

int pw_rocm_device(uint64_t agent)
{
    for (size_t i = 0; i < known.nagents; i++)
        if (known.agents[i] == agent)
            return (int)i;
    return PW_ROCM_HOST;
}

uint32_t pw_rocm_queue(uint64_t handle)
{
    size_t at = 0;
    while (at < known.nqueues && known.queues[at] != handle)
        at++;
    if (at == known.nqueues && at < QUEUES)
        known.queues[known.nqueues++] = handle;
    return (uint32_t)at + 1;
}
