/* A stand-in for libnccl.so.2, whose functions do nothing. It acts as a library without a profiler
 * plugin or, with NCCLSTAND_VERSION, with that version of the plugin interface. With NCCLSTAND_CE,
 * copy engines do allgathers. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ncclhost.h"
#include "ncclstand.h"

enum { MEETINGS = 16, MOST_RANKS = 16, MOST_OPS = 1024 };

/* What the ranks of a communicator have called. */
struct meeting {
    _Atomic uint64_t hash; /* of the communicator; 0: free */
    _Atomic int come, called[MOST_RANKS];
    _Atomic uint32_t what[MOST_RANKS][MOST_OPS];
    _Atomic int sent[MOST_RANKS][MOST_RANKS], received[MOST_RANKS][MOST_RANKS]; /* from, to */
};

struct stand_comm {
    struct host host;
    struct host_comm comm;
    int ranks, rank;
    bool has_plugin;
    struct meeting *meeting; /* NULL: none */
};

static struct meeting *meeting_of(uint64_t hash)
{
    const char *path = getenv("NCCLSTAND_MEETING");
    const int file = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
    const size_t bytes = MEETINGS * sizeof(struct meeting);
    if (file < 0 || ftruncate(file, (off_t)bytes))
        return NULL;
    struct meeting *all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    for (int i = 0; all != MAP_FAILED && i < MEETINGS; i++) {
        uint64_t free = 0;
        if (atomic_compare_exchange_strong(&all[i].hash, &free, hash) || free == hash)
            return &all[i];
    }
    return NULL;
}

/* Whether all ranks have called the rank's collectives up to `n`, in its order, and its partners as
 * many messages. */
static bool is_done(const struct meeting *m, const struct stand_comm *c, int n)
{
    for (int r = 0; r < c->ranks; r++) {
        if (atomic_load(&m->sent[c->rank][r]) > atomic_load(&m->received[c->rank][r]) ||
            atomic_load(&m->received[r][c->rank]) > atomic_load(&m->sent[r][c->rank]))
            return false;
        if (atomic_load(&m->called[r]) < n)
            return false;
        for (int i = n > MOST_OPS / 2 ? n - MOST_OPS / 2 : 0; i < n; i++)
            if (atomic_load(&m->what[r][i % MOST_OPS]) !=
                atomic_load(&m->what[c->rank][i % MOST_OPS]))
                return false;
    }
    return true;
}

void stand_synchronize(void *comm)
{
    const struct stand_comm *c = comm;
    const struct meeting *m = c->meeting;
    const int n = m ? atomic_load(&m->called[c->rank]) : 0;
    while (m && !is_done(m, c, n))
        usleep(500);
}

static void meet(struct stand_comm *c, int func, size_t count, int peer)
{
    struct meeting *m = c->meeting;
    if (!m)
        return;
    if (func == HOST_SEND)
        atomic_fetch_add(&m->sent[c->rank][peer], 1);
    if (func == HOST_RECV)
        atomic_fetch_add(&m->received[peer][c->rank], 1);
    if (func == HOST_SEND || func == HOST_RECV)
        return;
    const int n = atomic_load(&m->called[c->rank]);
    atomic_store(&m->what[c->rank][n % MOST_OPS],
                 (uint32_t)func << 24 ^ (uint32_t)peer << 16 ^ (uint32_t)count);
    atomic_store(&m->called[c->rank], n + 1);
}

/* With NCCLSTAND_BLOCKING calls return when the others have made them, as the first ones do that
 * connect the ranks. */
static int act(struct stand_comm *c, int func, size_t count, int type, int peer)
{
    struct host_op op = {.func = func, .count = count, .datatype = type, .peer = peer};
    meet(c, func, count, peer);
    if (getenv("NCCLSTAND_BLOCKING"))
        stand_synchronize(c);
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
    c->meeting = meeting_of(hash);
    if (c->meeting)
        atomic_fetch_add(&c->meeting->come, 1);
    while (c->meeting && atomic_load(&c->meeting->come) < ranks)
        usleep(500);
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

int ncclCommAbort(void *comm)
{
    return ncclCommDestroy(comm);
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
