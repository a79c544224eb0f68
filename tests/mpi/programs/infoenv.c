/* Prints the contents of MPI_INFO_ENV about the program's start, rank by rank. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, keys;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Info_get_nkeys(MPI_INFO_ENV, &keys);
    for (int turn = 0; turn < size; turn++) {
        for (int i = 0; i < keys && turn == rank; i++) {
            char key[MPI_MAX_INFO_KEY + 1], value[1024] = "";
            int known;
            MPI_Info_get_nthkey(MPI_INFO_ENV, i, key);
            MPI_Info_get(MPI_INFO_ENV, key, (int)sizeof(value) - 1, value, &known);
            printf("%d %s=%s\n", rank, key, value);
        }
        fflush(stdout);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
