/* A rank of a job that communicates by the stand-in of PyTorch's Gloo process group
 * (standin/gloo.cc), which it loads as Python does: at run time, and in no global scope.
 *
 *   glooactor LIBRARY SCENARIO FILE   FILE: where the ranks meet
 *
 * As `gloompi` it is also a rank of MPI, and after the scenario receives a message from rank 0. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

static int play_scenario(char **argv, int rank, int size)
{
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, "play") : NULL;
    int (*play)(const char *, const char *, int, int);
    memcpy(&play, &found, sizeof(play));
    if (!play) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    return play(argv[2], argv[3], rank, size);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
#ifdef WITH_MPI
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    play_scenario(argv, rank, size);
    return MPI_Recv(&rank, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#else
    const char *rank = getenv("RANK"), *size = getenv("WORLD_SIZE");
    return rank && size ? play_scenario(argv, atoi(rank), atoi(size)) : 2;
#endif
}
