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

/* Rank 1 waits in MPI_Waitall for a message of rank 0, which has been sent, and one of rank 2,
 * which comes late. Rank 3 tests again and again for another message of rank 2. */
static void waitall_late(const char *argument)
{
    int values[2] = {0, 0}, is_done = rank != 3;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    reduce(5);
    if (rank == 0)
        MPI_Send(values, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    for (int i = 0; rank == 1 && i < 2; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, 2 * i, 7, MPI_COMM_WORLD, &requests[i]);
    if (rank == 3)
        MPI_Irecv(values, 1, MPI_INT, 2, 7, MPI_COMM_WORLD, requests);
    while (!is_done)
        MPI_Test(requests, &is_done, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (rank == 2)
        sleep_in_work(argument);
    for (int to = 1; rank == 2 && to <= 3; to += 2)
        MPI_Send(values, 1, MPI_INT, to, 7, MPI_COMM_WORLD);
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

/* Twenty times a broadcast, a reduction and a gathering, of which rank 2 leaves out a reduction or
 * makes one call more or another one, as `what` says. Then it waits for the file "enough", and the
 * others in a barrier that rank 2 does not enter before. */
static void diverge(const char *what)
{
    double values[1] = {1}, sums[1], all[8];
    const int is_other = rank == 2;
    for (int i = 0; i < 20; i++) {
        const int is_now = is_other && i == 16;
        const int is_max = is_now && strcmp(what, "max") == 0;
        MPI_Bcast(values, 1, MPI_DOUBLE, is_now && strcmp(what, "root") == 0, MPI_COMM_WORLD);
        if (is_now && strcmp(what, "extra") == 0)
            MPI_Barrier(MPI_COMM_WORLD);
        if (!is_now || strcmp(what, "skip") != 0)
            MPI_Allreduce(values, sums, 1, MPI_DOUBLE, is_max ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
        MPI_Allgather(values, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    }
    if (is_other)
        sleep_in_work("300");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 2 leaves out the 71st broadcast, and gets that one in the place of the next. No rank waits
 * for long, because the root waits for no other rank. */
static void diverge_silently(const char *argument)
{
    double value = 1, sum;
    for (int i = 0; i < 100; i++) {
        if (rank != 2 || i != 70)
            MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        MPI_Reduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    }
    sleep_in_work(argument);
    if (rank == 2)
        MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* Arguments that differ from rank to rank, and that MPI ignores there or allows to differ. */
static void differ_legally(MPI_Comm comm, MPI_Datatype four, MPI_Op sum, int i)
{
    enum { MOST = 64 };
    int mine[MOST] = {0}, all[MOST] = {0}, counts[8], places[8], size;
    const int root = i % 2, is_odd = rank % 2, is_root = rank == root, junk = 100 + rank;
    MPI_Request request;
    MPI_Comm_size(comm, &size);
    for (int r = 0; r < size; r++) {
        counts[r] = r + 1;
        places[r] = 8 * r;
    }
    MPI_Bcast(mine, is_odd ? 1 : 4, is_odd ? four : MPI_INT, root, comm);
    MPI_Gather(mine, is_odd ? 1 : 4, is_odd ? four : MPI_INT, all, is_root ? 4 : junk,
               is_root ? MPI_INT : MPI_DATATYPE_NULL, root, comm);
    MPI_Scatter(all, is_root ? 2 : junk, is_root ? MPI_INT : MPI_DATATYPE_NULL,
                is_root ? MPI_IN_PLACE : mine, is_root ? junk : 2, MPI_INT, root, comm);
    MPI_Gatherv(mine, counts[rank], MPI_INT, all, counts, places, MPI_INT, root, comm);
    MPI_Allgather(MPI_IN_PLACE, junk, MPI_DATATYPE_NULL, all, 4, MPI_INT, comm);
    MPI_Allgatherv(mine, counts[rank], MPI_INT, all, counts, places, MPI_INT, comm);
    MPI_Alltoall(mine, 4, MPI_INT, all, is_odd ? 1 : 4, is_odd ? four : MPI_INT, comm);
    MPI_Reduce(is_root ? MPI_IN_PLACE : mine, is_root ? mine : NULL, 4, MPI_INT, MPI_SUM, root,
               comm);
    MPI_Allreduce(mine, all, 4, MPI_INT, sum, comm);
    MPI_Iallreduce(mine, all, 1, MPI_INT, MPI_MAX, comm, &request);
    if (is_odd)
        MPI_Barrier(MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void legal(const char *argument)
{
    MPI_Comm copy, half;
    MPI_Datatype four;
    MPI_Op sum;
    MPI_Type_contiguous(4, MPI_INT, &four);
    MPI_Type_commit(&four);
    MPI_Op_create(add, 1, &sum);
    for (int i = 0; i < 30; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
        differ_legally(MPI_COMM_WORLD, four, sum, i);
        differ_legally(copy, four, sum, i);
        MPI_Barrier(half);
        MPI_Comm_free(&half);
        MPI_Comm_free(&copy);
    }
    sleep_in_work(argument);
}

static const struct {
    const char *name;
    void (*run)(const char *argument);
} modes[] = {
    {"late", come_late},
    {"receive-nothing", receive_nothing},
    {"receive-late", receive_late},
    {"wait-late", wait_late},
    {"waitall-late", waitall_late},
    {"reduce-late", reduce_late},
    {"cross", cross},
    {"diverge", diverge},
    {"silent", diverge_silently},
    {"legal", legal},
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
