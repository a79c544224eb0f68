/* Clock synchronisation over MPI, at MPI_Init and before MPI_Finalize. Called by mpi_special.c.
 * In-app; it sends messages and waits for the other ranks, as the two MPI functions do themselves.
 */
#ifndef PW_MPI_SYNC_H
#define PW_MPI_SYNC_H

#include <stdint.h>

#include "collectors/mpi/mpi_real.h"
#include "rank/probe/probe.h"

/* What a synchronisation took of this rank. */
struct pw_mpi_sync_cost {
    int64_t wait_ns; /* until all ranks were there, which MPI_Finalize waits for too */
    int64_t work_ns; /* from then on; at MPI_Init all of it */
    int32_t messages, collectives; /* asked of MPI: messages are those that this rank sent */
};

/* Collective over all ranks, inside MPI_Init. One leader per clock domain measures its offset to
 * rank 0's clock, along a binomial tree of the leaders; the others take their leader's. Records a
 * knot for the calling rank, unless it has no ring (`thread` is NULL). */
struct pw_mpi_sync_cost pw_mpi_sync_begin(struct pw_thread *thread);

/* The same before MPI_Finalize; nothing unless the first took place. */
struct pw_mpi_sync_cost pw_mpi_sync_end(struct pw_thread *thread);

#endif
