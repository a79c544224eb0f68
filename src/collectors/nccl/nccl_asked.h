/* The NCCL function that a thread is in, as seen by a wrapper (nccl_wrap.c). The plugin's events
 * need it because they are incomplete: NCCL 2.28.3 and later report AlltoAll, Gather and Scatter
 * only as messages, and NCCL 2.28 does not report collectives by copy engines. Called by the
 * wrappers and the plugin. In-app code; takes no lock. */
#ifndef PW_NCCL_ASKED_H
#define PW_NCCL_ASKED_H

#include <stdbool.h>

#include "collectors/nccl/nccl_event.h"

struct pw_nccl_asked {
    struct pw_nccl_request request; /* func -1: the call makes a communicator */
    bool has_events;                /* the plugin got events of the call */
    void *comm;                     /* handle of the plugin's communicator; NULL not known yet */
    void *whole;                    /* call of a collective that NCCL reports as messages */
};

/* The call of this thread; NULL outside all wrappers. */
extern _Thread_local struct pw_nccl_asked *pw_nccl_asked;

/* Called when the plugin gets an event of this communicator; `is_call`: the event of a call. */
void pw_nccl_asked_see(struct pw_nccl_comm *comm, bool is_call);

/* Returns the partner of the message that the thread's call sends or receives; -1: not known. */
int pw_nccl_asked_peer(int func);

/* Returns the collective call to which a message belongs, and begins its event at the first
 * message; NULL when it is not recorded. *is_part is false when the program itself sends the
 * message. */
void *pw_nccl_asked_whole(struct pw_nccl_comm *comm, bool is_captured, bool *is_part);

#endif
