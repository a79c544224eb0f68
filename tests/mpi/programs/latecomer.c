/* A rank that the others wait for outside its steps.
 *
 *     latecomer RANK START SETUP END
 *         Rank RANK sleeps START ms before MPI_Init, SETUP ms before its first step, and END ms
 * after its last; every step is 10 ms of sleep and an Allreduce. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#include "profwrap.h"

enum { STEPS = 30, STEP_MS = 10 };

static void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* Before MPI says it. */
static int rank_of_launcher(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (getenv(names[i]))
            return atoi(getenv(names[i]));
    return -1;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    int rank, late = atoi(argv[1]);
    double one = 1, sum;
    if (rank_of_launcher() == late)
        sleep_ms(atol(argv[2]));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == late)
        sleep_ms(atol(argv[3]));
    for (long s = 0; s < STEPS; s++) {
        profwrap_step(s);
        sleep_ms(STEP_MS);
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    profwrap_step(PROFWRAP_NO_STEP);
    if (rank == late)
        sleep_ms(atol(argv[4]));
    MPI_Finalize();
    return 0;
}
