/* Uses the MPI library of standardmpi.c. A shared library that `loader` opens, or with -DLINKED a
 * program. The status is 0 when all calls succeed. */
#include "collectors/mpi/mpi_standard.h"

#define WORLD MPI_COMM_WORLD

#ifdef LINKED
#define use_mpi main
#else
int use_mpi(void);
#endif

int use_mpi(void)
{
    char buffer[8] = "";
    MPI_Request requests[5];
    int bad = MPI_Init(0, 0);
    bad |= MPI_Allreduce(MPI_IN_PLACE, buffer, 3, MPI_BYTE, MPI_NO_OP, WORLD);
    bad |= MPI_Allreduce_c(MPI_IN_PLACE, buffer, 4, MPI_BYTE, MPI_NO_OP, WORLD);
    bad |= MPI_Recv(buffer, 8, MPI_BYTE, 0, 9, WORLD, MPI_STATUS_IGNORE);
    bad |= MPI_Irecv(buffer, 8, MPI_BYTE, 0, MPI_ANY_TAG, WORLD, &requests[0]);
    bad |= MPI_Isend(buffer, 2, MPI_BYTE, MPI_PROC_NULL, 1, WORLD, &requests[1]);
    bad |= MPI_Isend(buffer, 6, MPI_BYTE, 0, 3, WORLD, &requests[2]);
    for (int i = 3; i < 5; i++)
        bad |= MPI_Irecv(buffer, 8, MPI_BYTE, MPI_PROC_NULL, 2, WORLD, &requests[i]);
    for (int i = 0; i < 5; i++)
        bad |= MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    bad |= MPI_Finalize();
    return bad != MPI_SUCCESS;
}
