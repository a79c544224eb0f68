/* A Fortran layer for Open MPI under another name, as some vendors have it: each function calls
 * PMPI_X of C. */
#include <mpi.h>

void mpi_barrier_(const MPI_Fint *comm, MPI_Fint *error);
void mpi_barrier_(const MPI_Fint *comm, MPI_Fint *error)
{
    *error = PMPI_Barrier(MPI_Comm_f2c(*comm));
}

void ompi_comm_size_f(const MPI_Fint *comm, MPI_Fint *size, MPI_Fint *error);
void ompi_comm_size_f(const MPI_Fint *comm, MPI_Fint *size, MPI_Fint *error)
{
    int found;
    *error = PMPI_Comm_size(MPI_Comm_f2c(*comm), &found);
    *size = found;
}
