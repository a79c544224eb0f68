/* Acts as NCCL towards its profiler plugin: calls the plugin's functions in the same order as NCCL
 * 2.23 to 2.30, according to NCCL's public sources (src/plugin/profiler.cc, src/misc/profiler.cc,
 * src/enqueue.cc, src/group.cc). */
#ifndef PW_TEST_NCCLHOST_H
#define PW_TEST_NCCLHOST_H

#include "collectors/nccl/nccl_abi.h"

struct host {
    int version;
    int *mask; /* one for all communicators, as in NCCL: threads read it while others write */
    unsigned launch_us;   /* how long the launch of a kernel takes */
    void (*launch)(void); /* or what is done for it; NULL: nothing */
    pw_nccl_start *start;
    pw_nccl_stop *stop;
    pw_nccl_state *state;
    pw_nccl_finalize *finalize;
    void *table;
};

struct host_comm {
    struct host *host;
    void *context;
    const char *name;
    uint64_t hash, seq[16]; /* by function */
    int ranks, rank;
};

enum { HOST_MOST_PARTS = 16 };

struct host_op {
    int func; /* NCCL's number; see ncclhost.c */
    size_t count;
    int datatype;
    int peer; /* or root */
    bool captured;
    /* Handles that NCCL keeps. */
    void *call, *task;
    /* For a collective that is made of messages: each has a call. */
    struct {
        int func, peer;
        void *call, *task;
    } parts[HOST_MOST_PARTS];
    int nparts;
};

enum {
    HOST_BROADCAST,
    HOST_REDUCE,
    HOST_ALLGATHER,
    HOST_REDUCESCATTER,
    HOST_ALLREDUCE,
    HOST_SENDRECV,
    HOST_SEND,
    HOST_RECV,
    HOST_ALLTOALL,
    HOST_SCATTER,
    HOST_GATHER,
};
enum { HOST_INT8 = 0, HOST_FLOAT32 = 7, HOST_BFLOAT16 = 9 };

/* Loads what NCCL_PROFILER_PLUGIN names and takes this version of it, 0: the newest. False when the
 * plugin has no such version. */
bool host_load(struct host *host, int version);

void host_comm_init(struct host_comm *comm, struct host *host, const char *name, uint64_t hash,
                    int ranks, int rank);
void host_comm_end(struct host_comm *comm);

/* Who writes the mask from now on crashes. */
void host_protect_mask(struct host *host);

/* Where ranks meet, as their kernels would, for the `turn`-th time: in a file that all of them map,
 * which the environment names. */
void host_meet(const char *variable, int turn, int ranks);

/* All operations in one group, one plan, one kernel. */
void host_group(struct host_comm *comm, struct host_op *ops, int n);

/* By symmetric kernels: a call, and no task. */
void host_symmetric(struct host_comm *comm, struct host_op *op);

/* The plan's tasks again, as when a CUDA graph is replayed. */
void host_replay(struct host_comm *comm, struct host_op *ops, int n);

/* What a thread of NCCL does for the task: channels of the kernel, and steps of a proxy. */
void host_channel(struct host_comm *comm, const struct host_op *op, int channel, uint64_t start,
                  uint64_t end);
void host_proxy(struct host_comm *comm, const struct host_op *op, int pid, int peer, bool sends,
                int steps);

/* By copy engines: from 2.29 on with a call and its own type, in 2.28 without a word. */
void host_ce(struct host_comm *comm, struct host_op *op);

/* Events of every type there is, asked for or not: how many got a handle. */
int host_all_types(struct host_comm *comm);

#endif
