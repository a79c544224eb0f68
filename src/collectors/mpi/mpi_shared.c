/* Finds the requests of complete operations; see mpi_shared.h. */
#include "collectors/mpi/mpi_real.h"

struct pw_mpi_shared pw_mpi_shared;

static int begin_send(MPI_Comm comm, MPI_Request *request)
{
    return pw_pmpi.Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, request);
}

static int begin_receive(MPI_Comm comm, MPI_Request *request)
{
    return pw_pmpi.Irecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, request);
}

static int begin_collective(MPI_Comm comm, MPI_Request *request)
{
    return pw_pmpi.Ibarrier(comm, request);
}

/* Returns the request that two operations have at the same time, or 0. */
static MPI_Request shared_by(MPI_Comm comm, int (*begin)(MPI_Comm, MPI_Request *))
{
    enum { TRIES = 1000 };
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (int i = 0; i < 2; i++)
        if (begin(comm, &requests[i]) != MPI_SUCCESS)
            requests[i] = MPI_REQUEST_NULL;
    const MPI_Request first = requests[0];
    const bool is_shared = first == requests[1] && first != MPI_REQUEST_NULL;
    for (int i = 0; i < 2; i++)
        for (int tries = 0, is_done = 0; !is_done && tries < TRIES; tries++)
            pw_pmpi.Test(&requests[i], &is_done, MPI_STATUS_IGNORE);
    return is_shared ? first : (MPI_Request)0;
}

void pw_mpi_shared_find(MPI_Comm comm)
{
    int size = 0;
    pw_mpi_shared = (struct pw_mpi_shared){0};
    if (comm == MPI_COMM_NULL || pw_pmpi.Comm_size(comm, &size) != MPI_SUCCESS)
        return;
    pw_mpi_shared.of_sends = shared_by(comm, begin_send);
    pw_mpi_shared.of_receives = shared_by(comm, begin_receive);
    if (size == 1)
        pw_mpi_shared.of_collectives = shared_by(comm, begin_collective);
}
