/* The library that dlmain loads. */
#include <mpi.h>
#include <stdio.h>

int use_mpi(void);
int use_mpi(void)
{
    int one = 1, sum = 0, size;
    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 7; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum == size ? 0 : 1;
}
