/* Calls that layer, as a program in Fortran does. */
#include <mpi.h>
#include <stdio.h>

void mpi_barrier_(const MPI_Fint *comm, MPI_Fint *error);
void ompi_comm_size_f(const MPI_Fint *comm, MPI_Fint *size, MPI_Fint *error);

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const MPI_Fint world = MPI_Comm_c2f(MPI_COMM_WORLD);
    MPI_Fint size = 0, error = 0;
    ompi_comm_size_f(&world, &size, &error);
    for (int i = 0; i < 3; i++)
        mpi_barrier_(&world, &error);
    printf("size %d\n", (int)size);
    MPI_Finalize();
    return 0;
}
