/* The MPI calls that wrappers must not see; see blindcalls.h. Compiled into the program and into a
 * library. */
#include "blindcalls.h"

#include <mpi.h>
#include <time.h>
#include <unistd.h>

int blind_wait(const char *go)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    while (access(go, F_OK))
        nanosleep(&pause, NULL);
    return 0;
}

int blind_calls(const char *go)
{
    enum { ROUNDS = 20 };
    int size, sum = 0, one = 1, wrong = MPI_Init(NULL, NULL) != MPI_SUCCESS;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        wrong |= sum != size;
    }
    blind_wait(go);
    MPI_Finalize();
    return wrong;
}
