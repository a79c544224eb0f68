/* MPI programs that hang, according to the first argument: because a rank is late, because no rank
 * sends a message, or because collectives are in crossed order. test_hang.py runs them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank;

static double reduce(int times)
{
    double one = 1, sum = 0;
    for (int i = 0; i < times; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* For so many seconds, or until there is a file "enough". */
__attribute__((noinline)) static void sleep_in_work(const char *seconds)
{
    const struct timespec tenth = {.tv_nsec = 100000000};
    for (int left = 10 * atoi(seconds); left > 0 && access("enough", F_OK) != 0; left--)
        nanosleep(&tenth, NULL);
    __asm__ volatile("" ::: "memory"); /* not a tail call: it is to be seen in call stacks */
}

/* Rank 3 comes to the sixth reduction late. */
static void come_late(const char *argument)
{
    reduce(5);
    if (rank == 3)
        sleep_in_work(argument);
    double sum = reduce(1);
    if (rank == 0)
        printf("sum %g\n", sum);
}

/* Rank 1 waits for a message of rank 2, which waits in the barrier for rank 1. */
static void receive_nothing(const char *argument)
{
    int value;
    (void)argument;
    reduce(5);
    if (rank == 1)
        MPI_Recv(&value, 1, MPI_INT, 2, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 waits for a message of rank 2, which sends it late; the others wait for rank 1. */
static void receive_late(const char *argument)
{
    int value = 0;
    reduce(5);
    if (rank == 1)
        MPI_Recv(&value, 1, MPI_INT, 2, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 2) {
        sleep_in_work(argument);
        MPI_Send(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The same by MPI_Irecv and MPI_Wait. */
static void wait_late(const char *argument)
{
    int value = 0;
    MPI_Request request;
    reduce(5);
    if (rank == 1) {
        MPI_Irecv(&value, 1, MPI_INT, 2, 7, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (rank == 2) {
        sleep_in_work(argument);
        MPI_Send(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 3 comes late to a nonblocking reduction that the others wait for. */
static void reduce_late(const char *argument)
{
    double one = 1, sums[2];
    MPI_Request requests[2];
    reduce(5);
    if (rank == 3)
        sleep_in_work(argument);
    for (int i = 0; i < 2; i++)
        MPI_Iallreduce(&one, &sums[i], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 2; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

/* Two communicators of all ranks, whose barriers half of the ranks enter in the other order. */
static void cross(const char *argument)
{
    MPI_Comm left, right;
    (void)argument;
    MPI_Comm_dup(MPI_COMM_WORLD, &left);
    MPI_Comm_dup(MPI_COMM_WORLD, &right);
    MPI_Comm_set_name(left, "left");
    MPI_Comm_set_name(right, "right");
    MPI_Barrier(left);
    MPI_Barrier(rank < 2 ? left : right);
    MPI_Barrier(rank < 2 ? right : left);
}

static const struct {
    const char *name;
    void (*run)(const char *argument);
} modes[] = {
    {"late", come_late},      {"receive-nothing", receive_nothing}, {"receive-late", receive_late},
    {"wait-late", wait_late}, {"reduce-late", reduce_late},         {"cross", cross},
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; argc > 2 && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            modes[i].run(argv[2]);
    MPI_Finalize();
    return argc > 2 ? 0 : 64;
}
