/* What an MPI library with descriptors would export; see descriptors.c. */
#include <mpi.h>
#include <string.h>

extern MPI_Fint mpi_fortran_in_place_;

#define ALLGATHER(symbol)                                                                   \
    void symbol(void **in, const MPI_Fint *count, const MPI_Fint *type, void **out,         \
                const MPI_Fint *each, const MPI_Fint *out_type, const MPI_Fint *comm,       \
                MPI_Fint *error);                                                           \
    void symbol(void **in, const MPI_Fint *count, const MPI_Fint *type, void **out,         \
                const MPI_Fint *each, const MPI_Fint *out_type, const MPI_Fint *comm,       \
                MPI_Fint *error)                                                            \
    {                                                                                       \
        *error = PMPI_Allgather(*in == (void *)&mpi_fortran_in_place_ ? MPI_IN_PLACE : *in, \
                                *count, PMPI_Type_f2c(*type), *out, *each,                  \
                                PMPI_Type_f2c(*out_type), PMPI_Comm_f2c(*comm));            \
    }
ALLGATHER(mpi_allgather_f08ts_)
ALLGATHER(pmpi_allgather_f08ts_)
