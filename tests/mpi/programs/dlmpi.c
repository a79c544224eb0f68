/* The library that dlmain loads. Removes the file MPITEST_FILLER, if there is one, once MPI is up.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int use_mpi(void);
int use_mpi(void)
{
    const char *filler = getenv("MPITEST_FILLER");
    int one = 1, sum = 0, size;
    MPI_Init(NULL, NULL);
    if (filler)
        unlink(filler);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 7; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum == size ? 0 : 1;
}
