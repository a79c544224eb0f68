/*
 * An MPI program for test_vcluster.sh: every rank says which host it is on, and the ranks then meet
 * in a collective once a millisecond for the given number of seconds, so that a test can kill a
 * host under them.
 */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void meet(double seconds)
{
    double end_s = MPI_Wtime() + seconds;
    int last = 0;
    while (!last) {
        int mine = MPI_Wtime() >= end_s;
        MPI_Allreduce(&mine, &last, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        usleep(1000);
    }
}

int main(int argc, char **argv)
{
    int rank, size, len;
    char name[MPI_MAX_PROCESSOR_NAME];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(name, &len);
    printf("rank %d of %d on %s\n", rank, size, name);
    fflush(stdout);
    meet(argc > 1 ? atof(argv[1]) : 0);
    MPI_Finalize();
    return 0;
}
