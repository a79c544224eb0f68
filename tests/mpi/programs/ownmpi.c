/* A library with functions of MPI's names that are its own, in C and as Fortran calls them: a
 * serial replacement for MPI, as MUMPS and PETSc have one, and names that are MPI's by chance. */
#include <dlfcn.h>
#include <stdio.h>

#define OWN(name)            \
    int name(long, int *);   \
    int name(long a, int *b) \
    {                        \
        *b = (int)a + 40;    \
        return 0;            \
    }
OWN(MPI_Comm_size)
OWN(PMPI_Comm_rank)
OWN(mpi_comm_size)
OWN(mpi_comm_size_)
OWN(mpi_comm_size__)
OWN(MPI_COMM_SIZE)
OWN(mpi_comm_size_f08_)

int MPI_Init(int *argc, char ***argv);
int MPI_Init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    puts("own MPI_Init");
    return 0;
}

int MPI_Pcontrol(const int level, ...);
int MPI_Pcontrol(const int level, ...)
{
    return level + 1;
}

int MPI_Comm_free(long *comm);
int MPI_Comm_free(long *comm)
{
    *comm = -1;
    return 0;
}

int MPI_Allreduce(const void *from, void *to, int n, long type, long op, long comm);
int MPI_Allreduce(const void *from, void *to, int n, long type, long op, long comm)
{
    (void)type;
    (void)op;
    (void)comm;
    for (int i = 0; i < n; i++)
        ((int *)to)[i] = ((const int *)from)[i] + 1;
    return 0;
}

int MPI_Finalize(void);
int MPI_Finalize(void)
{
    puts("own MPI_Finalize");
    return 0;
}

/* Calls them all, through the loader: this is built without -Bsymbolic. */
int use_mpi(void);
int use_mpi(void)
{
    int (*const functions[])(long, int *) = {MPI_Comm_size,     PMPI_Comm_rank,  mpi_comm_size,
                                             mpi_comm_size_,    mpi_comm_size__, MPI_COMM_SIZE,
                                             mpi_comm_size_f08_};
    int from = 2, to = 0;
    long comm = 7;
    int rc = MPI_Init(NULL, NULL);
    for (int i = 0; i < (int)(sizeof(functions) / sizeof(functions[0])); i++) {
        int found = 0;
        rc += functions[i](i, &found);
        if (found != i + 40)
            printf("function %d gave %d\n", i, found);
    }
    for (int i = 0; i < 3; i++)
        rc += MPI_Allreduce(&from, &to, 1, 1, 2, 3);
    rc += MPI_Comm_free(&comm) + MPI_Pcontrol(1) - 2;
    printf("own MPI: rc %d, %d, %ld\n", rc, to, comm);
    return rc + MPI_Finalize();
}
