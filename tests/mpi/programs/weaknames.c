/* Refers to functions that MPI-4.0 added by weak references, as mpi4py does, and uses those that
 * the MPI library has. A shared library that `loader` opens, or with -DLINKED a program. Rank 0
 * prints which functions are there. The status is 1 when a function that is there fails. */
#include <mpi.h>
#include <stdio.h>

int MPI_Allreduce_c(const void *from, void *to, MPI_Count n, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm) __attribute__((weak));
int MPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request *request) __attribute__((weak));

#ifdef LINKED
#define use_mpi main
#else
int use_mpi(void);
#endif

int use_mpi(void)
{
    int rank, size, sum = 0, one = 1, bad = 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 3; i++) {
        if (MPI_Allreduce_c)
            bad |= MPI_Allreduce_c(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        else
            bad |= MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        bad |= sum != size;
    }
    if (MPI_Barrier_init) {
        MPI_Request request;
        bad |= MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        bad |= MPI_Start(&request) | MPI_Wait(&request, MPI_STATUS_IGNORE);
        bad |= MPI_Request_free(&request);
    }
    if (rank == 0)
        printf("Allreduce_c %d Barrier_init %d\n", MPI_Allreduce_c != NULL,
               MPI_Barrier_init != NULL);
    MPI_Finalize();
    return bad != 0;
}
