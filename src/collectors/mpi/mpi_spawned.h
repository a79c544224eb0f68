/* What of MPI a rank's records say is missing: rows of /unrecorded. Used by mpi_tool.c. */
#ifndef PW_COLLECTORS_MPI_MPI_SPAWNED_H
#define PW_COLLECTORS_MPI_MPI_SPAWNED_H

#include "rank/collect/collector.h"

/* Adds a row that is certain. */
void pw_mpi_write_unrecorded(struct pw_rankfile *file, enum pw_unrecorded reason, int64_t time,
                             int64_t count);

/* Call with every communicator that is defined, and the operation that made it. */
void pw_mpi_note_spawned(struct pw_rankfile *file, const struct pw_row_comms *comm, uint16_t op,
                         int64_t time);

#endif
