/* Events of NCCL as they are recorded, from whichever version of its plugin interface they come.
 * In-app code. Handles are pw_nccl_slot.h's; NULL for what is not recorded, which every function
 * takes. */
#ifndef PW_NCCL_EVENT_H
#define PW_NCCL_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/nccl/nccl_comm.h"

/* What was asked for: a collective or a message. Texts are NCCL's; NULL where it does not say. */
struct pw_nccl_request {
    int func; /* enum pw_nccl_func, -1 */
    int64_t count;
    const char *datatype, *algorithm, *protocol;
    int peer; /* or root */
    uint16_t channels;
    bool is_captured;
    const void *stream;
    uint64_t seq; /* NCCL's, of the function */
};

/* Whether anything of NCCL is recorded in this process. */
bool pw_nccl_is_wanted(void);

/* Says that the plugin is there, before it reports anything. */
void pw_nccl_record_plugin(void);

/* The program calls a function (versions 5 and 6). */
void *pw_nccl_call_begin(struct pw_nccl_comm *comm, const struct pw_nccl_request *request);

/* A collective is called that NCCL reports as messages, all of which get this handle. Their ends
 * are not its: that is told by pw_nccl_whole_end(). */
void *pw_nccl_whole_begin(struct pw_nccl_comm *comm, const struct pw_nccl_request *request);
void pw_nccl_whole_end(void *handle);

/* A task is enqueued; `call` is the handle of its call, `has_calls` whether NCCL reports calls. */
void *pw_nccl_task_begin(struct pw_nccl_comm *comm, const struct pw_nccl_request *request,
                         const void *call, const void *plan, bool has_calls);

/* Tasks follow that go into one kernel. */
void *pw_nccl_plan_begin(struct pw_nccl_comm *comm);

void *pw_nccl_launch_begin(struct pw_nccl_comm *comm);

/* Whether channels of kernels are recorded: at level 2, and where nothing else can say when kernels
 * ran. */
bool pw_nccl_wants_channels(void);

void *pw_nccl_channel_begin(struct pw_nccl_comm *comm, const void *task, uint8_t channel,
                            uint64_t timer);

/* `task` is NULL where it is another process's. */
void *pw_nccl_proxy_begin(const void *task, uint8_t channel, int peer, bool sends);

void *pw_nccl_step_begin(const void *proxy);

/* Any of them ends. */
void pw_nccl_event_end(void *handle);

/* A step of a proxy changes to a state of nccl_abi.h; `bytes` is what it has moved so far. */
void pw_nccl_step_state(void *handle, int state, uint64_t bytes);

/* The channel ended at this time of the GPU's timer. */
void pw_nccl_channel_stopped(void *handle, uint64_t timer);

/* A call of which nothing but its times is known: by the wrappers. */
void pw_nccl_record_call(struct pw_nccl_comm *comm, const struct pw_nccl_request *request,
                         uint64_t start, uint64_t end);

#endif
