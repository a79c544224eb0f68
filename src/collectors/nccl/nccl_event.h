/* Records the events of NCCL, from any version of its plugin interface. In-app code. The handles
 * are those of nccl_slot.h. A handle is NULL when the event is not recorded; every function accepts
 * NULL.
 */
#ifndef PW_NCCL_EVENT_H
#define PW_NCCL_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collectors/nccl/nccl_func.h"
#include "rank/probe/probe.h"

/* NCCL's communicators in the probe, and the numbers of their collectives.
 *
 * Ranks identify a communicator by NCCL's hash of its id. NCCL requires that all ranks call the
 * collectives of a communicator in the same order, so equal counts identify a collective.
 * Where the calls themselves are reported (plugin versions 5 and 6, wrappers), each call is
 * counted. Older plugin versions report enqueued tasks, each with a number among the tasks of its
 * function. The sum over the functions is the number of the collective. It is right even when some
 * tasks were not reported: not every rank reports those of CUDA graphs. */

enum { PW_NCCL_COMM_NAME = 64 };

struct pw_nccl_comm {
    _Atomic uint64_t number; /* 0: free */
    _Atomic uint64_t uid;    /* 0: not known yet */
    _Atomic int is_defined;  /* 1: its record has been written, or is being written */
    _Atomic int captures;    /* 1: a CUDA graph captures the calls */
    _Atomic uint32_t collectives;
    _Atomic uint64_t next[PW_NCCL_FUNCS]; /* for each function: NCCL's number of its next task */
    /* Ticks: the last kernel launch, and the launch of the plan whose tasks are reported now; 0:
     * none.
     */
    _Atomic uint64_t launch_start, launch_end, plan_start, plan_end;
    uint32_t record;           /* the communicator's number in records */
    int32_t size, rank, nodes; /* 0, -1, 0: not known */
    int version;               /* of the plugin interface; 0: no plugin */
    char name[PW_NCCL_COMM_NAME];
};

/* What was known when the communicator was created; 0 (rank: -1): not known. */
struct pw_nccl_comm_about {
    uint64_t uid;
    int32_t size, rank, nodes;
    int version;
    const char *name; /* may be NULL */
};

/* Adds a communicator; NULL when there are too many at once. */
struct pw_nccl_comm *pw_nccl_comm_open(const struct pw_nccl_comm_about *about);

/* Writes its record, if its uid is known, so that others are known to have it, too, before it is
 * used. */
void pw_nccl_comm_announce(struct pw_nccl_comm *comm);

/* The communicator of a handle; NULL: none. */
struct pw_nccl_comm *pw_nccl_comm_find(const void *handle);

void *pw_nccl_comm_handle(const struct pw_nccl_comm *comm);

void pw_nccl_comm_close(struct pw_nccl_comm *comm);

/* Fills in uid, rank and name from the communicator's first event, unless its uid is known already.
 */
void pw_nccl_comm_learn(struct pw_nccl_comm *comm, uint64_t uid, int32_t rank, const char *name);

/* The capture method of NCCL's operations. Two methods can see the same operation: the profiler
 * plugin and our wrappers of NCCL's functions. Only one of them records; the plugin has priority,
 * so a wrapper waits until it knows whether the plugin has seen the call. For operations that
 * neither sees, the collector uses NCCL's NVTX ranges (nccl_nvtx.h). */
enum pw_nccl_method { PW_NCCL_BY_PLUGIN, PW_NCCL_BY_CALLS };

/* Sets the process's capture method, unless it has a better one. */
void pw_nccl_method_set(enum pw_nccl_method method);

/* Whether operations that are seen by this method must be recorded. */
int pw_nccl_method_is(enum pw_nccl_method method);

/* A requested operation: a collective or a message. The texts belong to NCCL; NULL: not known. */
struct pw_nccl_request {
    int func; /* enum pw_nccl_func; -1: not known */
    int64_t count;
    const char *datatype, *algorithm, *protocol;
    int peer; /* partner or root */
    uint16_t channels;
    bool is_captured; /* by a CUDA graph */
    const void *stream;
    uint64_t seq; /* NCCL's number of the call among the calls of this function */
};

/* Whether NCCL is recorded in this process. */
bool pw_nccl_is_wanted(void);

/* Records that NCCL has loaded the plugin, before the plugin reports any event. */
void pw_nccl_record_plugin(void);

/* The program calls an NCCL function (versions 5 and 6). */
void *pw_nccl_call_begin(struct pw_nccl_comm *comm, const struct pw_nccl_request *request);

void pw_nccl_whole_end(void *handle);

/* NCCL enqueues a task. `call` is the handle of the task's call; `has_calls`: NCCL reports calls.
 */
void *pw_nccl_task_begin(struct pw_nccl_comm *comm, const struct pw_nccl_request *request,
                         const void *call, const void *plan, bool has_calls);

/* A kernel plan begins: NCCL puts the tasks that follow into one kernel. */
void *pw_nccl_plan_begin(struct pw_nccl_comm *comm);

/* NCCL launches a kernel. */
void *pw_nccl_launch_begin(struct pw_nccl_comm *comm);

/* Whether channels of kernels are recorded: at level 2, and when there is no other source of kernel
 * times. */
bool pw_nccl_wants_channels(void);

/* A channel of the task's kernel begins, at time `timer` of the GPU's timer. */
void *pw_nccl_channel_begin(struct pw_nccl_comm *comm, const void *task, uint8_t channel,
                            uint64_t timer);

/* A proxy thread begins to send or receive for a task. `task` is NULL when the task is in another
 * process. */
void *pw_nccl_proxy_begin(const void *task, uint8_t channel, int peer, bool sends);

/* A step of a proxy's transfer begins. */
void *pw_nccl_step_begin(const void *proxy);

/* Ends the event of any handle. */
void pw_nccl_event_end(void *handle);

/* A step changes to a state of nccl_abi.h; `bytes`: moved by the step so far. */
void pw_nccl_step_state(void *handle, int state, uint64_t bytes);

/* The channel ended, at time `timer` of the GPU's timer. */
void pw_nccl_channel_stopped(void *handle, uint64_t timer);

/* Records a call that only the wrappers saw: its times on the host are all that is known. */
void pw_nccl_record_call(struct pw_nccl_comm *comm, const struct pw_nccl_request *request,
                         uint64_t start, uint64_t end);

/* ---- The NCCL function that a thread is in, as seen by a wrapper (nccl_wrap.c). The plugin's
 * events need it because they are incomplete: NCCL 2.28.3 and later report AlltoAll, Gather and
 * Scatter only as messages, and NCCL 2.28 does not report collectives by copy engines. ---- */

struct pw_nccl_current {
    struct pw_nccl_request request; /* func -1: the call makes a communicator */
    bool has_events;                /* the plugin got events of the call */
    void *comm;                     /* handle of the plugin's communicator; NULL not known yet */
    void *whole;                    /* call of a collective that NCCL reports as messages */
};

/* The call of this thread; NULL outside all wrappers. */
extern _Thread_local struct pw_nccl_current *pw_nccl_current;

/* Called when the plugin gets an event of this communicator; `is_call`: the event of a call. */
void pw_nccl_current_see(struct pw_nccl_comm *comm, bool is_call);

/* Returns the partner of the message that the thread's call sends or receives; -1: not known. */
int pw_nccl_current_peer(int func);

/* Returns the collective call to which a message belongs, and begins its event at the first
 * message; NULL when it is not recorded. *is_part is false when the program itself sends the
 * message. */
void *pw_nccl_current_collective(struct pw_nccl_comm *comm, bool is_captured, bool *is_part);

#endif
