/* The profiler plugin that NCCL loads by NCCL_PROFILER_PLUGIN. It has one table of functions for
 * each version of the plugin interface, and NCCL takes the newest that it knows. The functions
 * convert the structs of all versions to those of nccl_event.h. In-app code: NCCL calls it on the
 * program's threads and on its own.
 *
 * NCCL also starts events of types that the mask does not have; *handle is NULL for events that are
 * not recorded. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "collectors/nccl/nccl_abi.h"
#include "collectors/nccl/nccl_event.h"
#include "collectors/nccl/nccl_slot.h"
#include "rank/probe/recording.h"
#include "rank/run/launch.h"

#define EXPORT __attribute__((visibility("default")))

enum { OLD_TYPES = 0x3f, V3_TYPES = 0xff, V5_TYPES = 0xfff, V6_TYPES = 0x7fff };

/* ---- the program's own plugin ----
 *
 * With NCCL_PROFILER_PLUGIN=STATIC_PLUGIN, NCCL looks for a plugin in the program's image
 * (PyTorch's CUPTI monitor has one, pytorch#187518). The probe is in that image, too. When NCCL
 * finds the probe's table, the probe passes the events on to the program's plugin. The decision
 * never changes. */

enum { UNDECIDED, OURS, THEIRS };
enum { ALIKE = 5 }; /* from this version on, structs only get longer */

static _Atomic int decided;
static const struct pw_nccl_plugin_v5 *theirs;

static int is_asked_for(void)
{
    const char *name = getenv(PW_NCCL_VARIABLE);
    return name && *name && strcmp(name, PW_NCCL_STATIC) != 0 &&
           strncasecmp(name, "STATIC_PLUGIN", strlen(name)) == 0;
}

/* Finds the table of the program's plugin. In the order of symbol lookup, it can be before or after
 * the probe's own table. */
static const void *find_table(int version)
{
    char name[32];
    Dl_info ours, found;
    snprintf(name, sizeof(name), "ncclProfiler_v%d", version);
    if (!dladdr((void *)(uintptr_t)find_table, &ours))
        return NULL;
    void *const places[] = {RTLD_DEFAULT, RTLD_NEXT};
    for (int i = 0; i < 2; i++) {
        const void *table = dlsym(places[i], name);
        if (table && dladdr(table, &found) && found.dli_fbase != ours.dli_fbase)
            return table;
    }
    return NULL;
}

static const void *find(int version)
{
    const void *table = find_table(version);
    for (int v = version - 1; !table && v >= ALIKE; v--)
        table = find_table(v);
    return table;
}

static const struct pw_nccl_plugin_v5 *own_plugin(void)
{
    return __builtin_expect(atomic_load_explicit(&decided, memory_order_acquire) == THEIRS, 0)
               ? theirs
               : NULL;
}

/* Decides once whether events go to the program's plugin, so that an event ends where it began.
 * Returns that plugin's table for interface version `version`; NULL when there is none: then the
 * probe records the events. All functions after `init` are the same in all versions. */
static const struct pw_nccl_plugin_v5 *own_choose(int version)
{
    if (atomic_load(&decided) == UNDECIDED) {
        const struct pw_nccl_plugin_v5 *table = is_asked_for() ? find(version) : NULL;
        int before = UNDECIDED;
        if (table)
            theirs = table;
        atomic_compare_exchange_strong(&decided, &before, table ? THEIRS : OURS);
    }
    return own_plugin();
}

/* ---- init and end ---- */

/* Keeps the plugin loaded: NCCL closes it with the last communicator, when other threads may still
 * run its code. */
static void stay_loaded(void)
{
    static _Atomic int stays;
    Dl_info info;
    if (!atomic_exchange(&stays, 1) && dladdr((void *)(uintptr_t)stay_loaded, &info))
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* For channel events, NCCL starts proxies, which take 40 MB of /dev/shm for each communicator. NCCL
 * crashes when there is no room for them (NVIDIA/nccl#2326). */
static bool has_room_for_proxies(void)
{
    struct statvfs shm;
    return statvfs("/dev/shm", &shm) == 0 && (uint64_t)shm.f_bavail * shm.f_frsize >= UINT64_C(512)
                                                                                          << 20;
}

static int mask_of(int types)
{
    const int level = pw_recording_level();
    int mask = PW_NCCL_GROUP | PW_NCCL_COLL | PW_NCCL_GROUP_API | PW_NCCL_COLL_API |
               PW_NCCL_KERNEL_LAUNCH | PW_NCCL_CE_COLL;
    /* Also at level 0, when collectives may be reported as messages. */
    if (level >= 1 || types & PW_NCCL_P2P_API)
        mask |= PW_NCCL_P2P | PW_NCCL_P2P_API;
    if (level >= 2)
        mask |= PW_NCCL_PROXY_OP | PW_NCCL_PROXY_STEP;
    if (pw_nccl_wants_channels() && has_room_for_proxies())
        mask |= PW_NCCL_KERNEL_CH;
    return mask & types;
}

/* Sets NCCL's mask, which all communicators share and all threads read at every call, in one store:
 * if it were 0 for a moment, a rank could miss a collective, and all its later sequence numbers
 * would be wrong. */
static void set_mask(int *mask, int types)
{
    const int wanted = mask_of(types);
    if (__atomic_load_n(mask, __ATOMIC_RELAXED) != wanted)
        __atomic_store_n(mask, wanted, __ATOMIC_RELAXED);
}

static pw_nccl_result open_comm(void **context, int *mask, int types,
                                const struct pw_nccl_comm_about *about)
{
    *context = NULL;
    if (!pw_nccl_is_wanted())
        return 0;
    stay_loaded();
    struct pw_nccl_comm *comm = pw_nccl_comm_open(about);
    pw_nccl_method_set(PW_NCCL_BY_PLUGIN); /* the mask holds for all communicators */
    pw_nccl_record_plugin();
    set_mask(mask, types);
    if (comm) {
        pw_nccl_comm_announce(comm);
        pw_nccl_current_see(comm, false);
        *context = pw_nccl_comm_handle(comm);
    }
    return 0;
}

static pw_nccl_result init_old(void **context, int *mask, int version, int types)
{
    const void *own = own_choose(version);
    if (own)
        return ((const struct pw_nccl_plugin_v1 *)own)->init(context, mask);
    const struct pw_nccl_comm_about about = {.rank = -1, .version = version};
    return open_comm(context, mask, types, &about);
}

#define INIT_OLD(version, types)                                     \
    static pw_nccl_result init_v##version(void **context, int *mask) \
    {                                                                \
        return init_old(context, mask, version, types);              \
    }
INIT_OLD(1, OLD_TYPES)
INIT_OLD(2, OLD_TYPES)
INIT_OLD(3, V3_TYPES)

static pw_nccl_result init_v4(void **context, int *mask, const char *comm_name, uint64_t comm_hash,
                              int nodes, int ranks, int rank, pw_nccl_logger log)
{
    const void *own = own_choose(4);
    if (own)
        return ((const struct pw_nccl_plugin_v4 *)own)
            ->init(context, mask, comm_name, comm_hash, nodes, ranks, rank, log);
    const struct pw_nccl_comm_about about = {comm_hash, ranks, rank, nodes, 4, comm_name};
    return open_comm(context, mask, V3_TYPES, &about);
}

#define INIT_NEW(v, types)                                                                     \
    static pw_nccl_result init_v##v(void **context, uint64_t comm_hash, int *mask,             \
                                    const char *comm_name, int nodes, int ranks, int rank,     \
                                    pw_nccl_logger log)                                        \
    {                                                                                          \
        const struct pw_nccl_plugin_v5 *own = own_choose(v);                                   \
        const struct pw_nccl_comm_about about = {comm_hash, ranks, rank, nodes, v, comm_name}; \
        return own ? own->init(context, comm_hash, mask, comm_name, nodes, ranks, rank, log)   \
                   : open_comm(context, mask, types, &about);                                  \
    }
INIT_NEW(5, V5_TYPES)
INIT_NEW(6, V6_TYPES)
INIT_NEW(7, V6_TYPES)

static pw_nccl_result finalize(void *context)
{
    const struct pw_nccl_plugin_v5 *own = own_plugin();
    if (own)
        return own->finalize(context);
    struct pw_nccl_comm *comm = pw_nccl_comm_find(context);
    if (comm)
        pw_nccl_comm_close(comm);
    return 0;
}

/* ---- events ---- */

/* Starts events whose struct is the same in all versions; sets *done to false for others. */
static void *start_common(struct pw_nccl_comm *comm, uint64_t type, void *parent,
                          const struct pw_nccl_proxy_op *proxy, bool *done)
{
    *done = true;
    switch (type) {
    case PW_NCCL_GROUP:
        return comm ? pw_nccl_plan_begin(comm) : NULL;
    case PW_NCCL_PROXY_OP:
        /* With PXN, the transfer is for another process, whose handles are invalid here. */
        return pw_nccl_proxy_begin(proxy->pid == getpid() ? parent : NULL, proxy->channel,
                                   proxy->peer, proxy->is_send != 0);
    case PW_NCCL_PROXY_STEP:
        return pw_nccl_step_begin(parent);
    default:
        *done = false;
        return NULL;
    }
}

/* What versions 1 to 4 say of a task, each in its own struct. */
struct task {
    struct pw_nccl_request request;
    uint64_t comm_hash; /* v1 to v3, with the name: from v4 on, init() is passed both */
    const char *comm_name;
};

/* Macros, because the descriptions of versions 2 to 6 have these members at different offsets. */
#define COLL_REQUEST(coll, most)                                                                 \
    {                                                                                            \
        .func = pw_nccl_func_find((coll).func), .count = (int64_t)(coll).count,                  \
        .datatype = (coll).datatype, .algorithm = (coll).algorithm, .protocol = (coll).protocol, \
        .peer = (coll).root, .channels = (most), .seq = (coll).seq                               \
    }
#define P2P_REQUEST(p2p, most)                                                \
    {                                                                         \
        .func = pw_nccl_func_find((p2p).func), .count = (int64_t)(p2p).count, \
        .datatype = (p2p).datatype, .peer = (p2p).peer, .channels = (most)    \
    }

static struct task task_v1(const void *description)
{
    const struct pw_nccl_descr_v1 *d = description;
    if (d->type == PW_NCCL_P2P)
        return (struct task){.request = {.func = d->p2p.func,
                                         .count = (int64_t)d->p2p.count,
                                         .datatype = pw_nccl_type_name(d->p2p.datatype),
                                         .peer = d->p2p.peer},
                             .comm_hash = d->p2p.comm_hash,
                             .comm_name = d->p2p.name};
    return (struct task){.request = {.func = d->coll.func,
                                     .count = (int64_t)d->coll.count,
                                     .datatype = pw_nccl_type_name(d->coll.datatype),
                                     .algorithm = pw_nccl_algorithm_name(d->coll.algorithm),
                                     .protocol = pw_nccl_protocol_name(d->coll.protocol),
                                     .peer = d->coll.root,
                                     .channels = d->coll.most_channels,
                                     .seq = d->coll.seq},
                         .comm_hash = d->coll.comm_hash,
                         .comm_name = d->coll.name};
}

#define TASK_OF_NAMED_COMM(version)                                                           \
    static struct task task_v##version(const void *description)                               \
    {                                                                                         \
        const struct pw_nccl_descr_v##version *d = description;                               \
        if (d->type == PW_NCCL_P2P)                                                           \
            return (struct task){P2P_REQUEST(d->p2p, 0), d->p2p.comm_hash, d->p2p.name};      \
        return (struct task){COLL_REQUEST(d->coll, d->coll.most_channels), d->coll.comm_hash, \
                             d->coll.name};                                                   \
    }
TASK_OF_NAMED_COMM(2)
TASK_OF_NAMED_COMM(3)

static struct task task_v4(const void *description)
{
    const struct pw_nccl_descr_v4 *d = description;
    return d->type == PW_NCCL_P2P
               ? (struct task){.request = P2P_REQUEST(d->p2p, d->p2p.channels)}
               : (struct task){.request = COLL_REQUEST(d->coll, d->coll.channels)};
}

/* v1 to v4, whose descriptions differ in tasks only: all else is where v4 has it. Versions before 3
 * have no events of channels, and version 3 has no timer in them. */
static pw_nccl_result start_old(void *context, void **handle, void *description, int version)
{
    static struct task (*const task_of[])(const void *) = {
        [1] = task_v1, task_v2, task_v3, task_v4};
    const struct pw_nccl_plugin_v5 *own = own_plugin();
    if (own)
        return own->start(context, handle, description);
    const struct pw_nccl_descr_v4 *d = description;
    struct pw_nccl_comm *comm = pw_nccl_comm_find(context);
    bool done;
    *handle = start_common(comm, d->type, d->parent, &d->proxy_op, &done);
    if (done || !comm)
        return 0;
    if (d->type == PW_NCCL_COLL || d->type == PW_NCCL_P2P) {
        const struct task task = task_of[version](description);
        if (version < 4)
            pw_nccl_comm_learn(comm, task.comm_hash, d->rank, task.comm_name);
        *handle = pw_nccl_task_begin(comm, &task.request, NULL, d->parent, false);
    } else if (d->type == PW_NCCL_KERNEL_CH && version >= 3) {
        *handle = pw_nccl_channel_begin(comm, d->parent, d->kernel_channel.channel,
                                        version >= 4 ? d->kernel_channel.timer : 0);
    }
    return 0;
}

#define START_OLD(version)                                                                  \
    static pw_nccl_result start_v##version(void *context, void **handle, void *description) \
    {                                                                                       \
        return start_old(context, handle, description, version);                            \
    }
START_OLD(1)
START_OLD(2)
START_OLD(3)
START_OLD(4)

static void *start_coll_v6(struct pw_nccl_comm *comm, const struct pw_nccl_descr_v6 *d)
{
    const struct pw_nccl_request request = COLL_REQUEST(d->coll, d->coll.channels);
    return pw_nccl_task_begin(comm, &request, d->parent, d->coll.plan, true);
}

static void *start_p2p_v6(struct pw_nccl_comm *comm, const struct pw_nccl_descr_v6 *d)
{
    const struct pw_nccl_request request = P2P_REQUEST(d->p2p, d->p2p.channels);
    return pw_nccl_task_begin(comm, &request, d->parent, d->p2p.plan, true);
}

/* A collective by copy engines has no kernel and no channels. */
static void *start_ce_v6(struct pw_nccl_comm *comm, const struct pw_nccl_descr_v6 *d)
{
    const struct pw_nccl_request request = {.func = pw_nccl_func_find(d->ce_coll.func),
                                            .count = (int64_t)d->ce_coll.count,
                                            .datatype = d->ce_coll.datatype,
                                            .algorithm = "CE",
                                            .peer = d->ce_coll.root};
    return pw_nccl_task_begin(comm, &request, d->parent, NULL, true);
}

/* Returns the function of a message. A message that is a part of a collective may have the
 * collective's name: its direction is known from its task only, and it must not be counted as a
 * collective. */
static int message_func(const char *name)
{
    const int func = pw_nccl_func_find(name);
    const bool is_whole =
        func == PW_NCCL_ALLTOALL || func == PW_NCCL_SCATTER || func == PW_NCCL_GATHER;
    return is_whole ? PW_NCCL_SENDRECV : func;
}

static void *start_message_v6(struct pw_nccl_comm *comm, const struct pw_nccl_descr_v6 *d)
{
    const int func = message_func(d->p2p_api.func);
    const struct pw_nccl_request request = {.func = func,
                                            .count = (int64_t)d->p2p_api.count,
                                            .datatype = d->p2p_api.datatype,
                                            .peer = pw_nccl_current_peer(func),
                                            .is_captured = d->p2p_api.graph_captured,
                                            .stream = d->p2p_api.stream};
    bool is_part;
    void *whole = pw_nccl_current_collective(comm, request.is_captured, &is_part);
    return is_part ? whole : pw_nccl_call_begin(comm, &request);
}

static void *start_call_v6(struct pw_nccl_comm *comm, const struct pw_nccl_descr_v6 *d)
{
    const struct pw_nccl_request request = {.func = pw_nccl_func_find(d->coll_api.func),
                                            .count = (int64_t)d->coll_api.count,
                                            .datatype = d->coll_api.datatype,
                                            .peer = d->coll_api.root,
                                            .is_captured = d->coll_api.graph_captured,
                                            .stream = d->coll_api.stream};
    pw_nccl_current_see(comm, true);
    return pw_nccl_call_begin(comm, &request);
}

/* v5 to v7. */
static pw_nccl_result start_v6(void *context, void **handle, void *description)
{
    const struct pw_nccl_plugin_v5 *own = own_plugin();
    if (own)
        return own->start(context, handle, description);
    const struct pw_nccl_descr_v6 *d = description;
    struct pw_nccl_comm *comm = pw_nccl_comm_find(context);
    bool done;
    *handle = start_common(comm, d->type, d->parent, &d->proxy_op, &done);
    if (done || !comm)
        return 0;
    switch (d->type) {
    case PW_NCCL_COLL_API:
        *handle = start_call_v6(comm, d);
        break;
    case PW_NCCL_P2P_API:
        *handle = start_message_v6(comm, d);
        break;
    case PW_NCCL_KERNEL_LAUNCH:
        *handle = pw_nccl_launch_begin(comm);
        break;
    case PW_NCCL_COLL:
        *handle = start_coll_v6(comm, d);
        break;
    case PW_NCCL_P2P:
        *handle = start_p2p_v6(comm, d);
        break;
    case PW_NCCL_CE_COLL:
        *handle = start_ce_v6(comm, d);
        break;
    case PW_NCCL_KERNEL_CH:
        *handle = pw_nccl_channel_begin(comm, d->parent, d->kernel_channel.channel,
                                        d->kernel_channel.timer);
        break;
    default: /* PW_NCCL_GROUP_API: not recorded, its calls have all that is needed */
        break;
    }
    return 0;
}

static pw_nccl_result stop(void *handle)
{
    const struct pw_nccl_plugin_v5 *own = own_plugin();
    if (own)
        return own->stop(handle);
    pw_nccl_event_end(handle);
    return 0;
}

/* In v1 to v3, the args have no bytes of the step, only those of the operation so far. */
static pw_nccl_result state_old(void *handle, int state, void *args)
{
    const struct pw_nccl_plugin_v5 *own = own_plugin();
    if (own)
        return own->state(handle, state, args);
    pw_nccl_step_state(handle, state, 0);
    return 0;
}

static pw_nccl_result state_new(void *handle, int state, void *args)
{
    const struct pw_nccl_plugin_v5 *own = own_plugin();
    const union pw_nccl_state_args *a = args;
    if (own)
        return own->state(handle, state, args);
    if (state == PW_NCCL_KERNEL_CH_STOP && a)
        pw_nccl_channel_stopped(handle, a->kernel_channel.timer);
    else
        pw_nccl_step_state(handle, state, a ? a->proxy_step.transferred_bytes : 0);
    return 0;
}

#define NAME "profwrap"
EXPORT extern const struct pw_nccl_plugin_v1 ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3;
EXPORT extern const struct pw_nccl_plugin_v4 ncclProfiler_v4;
EXPORT extern const struct pw_nccl_plugin_v5 ncclProfiler_v5, ncclProfiler_v6;
EXPORT extern const struct pw_nccl_plugin_v7 ncclProfiler_v7;

const struct pw_nccl_plugin_v1 ncclProfiler_v1 = {NAME, init_v1,   start_v1,
                                                  stop, state_old, finalize};
const struct pw_nccl_plugin_v1 ncclProfiler_v2 = {NAME, init_v2,   start_v2,
                                                  stop, state_old, finalize};
const struct pw_nccl_plugin_v1 ncclProfiler_v3 = {NAME, init_v3,   start_v3,
                                                  stop, state_old, finalize};
const struct pw_nccl_plugin_v4 ncclProfiler_v4 = {NAME, init_v4,   start_v4,
                                                  stop, state_new, finalize};
const struct pw_nccl_plugin_v5 ncclProfiler_v5 = {NAME, init_v5,   start_v6,
                                                  stop, state_new, finalize};
const struct pw_nccl_plugin_v5 ncclProfiler_v6 = {NAME, init_v6,   start_v6,
                                                  stop, state_new, finalize};
const struct pw_nccl_plugin_v7 ncclProfiler_v7 = {
    {NAME, init_v7, start_v6, stop, state_new, finalize}, {0}};
