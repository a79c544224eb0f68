/* Clock synchronisation over MPI, at MPI_Init and before MPI_Finalize, in jobs on several hosts
 * whose collectors cannot measure over UDP (rank/clocks/agree.h). Called by mpi_special.c. In-app;
 * it sends messages and waits for the other ranks, as the two MPI functions do themselves. All its
 * messages have arrived when it returns. */
#ifndef PW_MPI_SYNC_H
#define PW_MPI_SYNC_H

#include <stdint.h>

#include "collectors/mpi/mpi_library.h"
#include "rank/probe/probe.h"

/* The cost of a synchronisation on this rank. */
struct pw_mpi_sync_cost {
    int64_t wait_ns;               /* wait for all ranks, which MPI_Finalize would also do */
    int64_t work_ns;               /* time after that; at MPI_Init, all the time */
    int32_t messages, collectives; /* messages that this rank sent; collectives */
};

/* Collective over all ranks, inside MPI_Init. One leader per clock domain measures its offset to
 * rank 0's clock, along a binomial tree of the leaders; the others use their leader's offset.
 * Records a knot for the calling rank, unless it has no ring (`thread` is NULL). */
struct pw_mpi_sync_cost pw_mpi_sync_begin(struct pw_thread *thread);

/* The same before MPI_Finalize. Does nothing unless pw_mpi_sync_begin() was called. */
struct pw_mpi_sync_cost pw_mpi_sync_end(struct pw_thread *thread);

#endif
