/* Communication for the clock benchmark: after a random pause of at most `pause_us` each, all ranks
 * meet in an allreduce of 8 bytes, `rounds` times or until `seconds` have passed.
 *
 *     clockload ROUNDS SECONDS PAUSE_US */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void pause_for(uint64_t us)
{
    const struct timespec pause = {.tv_sec = (time_t)(us / 1000000),
                                   .tv_nsec = (long)(us % 1000000) * 1000};
    nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1000;
    double seconds = argc > 2 ? atof(argv[2]) : 0;
    uint64_t most = argc > 3 ? strtoull(argv[3], NULL, 10) : 200;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    uint64_t seed = 977u * (uint64_t)(rank + 1);
    double start = MPI_Wtime();
    for (long i = 0; i < rounds; i++) {
        double mine[1] = {seconds > 0 && MPI_Wtime() - start > seconds}, all[1];
        pause_for(next_random(&seed) % (most + 1));
        MPI_Allreduce(mine, all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (all[0] > 0)
            break;
    }
    MPI_Finalize();
    return 0;
}
