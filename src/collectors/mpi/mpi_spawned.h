/* What of MPI a rank's records say is missing: rows of /unrecorded. Used by mpi_tool.c. */
#ifndef PW_COLLECTORS_MPI_MPI_SPAWNED_H
#define PW_COLLECTORS_MPI_MPI_SPAWNED_H

#include "rank/collector.h"

/* Adds a row that is certain. */
void pw_mpi_write_unrecorded(struct pw_rankfile *file, enum pw_unrecorded reason, int64_t time,
                             int64_t count);

/* Which thread has spawned processes and is about to tell of the communicator with them: 1 + its
 * index, 0 none. Call with every operation, then with every communicator that is defined. */
void pw_mpi_spawned_call(int32_t *spawning, const struct pw_row_comm_event *event);
void pw_mpi_spawned_comm(int32_t *spawning, struct pw_rankfile *file,
                         const struct pw_row_comms *comm, const struct pw_origin *origin);

#endif
