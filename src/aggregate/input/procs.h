/* The processes of a merge, and their communication, also of more items than MPI's int can count.
 * Used by all of the merge. Every function must be called by all processes together, in the same
 * order. */
#ifndef PW_AGGREGATE_INPUT_PROCS_H
#define PW_AGGREGATE_INPUT_PROCS_H

#include <stddef.h>

#include "aggregate/exchange/exchange.h"

struct pw_procs {
    pw_ex_comm comm;
    int process, processes;
};

/* Gathers `count` items of `size` bytes from each process, in process order, into *all (malloc'ed)
 * on every process. Returns how many. Collective. *all is never NULL: when memory is short, the
 * merge ends. */
size_t pw_procs_allgather(const struct pw_procs *procs, const void *mine, size_t count, size_t size,
                          void **all);

/* Prints that the merge ran out of memory, and ends it with status 1. Collective. */
_Noreturn void pw_procs_out_of_memory(const struct pw_procs *procs);

/* Returns 1 when `ok` is true on all processes, else 0. Collective. */
int pw_procs_all_ok(const struct pw_procs *procs, int ok);

/* Returns the worst error of all processes, which is the smallest number; 0 when no process has
 * one. Collective. */
int pw_procs_worst(const struct pw_procs *procs, int err);

/* Returns the value of process 0, which may come to this call much later than the others: they
 * sleep until then, and leave their cores to it. Collective. */
int pw_procs_from_root(const struct pw_procs *procs, int value);

/* Sends bytes from `root` to all processes; their number may exceed MPI's int. Collective. */
void pw_procs_broadcast(const struct pw_procs *procs, void *bytes, size_t size, int root);

#endif
