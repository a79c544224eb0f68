/* `use mpi_f08` of an MPI library that takes buffers by descriptor (mpi_x_f08ts_): the installed
 * one may not, so descriptorlib.c does, and the descriptor is all of it that matters here. */
#include "expect.h"

#include <stddef.h>

enum { INT = (int)sizeof(int), FORTRAN = 32 };

/* The first member of every C descriptor (Fortran 2018, 18.5.3). */
struct descriptor {
    void *base;
    size_t element;
};

void mpi_allgather_f08ts_(struct descriptor *in, const MPI_Fint *count, const MPI_Fint *type,
                          struct descriptor *out, const MPI_Fint *each, const MPI_Fint *out_type,
                          const MPI_Fint *comm, MPI_Fint *error);
extern MPI_Fint mpi_fortran_in_place_;

int main(int argc, char **argv)
{
    struct place p;
    int in[2] = {1, 2}, out[128];
    struct descriptor from = {in, INT}, to = {out, INT}, place = {&mpi_fortran_in_place_, INT};
    MPI_Fint two = 2, none = 0, error = -1;
    expect_init(&argc, &argv, &p);
    const MPI_Fint type = MPI_Type_c2f(MPI_INT), comm = MPI_Comm_c2f(MPI_COMM_WORLD);
    mpi_allgather_f08ts_(&from, &two, &type, &to, &two, &type, &comm, &error);
    expect_true(error == MPI_SUCCESS && out[1] == 2, "Allgather by descriptors");
    expect_collective(&p, "Allgather", -1, 2 * INT, 2L * p.n * INT, FORTRAN);
    mpi_allgather_f08ts_(&place, &none, &type, &to, &two, &type, &comm, &error);
    expect_collective(&p, "Allgather", -1, 2 * INT, 2L * p.n * INT, FORTRAN);
    return expect_finalize();
}
