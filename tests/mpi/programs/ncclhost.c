/* The sequences of NCCL; see ncclhost.h. */
#include "ncclhost.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

union descr {
    struct pw_nccl_descr_v1 v1;
    struct pw_nccl_descr_v2 v2;
    struct pw_nccl_descr_v3 v3;
    struct pw_nccl_descr_v4 v4;
    struct pw_nccl_descr_v6 v6;
};

static const char *const funcs[] = {"Broadcast",     "Reduce",    "AllGather",
                                    "ReduceScatter", "AllReduce", "SendRecv",
                                    "Send",          "Recv",      "AlltoAll"};
static const char *const types[] = {"ncclInt8",    "Unknown",     "ncclInt32",   "ncclUint32",
                                    "ncclInt64",   "ncclUint64",  "ncclFloat16", "ncclFloat32",
                                    "ncclFloat64", "ncclBfloat16"};
enum { RING = 1, SIMPLE = 2, MASK_BYTES = 4096 };

bool host_load(struct host *host, int version)
{
    const char *path = getenv("NCCL_PROFILER_PLUGIN");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    *host = (struct host){.version = version};
    for (int v = version ? version : 6; library && v >= (version ? version : 1); v--) {
        char name[32];
        snprintf(name, sizeof(name), "ncclProfiler_v%d", v);
        host->table = dlsym(library, name);
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
static void *start(struct host_comm *comm, void *description)
{
    void *handle = (void *)(intptr_t)-16;
    comm->host->start(comm->context, &handle, description);
    return handle;
}

static void stop(struct host_comm *comm, void *handle)
{
    if (handle)
        comm->host->stop(handle);
}

static void head(const struct host_comm *comm, union descr *d, uint64_t type, void *parent)
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

static void start_task(struct host_comm *comm, struct host_op *op, void *plan)
{
    union descr d;
    const uint64_t type = is_p2p(op->func) ? PW_NCCL_P2P : PW_NCCL_COLL;
    head(comm, &d, type, comm->host->version >= 5 ? op->call : plan);
    if (comm->host->version <= 3)
        fill_old(comm, op, &d);
    else
        fill_new(comm, op, &d, plan);
    op->task = start(comm, &d);
    if (!op->captured)
        comm->seq[op->func]++;
}

/* AlltoAll is done by messages, which have no call of their own. */
static void parts(struct host_comm *comm, const struct host_op *whole, void *plan)
{
    for (int func = HOST_SEND; func <= HOST_RECV; func++) {
        struct host_op part = {
            .func = func, .count = whole->count, .datatype = whole->datatype, .peer = !comm->rank};
        start_task(comm, &part, plan);
        stop(comm, part.task);
    }
}

static void tasks(struct host_comm *comm, struct host_op *ops, int n)
{
    union descr d;
    head(comm, &d, PW_NCCL_GROUP, NULL);
    void *plan = start(comm, &d);
    /* Versions before 2.25 have no tasks without a plan. */
    for (int i = 0; i < n && (plan || comm->host->version > 2); i++)
        if (ops[i].func == HOST_ALLTOALL)
            parts(comm, &ops[i], plan);
        else
            start_task(comm, &ops[i], plan);
    for (int i = 0; i < n; i++)
        if (comm->host->version == 1)
            comm->host->stop(ops[i].task); /* whatever it is */
        else
            stop(comm, ops[i].task);
    stop(comm, plan);
}

static void call(struct host_comm *comm, struct host_op *op, void *group)
{
    union descr d;
    head(comm, &d, is_p2p(op->func) ? PW_NCCL_P2P_API : PW_NCCL_COLL_API, group);
    if (is_p2p(op->func)) {
        d.v6.p2p_api.func = funcs[op->func];
        d.v6.p2p_api.count = op->count;
        d.v6.p2p_api.datatype = types[op->datatype];
        d.v6.p2p_api.stream = comm;
        d.v6.p2p_api.graph_captured = op->captured;
    } else {
        d.v6.coll_api.func = funcs[op->func];
        d.v6.coll_api.count = op->count;
        d.v6.coll_api.datatype = types[op->datatype];
        d.v6.coll_api.root = op->peer;
        d.v6.coll_api.stream = comm;
        d.v6.coll_api.graph_captured = op->captured;
    }
    op->call = start(comm, &d);
    stop(comm, op->call);
}

static void calls(struct host_comm *comm, struct host_op *ops, int n)
{
    union descr d;
    head(comm, &d, PW_NCCL_GROUP_API, NULL);
    void *group = start(comm, &d);
    if (group)
        comm->host->state(group, 23, NULL);
    for (int i = 0; i < n; i++)
        call(comm, &ops[i], group);
    if (group)
        comm->host->state(group, 24, NULL);
    if (*comm->host->mask & PW_NCCL_KERNEL_LAUNCH) {
        head(comm, &d, PW_NCCL_KERNEL_LAUNCH, group);
        d.v6.kernel_launch.stream = comm;
        void *launch = start(comm, &d);
        if (comm->host->launch_us)
            usleep(comm->host->launch_us);
        if (comm->host->launch)
            comm->host->launch();
        stop(comm, launch);
    }
    stop(comm, group);
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

void host_replay(struct host_comm *comm, struct host_op *ops, int n)
{
    tasks(comm, ops, n);
}

void host_channel(struct host_comm *comm, const struct host_op *op, int channel, uint64_t begin,
                  uint64_t end)
{
    union descr d;
    union pw_nccl_state_args args = {.kernel_channel.timer = end};
    if (!(*comm->host->mask & PW_NCCL_KERNEL_CH))
        return;
    head(comm, &d, PW_NCCL_KERNEL_CH, op->task);
    if (comm->host->version == 3) {
        d.v3.kernel_channel.channel = (uint8_t)channel;
    } else if (comm->host->version == 4) {
        d.v4.kernel_channel.channel = (uint8_t)channel;
        d.v4.kernel_channel.timer = begin;
    } else {
        d.v6.kernel_channel.channel = (uint8_t)channel;
        d.v6.kernel_channel.timer = begin;
    }
    void *handle = start(comm, &d);
    if (!handle)
        return;
    if (comm->host->version > 3)
        comm->host->state(handle, PW_NCCL_KERNEL_CH_STOP, &args);
    stop(comm, handle);
}

void host_proxy(struct host_comm *comm, const struct host_op *op, int pid, int peer, bool sends,
                int steps)
{
    union descr d;
    union pw_nccl_state_args args = {0};
    if (!(*comm->host->mask & PW_NCCL_PROXY_OP))
        return;
    head(comm, &d, PW_NCCL_PROXY_OP, op->task);
    struct pw_nccl_proxy_op *proxy = comm->host->version >= 5 ? &d.v6.proxy_op : &d.v1.proxy_op;
    *proxy = (struct pw_nccl_proxy_op){pid, 1, peer, steps, 1 << 16, sends};
    void *handle = start(comm, &d);
    for (int i = 0; i < steps && handle; i++) {
        head(comm, &d, PW_NCCL_PROXY_STEP, handle);
        if (comm->host->version >= 5)
            d.v6.proxy_step.step = i;
        else
            d.v1.proxy_step.step = i;
        void *step = start(comm, &d);
        usleep(2000); /* for the GPU, or the network */
        args.proxy_step.transferred_bytes = 1000;
        comm->host->state(step, sends ? PW_NCCL_STEP_SEND_WAIT : PW_NCCL_STEP_RECV_FLUSH_WAIT,
                          &args);
        usleep(1000);
        stop(comm, step);
    }
    stop(comm, handle);
}

void host_ce(struct host_comm *comm, struct host_op *op)
{
    union descr d;
    calls(comm, op, 1);
    if (!(*comm->host->mask & PW_NCCL_CE_COLL))
        return;
    head(comm, &d, PW_NCCL_CE_COLL, op->call);
    d.v6.ce_coll.func = funcs[op->func];
    d.v6.ce_coll.count = op->count;
    d.v6.ce_coll.datatype = types[op->datatype];
    d.v6.ce_coll.stream = comm;
    op->task = start(comm, &d);
    head(comm, &d, PW_NCCL_CE_BATCH, op->task);
    stop(comm, start(comm, &d));
    stop(comm, op->task);
}

int host_all_types(struct host_comm *comm)
{
    int handles = 0;
    for (int bit = 0; bit < (comm->host->version >= 5 ? 20 : 8); bit++) {
        union descr d;
        head(comm, &d, (uint64_t)1 << bit, NULL);
        if (1 << bit == PW_NCCL_COLL || 1 << bit == PW_NCCL_P2P)
            continue; /* their texts may not be NULL */
        void *handle = start(comm, &d);
        handles += handle != NULL;
        stop(comm, handle);
        stop(comm, handle); /* once too often */
    }
    return handles;
}

void host_meet(const char *variable, int turn, int ranks)
{
    static _Atomic int *arrived;
    const char *path = getenv(variable);
    int fd = arrived || !path ? -1 : open(path, O_RDWR | O_CREAT, 0600);
    if (fd >= 0 && ftruncate(fd, 4096) == 0)
        arrived = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    atomic_fetch_add(&arrived[turn], 1);
    while (atomic_load(&arrived[turn]) < ranks)
        usleep(100);
}
