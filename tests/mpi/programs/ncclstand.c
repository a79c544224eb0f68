/* A stand-in for libnccl.so.2, whose functions do nothing. It acts as a library without a profiler
 * plugin or, with NCCLSTAND_VERSION, with that version of the plugin interface. With NCCLSTAND_CE,
 * copy engines do allgathers. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ncclhost.h"
#include "ncclstand.h"

struct stand_comm {
    struct host host;
    struct host_comm comm;
    int ranks, rank;
    bool has_plugin;
};

static int act(struct stand_comm *c, int func, size_t count, int type, int peer)
{
    struct host_op op = {.func = func, .count = count, .datatype = type, .peer = peer};
    if (!c->has_plugin)
        return 0;
    if (func == HOST_ALLGATHER && getenv("NCCLSTAND_CE"))
        host_ce(&c->comm, &op);
    else
        host_group(&c->comm, &op, 1);
    return 0;
}

int ncclGetUniqueId(struct stand_id *id)
{
    memset(id, 7, sizeof(*id));
    return 0;
}

int ncclCommInitRank(void **comm, int ranks, struct stand_id id, int rank)
{
    struct stand_comm *c = calloc(1, sizeof(*c));
    uint64_t hash;
    memcpy(&hash, id.bytes, sizeof(hash));
    c->ranks = ranks;
    c->rank = rank;
    c->has_plugin =
        getenv("NCCLSTAND_VERSION") && host_load(&c->host, atoi(getenv("NCCLSTAND_VERSION")));
    if (c->has_plugin)
        host_comm_init(&c->comm, &c->host, "stand", hash, ranks, rank);
    *comm = c;
    return 0;
}

int ncclCommSplit(void *comm, int color, int key, void **made, void *config)
{
    struct stand_comm *c = calloc(1, sizeof(*c));
    (void)config;
    *c = *(struct stand_comm *)comm;
    c->rank = key;
    *made = color < 0 ? NULL : c;
    return 0;
}

int ncclCommCount(void *comm, int *count)
{
    *count = ((struct stand_comm *)comm)->ranks;
    return 0;
}

int ncclCommUserRank(void *comm, int *rank)
{
    *rank = ((struct stand_comm *)comm)->rank;
    return 0;
}

int ncclCommDestroy(void *comm)
{
    struct stand_comm *c = comm;
    if (c->has_plugin)
        host_comm_end(&c->comm);
    free(c);
    return 0;
}

int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm,
                  void *stream)
{
    (void)send;
    (void)recv;
    (void)op;
    (void)stream;
    return act(comm, HOST_ALLREDUCE, count, type, 0);
}

int ncclBroadcast(const void *send, void *recv, size_t count, int type, int root, void *comm,
                  void *stream)
{
    (void)send;
    (void)recv;
    (void)stream;
    return act(comm, HOST_BROADCAST, count, type, root);
}

/* As in NCCL, by its own function. */
int ncclBcast(void *buffer, size_t count, int type, int root, void *comm, void *stream)
{
    return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

int ncclSend(const void *buffer, size_t count, int type, int peer, void *comm, void *stream)
{
    (void)buffer;
    (void)stream;
    return act(comm, HOST_SEND, count, type, peer);
}

int ncclRecv(void *buffer, size_t count, int type, int peer, void *comm, void *stream)
{
    (void)buffer;
    (void)stream;
    return act(comm, HOST_RECV, count, type, peer);
}

int ncclAllGather(const void *send, void *recv, size_t count, int type, void *comm, void *stream)
{
    (void)send;
    (void)recv;
    (void)stream;
    return act(comm, HOST_ALLGATHER, count, type, 0);
}

int ncclAlltoAll(const void *send, void *recv, size_t count, int type, void *comm, void *stream)
{
    (void)send;
    (void)recv;
    (void)stream;
    return act(comm, HOST_ALLTOALL, count, type, 0);
}

int ncclGather(const void *send, void *recv, size_t count, int type, int root, void *comm,
               void *stream)
{
    (void)send;
    (void)recv;
    (void)stream;
    return act(comm, HOST_GATHER, count, type, root);
}

int ncclScatter(const void *send, void *recv, size_t count, int type, int root, void *comm,
                void *stream)
{
    (void)send;
    (void)recv;
    (void)stream;
    return act(comm, HOST_SCATTER, count, type, root);
}
