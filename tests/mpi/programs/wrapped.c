/* What a tool wraps, and what it does not. Pauses recording in between where it is asked to. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, one = 1, sum, got = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (argc > 1) { /* these are counted as collectives, and not recorded */
        MPI_Pcontrol(0);
        for (int i = 0; i < 4; i++) {
            MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD);
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        }
        MPI_Pcontrol(1);
    }
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Bcast(&one, 1, MPI_INT, 0, copy);
    MPI_Request request[2];
    MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 3, copy, &request[0]);
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 3, copy, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&copy);
    MPI_Barrier(MPI_COMM_WORLD);
    if (got != (rank + size - 1) % size || sum != size)
        printf("wrong: %d %d\n", got, sum);
    MPI_Finalize();
    return 0;
}
