/* NCCL's communicators in the probe, and the numbers of their collectives. In-app code.
 *
 * Ranks agree on a communicator by NCCL's hash of its id. They number collectives alike without a
 * word between them, for NCCL wants them called in the same order everywhere: where it reports the
 * calls themselves (plugin versions 5 and 6), and for its other users, each call is counted. Before
 * that it reports what it enqueues, with a number for each function; the sum over the functions
 * counts the communicator's collectives even where some were not reported, as those of CUDA graphs
 * are not by every rank. */
#ifndef PW_NCCL_COMM_H
#define PW_NCCL_COMM_H

#include <stdatomic.h>
#include <stdint.h>

#include "collectors/nccl/nccl_func.h"
#include "rank/probe/probe.h"

enum { PW_NCCL_COMM_NAME = 64 };

/* Where the events of a communicator come from: exactly one of them. */
enum pw_nccl_way { PW_NCCL_BY_PLUGIN, PW_NCCL_BY_CALLS };

struct pw_nccl_comm {
    _Atomic uint64_t number; /* 0: free */
    _Atomic uint64_t uid;    /* 0: not known yet */
    _Atomic int is_defined;  /* its record is written, or being written */
    _Atomic int captures;    /* a CUDA graph captures what is called */
    _Atomic uint32_t collectives;
    _Atomic uint64_t next[PW_NCCL_FUNCS]; /* of each function, as NCCL counts */
    /* Ticks of the kernel launched last, and of that of the plan whose tasks come now; 0 none. */
    _Atomic uint64_t launch_start, launch_end, plan_start, plan_end;
    uint32_t record;           /* its number in records */
    int32_t size, rank, nodes; /* 0, -1, 0: not known */
    int version;               /* of the plugin interface, 0 without */
    char name[PW_NCCL_COMM_NAME];
};

/* What was said when it was made; uid 0, size 0 and rank -1 where nothing was. */
struct pw_nccl_comm_about {
    uint64_t uid;
    int32_t size, rank, nodes;
    int version;
    const char *name; /* may be NULL */
};

/* A communicator; NULL when there are too many at once. */
struct pw_nccl_comm *pw_nccl_comm_open(const struct pw_nccl_comm_about *about);

/* That of this handle, or NULL. */
struct pw_nccl_comm *pw_nccl_comm_find(const void *handle);

void *pw_nccl_comm_handle(const struct pw_nccl_comm *comm);

void pw_nccl_comm_close(struct pw_nccl_comm *comm);

/* What the first event said of it, where that was the first to say anything. */
void pw_nccl_comm_learn(struct pw_nccl_comm *comm, uint64_t uid, int32_t rank, const char *name);

/* Writes its record, once. `thread` is held. */
void pw_nccl_comm_define(struct pw_nccl_comm *comm, struct pw_thread *thread);

/* 1 + the number of the collective that is called now. */
uint32_t pw_nccl_comm_count(struct pw_nccl_comm *comm);

/* The same from NCCL's number of it among those of its function; 0 when that one was there already.
 */
uint32_t pw_nccl_comm_count_func(struct pw_nccl_comm *comm, int func, uint64_t number);

#endif
