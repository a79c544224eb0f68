/* A program that never calls MPI_Init: it has sessions (MPI-4.0).
 *
 *     sessions STEPS SLOW MILLISECONDS [TIMES]
 *
 * It begins two sessions, makes a communicator of all ranks from the first, ends the second, and
 * reduces a number in STEPS steps, before each of which rank SLOW sleeps. All of this TIMES times
 * (1). Rank 0 prints a line each time. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "profwrap.h"

static void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static MPI_Comm all_ranks(MPI_Session session)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

static int sum_of_steps(MPI_Comm comm, long steps, int slow, long ms)
{
    int rank, one = 1, sum = 0, all = 0;
    MPI_Comm_rank(comm, &rank);
    for (long s = 0; s < steps; s++) {
        profwrap_step(s);
        if (rank == slow)
            sleep_ms(ms);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        all += sum;
    }
    profwrap_step(PROFWRAP_NO_STEP);
    if (rank == 0)
        printf("%d\n", all);
    return all;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    const long steps = atol(argv[1]), ms = atol(argv[3]), times = argc > 4 ? atol(argv[4]) : 1;
    for (long i = 0; i < times; i++) {
        MPI_Session first, second;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &first);
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second);
        MPI_Comm comm = all_ranks(first);
        MPI_Session_finalize(&second);
        sum_of_steps(comm, steps, atoi(argv[2]), ms);
        MPI_Comm_free(&comm);
        MPI_Session_finalize(&first);
    }
    return 0;
}
