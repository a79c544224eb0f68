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

void pw_mpi_spawned_call(int32_t *spawning, const struct pw_row_comm_event *event)
{
    if ((event->op == PW_OP_Comm_spawn || event->op == PW_OP_Comm_spawn_multiple) &&
        !(event->flags & PW_FLAG_ERROR))
        *spawning = 1 + event->thread;
}

/* Spawned processes are ranks of another MPI_COMM_WORLD, which nobody records. All ranks of the
 * parents' group have the communicator; the first of them counts. */
void pw_mpi_spawned_comm(int32_t *spawning, struct pw_rankfile *file,
                         const struct pw_row_comms *comm, const struct pw_origin *origin)
{
    if (*spawning != 1 + origin->thread || comm->remote_size <= 0)
        return;
    *spawning = 0;
    if (comm->my_rank == 0)
        pw_mpi_write_unrecorded(file, PW_UNRECORDED_SPAWNED, origin->start, comm->remote_size);
}
