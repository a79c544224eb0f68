/* Which of NCCL's functions a thread is in, where a wrapper saw it called (nccl_wrap.c), for the
 * plugin's events, which do not say it all: from NCCL 2.28.3 on AlltoAll, Gather and Scatter are
 * reported as messages only, and collectives by copy engines of 2.28 not at all. In-app code. */
#ifndef PW_NCCL_ASKED_H
#define PW_NCCL_ASKED_H

#include <stdbool.h>

#include "collectors/nccl/nccl_event.h"

struct pw_nccl_asked {
    struct pw_nccl_request request; /* func -1: a communicator is made */
    bool has_events;                /* the plugin was told of the call */
    void *comm;                     /* handle of the plugin's communicator; NULL not known yet */
    void *whole;                    /* of a collective that is made of messages: its call */
};

/* The thread's, NULL outside of all wrappers. */
extern _Thread_local struct pw_nccl_asked *pw_nccl_asked;

/* The plugin hears of this communicator; `is_call`: that one of its functions is called. */
void pw_nccl_asked_see(struct pw_nccl_comm *comm, bool is_call);

/* The other rank of a message, where a wrapper knows it; -1. */
int pw_nccl_asked_peer(int func);

/* The call that a message is a part of, begun with its first one; NULL: none is recorded.
 * *is_part is false where it is a message of the program's own. */
void *pw_nccl_asked_whole(struct pw_nccl_comm *comm, bool is_captured, bool *is_part);

#endif
