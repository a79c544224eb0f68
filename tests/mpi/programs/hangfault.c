/* A loop of three collectives in which rank 2 of 4 makes the fault that the first argument names,
 * once. Then rank 2 sleeps, and the others wait for it in a barrier, unless the fault has ended the
 * job or stopped it before. test_hang_faults.py runs it. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 17 };

static const char *fault;
static int rank;
static MPI_Comm other;
static double one[4] = {1}, sum[4], all[16];

/* 1 on rank 2 in the last round when this is the fault. */
static int is_now(int round, const char *name)
{
    return rank == 2 && round == ROUNDS - 1 && strcmp(fault, name) == 0;
}

static void sleep_long(void)
{
    for (;;)
        sleep(100);
}

static void reduce(int round)
{
    if (is_now(round, "skipped"))
        return;
    if (is_now(round, "operation"))
        MPI_Reduce(one, sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    else
        MPI_Allreduce(one, sum, 1, MPI_DOUBLE, is_now(round, "reduction") ? MPI_MAX : MPI_SUM,
                      is_now(round, "communicator") ? other : MPI_COMM_WORLD);
}

static void gather(void)
{
    MPI_Allgather(one, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void end_somehow(int round)
{
    if (is_now(round, "stopped"))
        raise(SIGSTOP);
    if (is_now(round, "killed"))
        raise(SIGKILL);
    if (is_now(round, "exited"))
        _exit(0);
    if (is_now(round, "asleep"))
        sleep_long();
}

static void run_round(int round)
{
    MPI_Bcast(one, is_now(round, "count") ? 2 : 1,
              is_now(round, "type") ? MPI_C_DOUBLE_COMPLEX : MPI_DOUBLE, is_now(round, "root"),
              MPI_COMM_WORLD);
    end_somehow(round);
    if (is_now(round, "extra"))
        MPI_Barrier(MPI_COMM_WORLD);
    if (is_now(round, "swapped"))
        gather();
    reduce(round);
    if (!is_now(round, "swapped"))
        gather();
}

/* Rank 2 waits for messages that rank 1 does not send. */
static void wait_for_messages(void)
{
    MPI_Request requests[2];
    int values[2], is_done = 0;
    if (rank != 2)
        return;
    if (strcmp(fault, "any source") == 0)
        MPI_Recv(values, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(fault, "receive") == 0)
        MPI_Recv(values, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++)
        requests[i] = MPI_REQUEST_NULL;
    if (strcmp(fault, "waitall") == 0 || strcmp(fault, "polling") == 0)
        for (int i = 0; i < 2; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, 1, 7 + i, MPI_COMM_WORLD, &requests[i]);
    if (strcmp(fault, "polling") == 0)
        while (!is_done)
            MPI_Test(&requests[0], &is_done, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Comm half;
    fault = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_name(other, "other");
    for (int round = 0; round < ROUNDS; round++)
        run_round(round);
    wait_for_messages();
    if (strcmp(fault, "split") == 0 && rank != 2)
        MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &half);
    if (strcmp(fault, "finalize") == 0 && rank != 2)
        MPI_Finalize();
    if (strcmp(fault, "cycle") == 0)
        MPI_Barrier(rank < 2 ? MPI_COMM_WORLD : other);
    if (rank == 2 && strcmp(fault, "cycle") != 0 && strcmp(fault, "any source") != 0)
        sleep_long();
    MPI_Barrier(strcmp(fault, "cycle") == 0 && rank < 2 ? other : MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
