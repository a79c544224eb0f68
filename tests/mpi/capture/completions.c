/* Every Wait and Test, on windows of receives and sends, with statuses given and ignored. A Test
 * that completes nothing is recorded at level 2 only. */
#include "expect.h"

#include <stdlib.h>
#include <string.h>

enum { K = 6, N = 2 * K, INT = (int)sizeof(int), LONG = 1 << 20 };

static struct place p;
static int right, left;
static int in[K][16], out[16];
static MPI_Request requests[N], extra;
static MPI_Status statuses[N];

/* Receives 0 .. K-1 of i+1 integers under tag i, then the sends. */
static void start(void)
{
    for (int i = 0; i < K; i++)
        MPI_Irecv(in[i], 16, MPI_INT, MPI_ANY_SOURCE, i, p.comm, &requests[i]);
    for (int i = 0; i < K; i++)
        MPI_Isend(out, i + 1, MPI_INT, right, i, p.comm, &requests[K + i]);
}

static void completed(int i)
{
    long bytes = (i % K + 1L) * INT;
    if (i < K)
        expect_message(&p, "Irecv", 0, bytes, left, i, NONBLOCKING);
    else
        expect_message(&p, "Isend", bytes, 0, right, i - K, NONBLOCKING);
}

static void completed_all(const char *op)
{
    expect_wait(op, N);
    for (int i = 0; i < N; i++)
        completed(i);
}

static void failed_test(const char *op)
{
    expect_op(op, "-", 0, 0, -1, 0, 0, 0, 2);
}

static void one_by_one(int ignore)
{
    start();
    for (int i = 0; i < N; i++) {
        MPI_Wait(&requests[i], ignore ? MPI_STATUS_IGNORE : &statuses[i]);
        expect_wait("Wait", 1);
        completed(i);
    }
    start();
    for (int at = 0; at < N; at++) {
        int i = N - 1 - at, flag = 0;
        while (!flag) {
            MPI_Test(&requests[i], &flag, ignore ? MPI_STATUS_IGNORE : &statuses[i]);
            if (flag)
                expect_wait("Test", 1);
            else
                failed_test("Test");
        }
        completed(i);
    }
}

static void all(int ignore)
{
    int flag = 0;
    start();
    MPI_Waitall(N, requests, ignore ? MPI_STATUSES_IGNORE : statuses);
    completed_all("Waitall");
    start();
    while (!flag) {
        MPI_Testall(N, requests, &flag, ignore ? MPI_STATUSES_IGNORE : statuses);
        if (flag)
            completed_all("Testall");
        else
            failed_test("Testall");
    }
}

static void any(int ignore)
{
    MPI_Status *status = ignore ? MPI_STATUS_IGNORE : statuses;
    int index, flag;
    start();
    for (int i = 0; i < N; i++) {
        MPI_Waitany(N, requests, &index, status);
        expect_wait("Waitany", 1);
        completed(index);
    }
    start();
    for (int done = 0; done < N;) {
        MPI_Testany(N, requests, &index, &flag, status);
        if (!flag) {
            failed_test("Testany");
            continue;
        }
        expect_wait("Testany", 1);
        completed(index);
        done++;
    }
}

static void some(int ignore)
{
    MPI_Status *into = ignore ? MPI_STATUSES_IGNORE : statuses;
    int indices[N];
    for (int test = 0; test < 2; test++) {
        start();
        for (int done = 0, n; done < N; done += n) {
            if (test)
                MPI_Testsome(N, requests, &n, indices, into);
            else
                MPI_Waitsome(N, requests, &n, indices, into);
            if (test && n == 0)
                failed_test("Testsome");
            else
                expect_wait(test ? "Testsome" : "Waitsome", n);
            for (int i = 0; i < n; i++)
                completed(indices[i]);
        }
    }
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
    failed_test("Test");
    MPI_Testall(N, requests, &flag, MPI_STATUSES_IGNORE);
    failed_test("Testall");
}

/* Collectives and messages in one array, some null; level 0 knows of the collective only. */
static void mixed(int level)
{
    int a = 1, sum = 0, b = 2;
    MPI_Request three[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Iallreduce(&a, &sum, 1, MPI_INT, MPI_SUM, p.comm, &three[0]);
    MPI_Irecv(in[0], 16, MPI_INT, left, 70, p.comm, &three[2]);
    MPI_Isend(&b, 1, MPI_INT, right, 70, p.comm, &three[3]);
    MPI_Waitall(4, three, MPI_STATUSES_IGNORE);
    expect_true(sum == p.n, "the sum");
    expect_op("Waitall", "-", 0, 0, -1, 0, 0, level ? 3 : 1, 0);
    expect_collective(&p, "Iallreduce", -1, INT, INT, NONBLOCKING);
    expect_message(&p, "Irecv", 0, INT, left, 70, NONBLOCKING);
    expect_message(&p, "Isend", INT, 0, right, 70, NONBLOCKING);
}

/* Messages in front of what is no message and behind it; one so long that its send is under way
 * still when it is waited for. */
static void mixed_behind(int level)
{
    static char from[LONG], to[LONG];
    int a = 1, sum = 0, b = 2;
    MPI_Request six[6];
    MPI_Irecv(in[0], 16, MPI_INT, left, 71, p.comm, &six[0]);
    MPI_Irecv(to, LONG, MPI_CHAR, MPI_ANY_SOURCE, 72, p.comm, &six[4]);
    MPI_Isend(from, LONG, MPI_CHAR, right, 72, p.comm, &six[1]);
    six[2] = MPI_REQUEST_NULL;
    MPI_Iallreduce(&a, &sum, 1, MPI_INT, MPI_SUM, p.comm, &six[3]);
    MPI_Isend(&b, 1, MPI_INT, right, 71, p.comm, &six[5]);
    MPI_Waitall(6, six, MPI_STATUSES_IGNORE);
    expect_true(sum == p.n, "the sum");
    expect_op("Waitall", "-", 0, 0, -1, 0, 0, level ? 5 : 1, 0);
    expect_message(&p, "Irecv", 0, INT, left, 71, NONBLOCKING);
    expect_message(&p, "Isend", LONG, 0, right, 72, NONBLOCKING);
    expect_collective(&p, "Iallreduce", -1, INT, INT, NONBLOCKING);
    expect_message(&p, "Irecv", 0, LONG, left, 72, NONBLOCKING);
    expect_message(&p, "Isend", INT, 0, right, 71, NONBLOCKING);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin(argv[1]);
    expect_op("Init", "-", 0, 0, -1, 0, 0, 0, 0);
    expect_place(&p, MPI_COMM_WORLD, "world", "MPI_COMM_WORLD");
    right = (p.me + 1) % p.n;
    left = (p.me + p.n - 1) % p.n;
    for (int ignore = 0; ignore < 2; ignore++) {
        one_by_one(ignore);
        all(ignore);
        any(ignore);
        some(ignore);
    }
    null_requests();
    mixed(atoi(argv[2]));
    mixed_behind(atoi(argv[2]));
    expect_op("Finalize", "-", 0, 0, -1, 0, 0, 0, 0);
    expect_end();
    MPI_Finalize();
    return 0;
}
