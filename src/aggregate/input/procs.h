/* The processes of a merge, and what they tell each other, also where it is more than MPI's int
 * counts. Used by all of the merge. Every function must be called by all processes together, in the
 * same order. */
#ifndef PW_AGGREGATE_INPUT_PROCS_H
#define PW_AGGREGATE_INPUT_PROCS_H

#include <stddef.h>

#include <mpi.h>

struct pw_procs {
    MPI_Comm comm;
    int process, processes;
};

/* Gathers `count` items of `size` bytes of each process, in process order, into *all (malloc'ed) on
 * every process. Collective. Never NULL: when memory is short, the merge ends. */
size_t pw_procs_allgather(const struct pw_procs *procs, const void *mine, size_t count, size_t size,
                          void **all);

/* Says that the merge ran out of memory, and ends it with status 1. Collective. */
_Noreturn void pw_procs_out_of_memory(const struct pw_procs *procs);

/* True when all processes say so. Collective. */
int pw_procs_all_ok(const struct pw_procs *procs, int ok);

/* The worst of all processes' errors, which is the least; 0 when none has one. Collective. */
int pw_procs_worst(const struct pw_procs *procs, int err);

/* Sends bytes of `root`, more than MPI's int counts too, to all. Collective. */
void pw_procs_broadcast(const struct pw_procs *procs, void *bytes, size_t size, int root);

#endif
