/* Every Wait and Test, on windows of receives and sends, with statuses given and ignored. A Test
 * that completes nothing is recorded at level 2 only. */
#include "expect.h"

#include <stdlib.h>
#include <string.h>

enum { K = 6, N = 2 * K, INT = (int)sizeof(int), LONG = 1 << 20 };

static struct place p;
static int in[K][16], out[16];
static MPI_Request requests[N], extra;
static MPI_Status statuses[N];

/* Receives 0 .. K-1 of i+1 integers under tag i, then the sends. */
static void start(void)
{
    for (int i = 0; i < K; i++)
        MPI_Irecv(in[i], 16, MPI_INT, MPI_ANY_SOURCE, i, p.comm, &requests[i]);
    for (int i = 0; i < K; i++)
        MPI_Isend(out, i + 1, MPI_INT, p.right, i, p.comm, &requests[K + i]);
}

static void completed(int i)
{
    long bytes = (i % K + 1L) * INT;
    if (i < K)
        expect_message(&p, "Irecv", 0, bytes, p.left, i, NONBLOCKING);
    else
        expect_message(&p, "Isend", bytes, 0, p.right, i - K, NONBLOCKING);
}

static const struct requests all = {requests, N, completed};

/* One by one, in order and in reverse. */
static void each(int ignore)
{
    start();
    for (int i = 0; i < N; i++)
        expect_one(0, &all, i, ignore ? MPI_STATUS_IGNORE : &statuses[i]);
    start();
    for (int i = N - 1; i >= 0; i--)
        expect_one(1, &all, i, ignore ? MPI_STATUS_IGNORE : &statuses[i]);
}

static void together(int test, int ignore)
{
    start();
    expect_all(test, &all, ignore ? MPI_STATUSES_IGNORE : statuses);
    start();
    expect_any(test, &all, ignore ? MPI_STATUS_IGNORE : statuses);
    start();
    expect_some(test, &all, ignore ? MPI_STATUSES_IGNORE : statuses);
}

/* Nothing to wait for: recorded as having completed nothing. */
static void null_requests(void)
{
    int flag, index, n;
    for (int i = 0; i < N; i++)
        requests[i] = MPI_REQUEST_NULL;
    extra = MPI_REQUEST_NULL;
    MPI_Wait(&extra, MPI_STATUS_IGNORE);
    expect_wait("Wait", 0);
    MPI_Waitall(N, requests, MPI_STATUSES_IGNORE);
    expect_wait("Waitall", 0);
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    expect_wait("Waitall", 0);
    MPI_Waitany(N, requests, &index, MPI_STATUS_IGNORE);
    expect_wait("Waitany", 0);
    expect_true(index == MPI_UNDEFINED, "Waitany of nothing");
    MPI_Waitsome(N, requests, &n, (int[N]){0}, MPI_STATUSES_IGNORE);
    expect_wait("Waitsome", 0);
    expect_true(n == MPI_UNDEFINED, "Waitsome of nothing");
    MPI_Test(&extra, &flag, MPI_STATUS_IGNORE);
    expect_failed_test("Test");
    MPI_Testall(N, requests, &flag, MPI_STATUSES_IGNORE);
    expect_failed_test("Testall");
}

/* Collectives and messages in one array, some null; level 0 knows of the collective only. */
static void mixed(int level)
{
    int a = 1, sum = 0, b = 2;
    MPI_Request three[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Iallreduce(&a, &sum, 1, MPI_INT, MPI_SUM, p.comm, &three[0]);
    MPI_Irecv(in[0], 16, MPI_INT, p.left, 70, p.comm, &three[2]);
    MPI_Isend(&b, 1, MPI_INT, p.right, 70, p.comm, &three[3]);
    MPI_Waitall(4, three, MPI_STATUSES_IGNORE);
    expect_true(sum == p.n, "the sum");
    expect_op("Waitall", "-", 0, 0, -1, 0, 0, level ? 3 : 1, 0);
    expect_collective(&p, "Iallreduce", -1, INT, INT, NONBLOCKING);
    expect_message(&p, "Irecv", 0, INT, p.left, 70, NONBLOCKING);
    expect_message(&p, "Isend", INT, 0, p.right, 70, NONBLOCKING);
}

/* Messages in front of what is no message and behind it; one so long that its send is under way
 * still when it is waited for. */
static void mixed_behind(int level)
{
    static char from[LONG], to[LONG];
    int a = 1, sum = 0, b = 2;
    MPI_Request six[6];
    MPI_Irecv(in[0], 16, MPI_INT, p.left, 71, p.comm, &six[0]);
    MPI_Irecv(to, LONG, MPI_CHAR, MPI_ANY_SOURCE, 72, p.comm, &six[4]);
    MPI_Isend(from, LONG, MPI_CHAR, p.right, 72, p.comm, &six[1]);
    six[2] = MPI_REQUEST_NULL;
    MPI_Iallreduce(&a, &sum, 1, MPI_INT, MPI_SUM, p.comm, &six[3]);
    MPI_Isend(&b, 1, MPI_INT, p.right, 71, p.comm, &six[5]);
    MPI_Waitall(6, six, MPI_STATUSES_IGNORE);
    expect_true(sum == p.n, "the sum");
    expect_op("Waitall", "-", 0, 0, -1, 0, 0, level ? 5 : 1, 0);
    expect_message(&p, "Irecv", 0, INT, p.left, 71, NONBLOCKING);
    expect_message(&p, "Isend", LONG, 0, p.right, 72, NONBLOCKING);
    expect_collective(&p, "Iallreduce", -1, INT, INT, NONBLOCKING);
    expect_message(&p, "Irecv", 0, LONG, p.left, 72, NONBLOCKING);
    expect_message(&p, "Isend", INT, 0, p.right, 71, NONBLOCKING);
}

int main(int argc, char **argv)
{
    expect_init(&argc, &argv, &p);
    for (int ignore = 0; ignore < 2; ignore++) {
        each(ignore);
        together(0, ignore);
        together(1, ignore);
    }
    null_requests();
    mixed(atoi(argv[2]));
    mixed_behind(atoi(argv[2]));
    return expect_finalize();
}
