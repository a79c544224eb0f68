/* The sequences of NCCL; see ncclhost.h. */
#include "ncclinside.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const funcs[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                    "AllReduce", "SendRecv", "Send",      "Recv",
                                    "AlltoAll",  "Scatter",  "Gather"};
static const char *const types[] = {"ncclInt8",    "Unknown",     "ncclInt32",   "ncclUint32",
                                    "ncclInt64",   "ncclUint64",  "ncclFloat16", "ncclFloat32",
                                    "ncclFloat64", "ncclBfloat16"};
enum { RING = 1, SIMPLE = 2, MASK_BYTES = 4096 };

/* As from 2.26 on (openPluginLib in src/plugin/plugin_open.cc): a longer path is cut off, and what
 * STATIC_PLUGIN begins with, in any case, means the program's own image. */
static void *open_plugin(const char *name)
{
    char path[255];
    snprintf(path, sizeof(path), "%s", name);
    const bool is_static = strncasecmp(path, "STATIC_PLUGIN", strlen(path)) == 0;
    return dlopen(is_static ? NULL : path, RTLD_NOW | RTLD_LOCAL);
}

bool host_load(struct host *host, int version)
{
    const char *name = getenv("NCCL_PROFILER_PLUGIN");
    void *library = name && *name ? open_plugin(name) : NULL;
    *host = (struct host){.version = version};
    for (int v = version ? version : 7; library && v >= (version ? version : 1); v--) {
        char symbol[32];
        snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", v);
        host->table = dlsym(library, symbol);
        host->version = v;
        if (host->table)
            break;
    }
    if (!host->table)
        return false;
    /* All versions have the same functions behind init. */
    const struct pw_nccl_plugin_v1 *plugin = host->table;
    host->start = plugin->start;
    host->stop = plugin->stop;
    host->state = plugin->state;
    host->finalize = plugin->finalize;
    host->mask = mmap(NULL, MASK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return host->mask != MAP_FAILED;
}

void host_protect_mask(struct host *host)
{
    mprotect(host->mask, MASK_BYTES, PROT_READ);
}

void host_comm_init(struct host_comm *comm, struct host *host, const char *name, uint64_t hash,
                    int ranks, int rank)
{
    *comm = (struct host_comm){host, NULL, name, hash, {0}, ranks, rank};
    if (host->version <= 3)
        ((const struct pw_nccl_plugin_v1 *)host->table)->init(&comm->context, host->mask);
    else if (host->version == 4)
        ((const struct pw_nccl_plugin_v4 *)host->table)
            ->init(&comm->context, host->mask, name, hash, 1, ranks, rank, NULL);
    else
        ((const struct pw_nccl_plugin_v5 *)host->table)
            ->init(&comm->context, hash, host->mask, name, 1, ranks, rank, NULL);
}

void host_comm_end(struct host_comm *comm)
{
    if (comm->context)
        comm->host->finalize(comm->context);
    comm->context = NULL;
}

/* *handle keeps what it was when the plugin does not set it. */
void *host_start(struct host_comm *comm, void *description)
{
    void *handle = (void *)(intptr_t)-16;
    comm->host->start(comm->context, &handle, description);
    return handle;
}

void host_stop(struct host_comm *comm, void *handle)
{
    if (handle)
        comm->host->stop(handle);
}

void host_head(const struct host_comm *comm, union descr *d, uint64_t type, void *parent)
{
    memset(d, 0, sizeof(*d));
    if (comm->host->version >= 5)
        d->v6.type = type;
    else
        d->v1.type = (uint8_t)type;
    /* The same place in v1 to v4, whose types are shorter, as in the others. */
    d->v1.parent = parent;
    d->v1.rank = comm->rank;
}

static bool is_p2p(int func)
{
    return func == HOST_SEND || func == HOST_RECV;
}

static bool is_of_messages(int func)
{
    return func == HOST_ALLTOALL || func == HOST_SCATTER || func == HOST_GATHER;
}

/* What Coll says of these two is in bytes. */
static bool counts_bytes(int func)
{
    return func == HOST_ALLGATHER || func == HOST_BROADCAST;
}

static size_t size_of(int datatype)
{
    return datatype == HOST_INT8 ? 1 : datatype == HOST_BFLOAT16 ? 2 : 4;
}

static void fill_old(const struct host_comm *comm, const struct host_op *op, union descr *d)
{
    const int datatype = counts_bytes(op->func) ? HOST_INT8 : op->datatype;
    const size_t count = op->count * (counts_bytes(op->func) ? size_of(op->datatype) : 1);
#define COLL(v, f, t, a, p)                                                             \
    d->v.coll.name = comm->name, d->v.coll.comm_hash = comm->hash,                      \
    d->v.coll.seq = comm->seq[op->func], d->v.coll.func = (f), d->v.coll.count = count, \
    d->v.coll.root = op->peer, d->v.coll.datatype = (t), d->v.coll.most_channels = 4,   \
    d->v.coll.algorithm = (a), d->v.coll.protocol = (p)
#define P2P(v, f, t)                                                                  \
    d->v.p2p.name = comm->name, d->v.p2p.comm_hash = comm->hash, d->v.p2p.func = (f), \
    d->v.p2p.count = op->count, d->v.p2p.datatype = (t), d->v.p2p.peer = op->peer
    switch (comm->host->version * 2 + is_p2p(op->func)) {
    case 2:
        COLL(v1, (uint8_t)op->func, (uint8_t)datatype, RING, SIMPLE);
        break;
    case 3:
        P2P(v1, (uint8_t)op->func, (uint8_t)op->datatype);
        break;
    case 4:
        COLL(v2, funcs[op->func], types[datatype], "RING", "SIMPLE");
        break;
    case 5:
        P2P(v2, funcs[op->func], types[op->datatype]);
        break;
    case 6:
        COLL(v3, funcs[op->func], types[datatype], "RING", "SIMPLE");
        break;
    default:
        P2P(v3, funcs[op->func], types[op->datatype]);
        break;
    }
}

static void fill_new(const struct host_comm *comm, const struct host_op *op, union descr *d,
                     void *plan)
{
    const int datatype = counts_bytes(op->func) ? HOST_INT8 : op->datatype;
    const size_t count = op->count * (counts_bytes(op->func) ? size_of(op->datatype) : 1);
#define NEW(v)                                                                                    \
    if (is_p2p(op->func))                                                                         \
        d->v.p2p.func = funcs[op->func], d->v.p2p.count = op->count,                              \
        d->v.p2p.datatype = types[op->datatype], d->v.p2p.peer = op->peer, d->v.p2p.channels = 2; \
    else                                                                                          \
        d->v.coll.seq = comm->seq[op->func], d->v.coll.func = funcs[op->func],                    \
        d->v.coll.count = count, d->v.coll.root = op->peer, d->v.coll.datatype = types[datatype], \
        d->v.coll.channels = 4, d->v.coll.algorithm = "RING", d->v.coll.protocol = "SIMPLE"
    if (comm->host->version == 4) {
        NEW(v4);
    } else {
        NEW(v6);
        if (is_p2p(op->func))
            d->v6.p2p.plan = plan;
        else
            d->v6.coll.plan = plan;
    }
}

/* Whether what the plugin has asked for needs events of this kind. */
static bool wants(const struct host_comm *comm, int kinds)
{
    return *comm->host->mask &
           (kinds | PW_NCCL_PROXY_OP | PW_NCCL_PROXY_STEP | PW_NCCL_KERNEL_CH | PW_NCCL_NET_PLUGIN);
}

static void start_task(struct host_comm *comm, struct host_op *op, void *plan)
{
    union descr d;
    if (is_p2p(op->func) && !wants(comm, PW_NCCL_P2P))
        return;
    const uint64_t type = is_p2p(op->func) ? PW_NCCL_P2P : PW_NCCL_COLL;
    host_head(comm, &d, type, comm->host->version >= 5 ? op->call : plan);
    if (comm->host->version <= 3)
        fill_old(comm, op, &d);
    else
        fill_new(comm, op, &d, plan);
    op->task = host_start(comm, &d);
    if (!op->captured)
        comm->seq[op->func]++;
}

/* The task of each message has its message's call as its parent. */
static void start_parts(struct host_comm *comm, struct host_op *whole, void *plan)
{
    for (int i = 0; i < whole->nparts; i++) {
        struct host_op part = {.func = whole->parts[i].func,
                               .count = whole->count,
                               .datatype = whole->datatype,
                               .peer = whole->parts[i].peer,
                               .call = whole->parts[i].call};
        start_task(comm, &part, plan);
        whole->parts[i].task = whole->task = part.task;
    }
}

static void stop_parts(struct host_comm *comm, const struct host_op *whole)
{
    for (int i = 0; i < whole->nparts; i++)
        host_stop(comm, whole->parts[i].task);
}

static void tasks(struct host_comm *comm, struct host_op *ops, int n)
{
    union descr d;
    host_head(comm, &d, PW_NCCL_GROUP, NULL);
    void *plan = host_start(comm, &d);
    /* Versions before 2.25 have no tasks without a plan. */
    for (int i = 0; i < n && (plan || comm->host->version > 2); i++)
        if (is_of_messages(ops[i].func))
            start_parts(comm, &ops[i], plan);
        else
            start_task(comm, &ops[i], plan);
    for (int i = 0; i < n; i++)
        if (is_of_messages(ops[i].func))
            stop_parts(comm, &ops[i]);
        else if (comm->host->version == 1)
            comm->host->stop(ops[i].task); /* whatever it is */
        else
            host_stop(comm, ops[i].task);
    host_stop(comm, plan);
}

/* From v7 on a tag of the program's, behind what v6 has. */
static void tag(const struct host_comm *comm, void *members, size_t size)
{
    const uint64_t of_the_program = UINT64_MAX;
    if (comm->host->version >= 7)
        memcpy((char *)members + size, &of_the_program, sizeof(of_the_program));
}

/* A call of the program's, from its description to its end; `members` are those of its kind. */
static void *called(struct host_comm *comm, union descr *d, void *members, size_t size)
{
    tag(comm, members, size);
    void *handle = host_start(comm, d);
    host_stop(comm, handle);
    return handle;
}

static void *call_p2p(struct host_comm *comm, const struct host_op *op, int func, void *group)
{
    union descr d;
    if (!wants(comm, PW_NCCL_P2P | PW_NCCL_P2P_API))
        return NULL;
    host_head(comm, &d, PW_NCCL_P2P_API, group);
    /* Whichever of the two: the source does not say whether info->coll is the message's by then. */
    d.v6.p2p_api.func = funcs[getenv("NCCLPLAY_WHOLE_NAMES") ? op->func : func];
    d.v6.p2p_api.count = op->count;
    d.v6.p2p_api.datatype = types[op->datatype];
    d.v6.p2p_api.stream = comm;
    d.v6.p2p_api.graph_captured = op->captured;
    return called(comm, &d, &d.v6.p2p_api, sizeof(d.v6.p2p_api));
}

static void *call_coll(struct host_comm *comm, const struct host_op *op, void *group)
{
    union descr d;
    if (!wants(comm, PW_NCCL_COLL | PW_NCCL_COLL_API | PW_NCCL_CE_COLL))
        return NULL;
    host_head(comm, &d, PW_NCCL_COLL_API, group);
    d.v6.coll_api.func = funcs[op->func];
    d.v6.coll_api.count = op->count;
    d.v6.coll_api.datatype = types[op->datatype];
    d.v6.coll_api.root = op->peer;
    d.v6.coll_api.stream = comm;
    d.v6.coll_api.graph_captured = op->captured;
    return called(comm, &d, &d.v6.coll_api, sizeof(d.v6.coll_api));
}

static void call_part(struct host_comm *comm, struct host_op *op, int func, int peer, void *group)
{
    if (op->nparts == HOST_MOST_PARTS)
        return;
    op->parts[op->nparts].func = func;
    op->parts[op->nparts].peer = peer;
    op->parts[op->nparts++].call = call_p2p(comm, op, func, group);
}

/* From 2.28.3 on (taskAppend in src/enqueue.cc), up to 2.30.7 at least: no call of the collective,
 * but one of each of its messages, those to itself, too. */
static void call_parts(struct host_comm *comm, struct host_op *op, void *group)
{
    const bool is_root = comm->rank == op->peer;
    op->nparts = 0;
    if (op->func == HOST_GATHER)
        call_part(comm, op, HOST_SEND, op->peer, group);
    for (int r = 0; r < comm->ranks; r++) {
        if (op->func == HOST_ALLTOALL || (op->func == HOST_SCATTER && is_root))
            call_part(comm, op, HOST_SEND, r, group);
        if (op->func == HOST_ALLTOALL || (op->func == HOST_GATHER && is_root))
            call_part(comm, op, HOST_RECV, r, group);
    }
    if (op->func == HOST_SCATTER)
        call_part(comm, op, HOST_RECV, op->peer, group);
}

static void call(struct host_comm *comm, struct host_op *op, void *group)
{
    if (is_of_messages(op->func))
        call_parts(comm, op, group);
    else if (is_p2p(op->func))
        op->call = call_p2p(comm, op, op->func, group);
    else
        op->call = call_coll(comm, op, group);
}

static void calls(struct host_comm *comm, struct host_op *ops, int n)
{
    union descr d;
    host_head(comm, &d, PW_NCCL_GROUP_API, NULL);
    void *group = host_start(comm, &d);
    if (group)
        comm->host->state(group, 23, NULL);
    for (int i = 0; i < n; i++)
        call(comm, &ops[i], group);
    if (group)
        comm->host->state(group, 24, NULL);
    if (*comm->host->mask & PW_NCCL_KERNEL_LAUNCH) {
        host_head(comm, &d, PW_NCCL_KERNEL_LAUNCH, group);
        d.v6.kernel_launch.stream = comm;
        void *launch = host_start(comm, &d);
        if (comm->host->launch_us)
            usleep(comm->host->launch_us);
        if (comm->host->launch)
            comm->host->launch();
        host_stop(comm, launch);
    }
    host_stop(comm, group);
}

void host_group(struct host_comm *comm, struct host_op *ops, int n)
{
    if (comm->ranks == 1)
        return; /* copied, without a word to the profiler */
    if (comm->host->version >= 5)
        calls(comm, ops, n);
    if (!ops[0].captured)
        tasks(comm, ops, n);
}

void host_symmetric(struct host_comm *comm, struct host_op *op)
{
    calls(comm, op, 1);
}

void host_replay(struct host_comm *comm, struct host_op *ops, int n)
{
    tasks(comm, ops, n);
}

void host_ce(struct host_comm *comm, struct host_op *op)
{
    union descr d;
    if (comm->host->version < 6)
        return;
    calls(comm, op, 1);
    if (!(*comm->host->mask & PW_NCCL_CE_COLL))
        return;
    host_head(comm, &d, PW_NCCL_CE_COLL, op->call);
    d.v6.ce_coll.func = funcs[op->func];
    d.v6.ce_coll.count = op->count;
    d.v6.ce_coll.datatype = types[op->datatype];
    d.v6.ce_coll.stream = comm;
    op->task = host_start(comm, &d);
    host_head(comm, &d, PW_NCCL_CE_BATCH, op->task);
    host_stop(comm, host_start(comm, &d));
    host_stop(comm, op->task);
}
