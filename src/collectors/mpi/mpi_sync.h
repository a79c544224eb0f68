/* Clock synchronisation over MPI, at MPI_Init and MPI_Finalize. */
#ifndef PW_MPI_SYNC_H
#define PW_MPI_SYNC_H

#include <stdint.h>

#include "collectors/mpi/mpi_real.h"
#include "rank/probe.h"

/* What synchronising took, added up: time, messages that this rank sent, collectives. */
struct pw_mpi_sync_cost {
    int64_t ns;
    int32_t messages, collectives;
};

/* Collective over `comm`, a communicator of the probe's own over all ranks. One leader per clock
 * domain measures its offset to rank 0's clock, along a binomial tree of the leaders; the others
 * take their leader's. Writes a PW_REC_CLOCK for the calling rank, unless it has no ring (`thread`
 * is NULL). Adds its messages and collectives to `cost`. */
void pw_mpi_sync(struct pw_thread *thread, MPI_Comm comm, uint64_t clock_domain,
                 struct pw_mpi_sync_cost *cost);

#endif
