/* The calls of the plugin by NCCL's own threads, and the common work of several ranks; see
 * ncclhost.h. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ncclinside.h"

void host_channel(struct host_comm *comm, const struct host_op *op, int channel, uint64_t begin,
                  uint64_t end)
{
    union descr d;
    union pw_nccl_state_args args = {.kernel_channel.timer = end};
    if (!(*comm->host->mask & PW_NCCL_KERNEL_CH))
        return;
    host_head(comm, &d, PW_NCCL_KERNEL_CH, op->task);
    if (comm->host->version == 3) {
        d.v3.kernel_channel.channel = (uint8_t)channel;
    } else if (comm->host->version == 4) {
        d.v4.kernel_channel.channel = (uint8_t)channel;
        d.v4.kernel_channel.timer = begin;
    } else {
        d.v6.kernel_channel.channel = (uint8_t)channel;
        d.v6.kernel_channel.timer = begin;
    }
    void *handle = host_start(comm, &d);
    if (!handle)
        return;
    if (comm->host->version > 3)
        comm->host->state(handle, PW_NCCL_KERNEL_CH_STOP, &args);
    host_stop(comm, handle);
}

void host_proxy(struct host_comm *comm, const struct host_op *op, int pid, int peer, bool sends,
                int steps)
{
    union descr d;
    union pw_nccl_state_args args = {0};
    if (!(*comm->host->mask & PW_NCCL_PROXY_OP))
        return;
    host_head(comm, &d, PW_NCCL_PROXY_OP, op->task);
    struct pw_nccl_proxy_op *proxy = comm->host->version >= 5 ? &d.v6.proxy_op : &d.v1.proxy_op;
    *proxy = (struct pw_nccl_proxy_op){pid, 1, peer, steps, 1 << 16, sends};
    void *handle = host_start(comm, &d);
    for (int i = 0; i < steps && handle; i++) {
        host_head(comm, &d, PW_NCCL_PROXY_STEP, handle);
        if (comm->host->version >= 5)
            d.v6.proxy_step.step = i;
        else
            d.v1.proxy_step.step = i;
        void *step = host_start(comm, &d);
        usleep(2000); /* for the GPU, or the network */
        args.proxy_step.transferred_bytes = 1000;
        comm->host->state(step, sends ? PW_NCCL_STEP_SEND_WAIT : PW_NCCL_STEP_RECV_FLUSH_WAIT,
                          &args);
        usleep(1000);
        host_stop(comm, step);
    }
    host_stop(comm, handle);
}

int host_all_types(struct host_comm *comm)
{
    int handles = 0;
    for (int bit = 0; bit < (comm->host->version >= 5 ? 20 : 8); bit++) {
        union descr d;
        host_head(comm, &d, (uint64_t)1 << bit, NULL);
        if (1 << bit == PW_NCCL_COLL || 1 << bit == PW_NCCL_P2P)
            continue; /* their texts may not be NULL */
        void *handle = host_start(comm, &d);
        handles += handle != NULL;
        host_stop(comm, handle);
        host_stop(comm, handle); /* once too often */
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
