/* A rank that the others wait for outside its steps.
 *
 *     latecomer RANK START SETUP END [FINALIZE]
 *         Rank RANK sleeps START ms before MPI_Init, SETUP ms before its first step, END ms after
 * its last, and FINALIZE ms inside MPI_Finalize; every step is 10 ms of sleep and an Allreduce.
 *
 *     latecomer steps RANK MS
 *         Rank RANK sleeps MS ms longer in every step.
 *
 *     latecomer spawn MS
 *         The ranks start one more process, which sleeps MS ms longer in every step before it meets
 * them in an Allreduce. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
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

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF first. */
static int sleep_at_delete(MPI_Comm comm, int key, void *ms, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    sleep_ms(*(long *)ms);
    return MPI_SUCCESS;
}

static void sleep_in_finalize(long *ms)
{
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, sleep_at_delete, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, ms);
}

static void step(long s, long longer_ms, MPI_Comm comm)
{
    double one = 1, sum;
    profwrap_step(s);
    sleep_ms(STEP_MS + longer_ms);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
}

static int spawn(char **argv)
{
    MPI_Comm others, all;
    MPI_Init(NULL, NULL);
    MPI_Comm_get_parent(&others);
    const int is_child = others != MPI_COMM_NULL;
    if (!is_child)
        MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others,
                       MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(others, is_child, &all);
    for (long s = 0; s < STEPS; s++)
        step(s, is_child ? atol(argv[2]) : 0, all);
    profwrap_step(PROFWRAP_NO_STEP);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&others);
    MPI_Finalize();
    return 0;
}

static int steps(int slow, long longer_ms)
{
    int rank;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (long s = 0; s < STEPS; s++)
        step(s, rank == slow ? longer_ms : 0, MPI_COMM_WORLD);
    profwrap_step(PROFWRAP_NO_STEP);
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "steps") == 0)
        return steps(atoi(argv[2]), atol(argv[3]));
    if (argc == 3 && strcmp(argv[1], "spawn") == 0)
        return spawn(argv);
    if (argc != 5 && argc != 6)
        return 2;
    static long finalize_ms;
    finalize_ms = argc == 6 ? atol(argv[5]) : 0;
    int rank, late = atoi(argv[1]);
    if (rank_of_launcher() == late)
        sleep_ms(atol(argv[2]));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == late)
        sleep_ms(atol(argv[3]));
    for (long s = 0; s < STEPS; s++)
        step(s, 0, MPI_COMM_WORLD);
    profwrap_step(PROFWRAP_NO_STEP);
    if (rank == late)
        sleep_ms(atol(argv[4]));
    if (rank == late && finalize_ms)
        sleep_in_finalize(&finalize_ms);
    MPI_Finalize();
    return 0;
}
