/* A PMPI tool: its functions count and call those of PMPI, and MPI_Finalize prints the counts. It
 * is built as a library to preload or to link, and into a program. */
#include <mpi.h>
#include <stdio.h>

static int counts[4];

int MPI_Init(int *argc, char ***argv)
{
    int rank, rc = PMPI_Init(argc, argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Barrier(MPI_COMM_WORLD);
    return rc;
}

int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    counts[0]++;
    return PMPI_Allreduce(from, to, n, type, op, comm);
}

/* One call of the program, two of PMPI. */
int MPI_Bcast(void *buffer, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
    counts[1]++;
    PMPI_Barrier(comm);
    return PMPI_Bcast(buffer, n, type, root, comm);
}

int MPI_Isend(const void *buffer, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    counts[2]++;
    return PMPI_Isend(buffer, n, type, to, tag, comm, request);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made)
{
    counts[3]++;
    return PMPI_Comm_dup(comm, made);
}

int MPI_Finalize(void)
{
    int rank, all[4];
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Reduce(counts, all, 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("counted %d %d %d %d\n", all[0], all[1], all[2], all[3]);
    return PMPI_Finalize();
}
