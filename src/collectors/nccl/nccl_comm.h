/* NCCL's communicators in the probe, and the numbers of their collectives. In-app code.
 *
 * Ranks identify a communicator by NCCL's hash of its id. NCCL requires that all ranks call the
 * collectives of a communicator in the same order, so equal counts identify a collective:
 *   - Where the calls themselves are reported (plugin versions 5 and 6, wrappers), each call
 * is counted.
 *   - Older plugin versions report enqueued tasks, each with a number among the tasks of its
 * function. The sum over the functions is the number of the collective. It is right even when some
 * tasks were not reported: not every rank reports those of CUDA graphs. */
#ifndef PW_NCCL_COMM_H
#define PW_NCCL_COMM_H

#include <stdatomic.h>
#include <stdint.h>

#include "collectors/nccl/nccl_func.h"
#include "rank/probe/probe.h"

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

/* The communicator of a handle; NULL: none. */
struct pw_nccl_comm *pw_nccl_comm_find(const void *handle);

void *pw_nccl_comm_handle(const struct pw_nccl_comm *comm);

void pw_nccl_comm_close(struct pw_nccl_comm *comm);

/* Fills in uid, rank and name from the communicator's first event, unless its uid is known already.
 */
void pw_nccl_comm_learn(struct pw_nccl_comm *comm, uint64_t uid, int32_t rank, const char *name);

/* Writes the communicator's record, once. The caller has locked the probe for `thread`. */
void pw_nccl_comm_define(struct pw_nccl_comm *comm, struct pw_thread *thread);

/* Counts a collective that is called now. Returns 1 + its number on the communicator. */
uint32_t pw_nccl_comm_count(struct pw_nccl_comm *comm);

/* The same from NCCL's `number` of the task among the tasks of its function. Returns 0 when this
 * task was counted before. */
uint32_t pw_nccl_comm_count_func(struct pw_nccl_comm *comm, int func, uint64_t number);

/* The capture method of NCCL's operations. Two methods can see the same operation: the profiler
 * plugin and our wrappers of NCCL's functions. Only one of them records; the plugin has priority,
 * so a wrapper waits until it knows whether the plugin has seen the call. For operations that
 * neither sees, the collector uses NCCL's NVTX ranges (nccl_nvtx.h). */
enum pw_nccl_method { PW_NCCL_BY_PLUGIN, PW_NCCL_BY_CALLS };

/* Sets the process's capture method, unless it has a better one. */
void pw_nccl_method_set(enum pw_nccl_method method);

/* Whether operations that are seen by this method must be recorded. */
int pw_nccl_method_is(enum pw_nccl_method method);

#endif
