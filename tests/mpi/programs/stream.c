/* Rank 0 sends 20 messages to rank 1, under two tags by turns; rank 1 receives those of one tag by
 * blocking and those of the other by nonblocking receives, posted in the order of the sends. */
#include <mpi.h>

enum { MESSAGES = 20 };

int main(int argc, char **argv)
{
    int rank, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Request request;
        if (rank == 0 && i % 3 == 0) {
            MPI_Isend(&value, 1, MPI_INT, 1, i % 2, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (rank == 0) {
            MPI_Send(&value, 1, MPI_INT, 1, i % 2, MPI_COMM_WORLD);
        } else if (i % 2) {
            MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
