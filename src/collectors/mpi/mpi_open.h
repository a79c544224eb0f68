/* Reads the open requests of a running program from its memory: those that its threads wait for,
 * and those for sends. Called by mpi_tool.c when somebody asks what a rank does. Tool code. The
 * program runs meanwhile, and its memory may hold anything. Where the system does not permit a
 * parent to read the memory of its child, nothing is known of the requests. */
#ifndef PW_MPI_OPEN_H
#define PW_MPI_OPEN_H

#include "collectors/mpi/mpi_pairs.h"
#include "core/live.h"
#include "rank/ring/segment.h"

/* Returns the uid of the process's communicator `index`; 0: not known. */
struct pw_mpi_uids {
    const void *state;
    uint64_t (*of)(const void *state, uint32_t index);
};

/* Adds to *live the requests that its threads wait for, and the numbers of messages. `pairs` has
 * communicators by their index in the process; its `sending` is set here. */
void pw_mpi_open_add(const struct pw_segment_shared *segment, struct pw_mpi_pairs *pairs,
                     const struct pw_mpi_uids *uids, struct pw_live *live);

#endif
