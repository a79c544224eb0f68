/* Counts processes that MPI_Comm_spawn started; see mpi_spawned.h. */
#include "collectors/mpi/mpi_spawned.h"

#include "core/ops.h"

void pw_mpi_write_unrecorded(struct pw_rankfile *file, enum pw_unrecorded reason, int64_t time,
                             int64_t count)
{
    const struct pw_row_unrecorded row = {
        .time = time, .reason = (uint8_t)reason, .certain = 1, .count = count};
    pw_rankfile_append(file, PW_TABLE_unrecorded, &row);
}

/* Spawned processes are ranks of another MPI_COMM_WORLD, which nobody records. All ranks of the
 * parents' group have the communicator; the first of them counts. */
void pw_mpi_note_spawned(struct pw_rankfile *file, const struct pw_row_comms *comm, uint16_t op,
                         int64_t time)
{
    if ((op == PW_OP_Comm_spawn || op == PW_OP_Comm_spawn_multiple) && comm->remote_size > 0 &&
        comm->my_rank == 0)
        pw_mpi_write_unrecorded(file, PW_UNRECORDED_SPAWNED, time, comm->remote_size);
}
