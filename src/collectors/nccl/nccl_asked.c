/* The NCCL call that a thread is in; see nccl_asked.h. */
#include "collectors/nccl/nccl_asked.h"

#include <stddef.h>

_Thread_local struct pw_nccl_asked *pw_nccl_asked __attribute__((tls_model("initial-exec")));

void pw_nccl_asked_see(struct pw_nccl_comm *comm, bool is_call)
{
    struct pw_nccl_asked *asked = pw_nccl_asked;
    if (!asked)
        return;
    asked->comm = pw_nccl_comm_handle(comm);
    asked->has_events |= is_call;
}

int pw_nccl_asked_peer(int func)
{
    const struct pw_nccl_asked *asked = pw_nccl_asked;
    return asked && asked->request.func == func ? asked->request.peer : -1;
}

static bool is_of_messages(int func)
{
    return func == PW_NCCL_ALLTOALL || func == PW_NCCL_SCATTER || func == PW_NCCL_GATHER;
}

void *pw_nccl_asked_whole(struct pw_nccl_comm *comm, bool is_captured, bool *is_part)
{
    struct pw_nccl_asked *asked = pw_nccl_asked;
    *is_part = asked && is_of_messages(asked->request.func);
    if (!*is_part)
        return NULL;
    if (!asked->has_events) {
        asked->request.is_captured = is_captured;
        asked->whole = pw_nccl_whole_begin(comm, &asked->request);
    }
    pw_nccl_asked_see(comm, true);
    return asked->whole;
}
