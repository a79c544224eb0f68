/* Persistent requests in all modes, started one by one and together, completed by every Wait and
 * Test, inactive, cancelled and freed. A record has the name of the function that made the request.
 */
#include "expect.h"

#include <stdlib.h>

enum { K = 4, N = 2 * K, INT = (int)sizeof(int), ROUNDS = 3, BIG = 30000 };

static struct place p;
static int right, left;
static int in[K][BIG], out[BIG];
static const int counts[K] = {1, 2, 3, BIG}; /* the last is no short message */
static MPI_Request requests[N];

static void barrier(void)
{
    MPI_Barrier(p.comm);
    expect_collective(&p, "Barrier", -1, 0, 0, 0);
}

#define MODE(name, count, tag)                                                         \
    MPI_Recv_init(in[0], BIG, MPI_INT, MPI_ANY_SOURCE, tag, p.comm, &requests[0]);     \
    MPI_##name(out, count, MPI_INT, right, tag, p.comm, &requests[1]);                 \
    for (int round = 0; round < ROUNDS; round++) {                                     \
        MPI_Start(&requests[0]);                                                       \
        barrier();                                                                     \
        MPI_Start(&requests[1]);                                                       \
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);                                     \
        expect_wait("Wait", 1);                                                        \
        expect_message(&p, #name, (long)(count)*INT, 0, right, tag, NONBLOCKING);      \
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);                                     \
        expect_wait("Wait", 1);                                                        \
        expect_message(&p, "Recv_init", 0, (long)(count)*INT, left, tag, NONBLOCKING); \
    }                                                                                  \
    MPI_Request_free(&requests[0]);                                                    \
    MPI_Request_free(&requests[1]);

static void modes(void)
{
    static char buffer[1 << 16];
    void *detached;
    int size;
    MPI_Buffer_attach(buffer, sizeof(buffer));
    MODE(Send_init, 3, 1)
    MODE(Send_init, 0, 2)
    MODE(Ssend_init, 4, 4)
    MODE(Rsend_init, 5, 5)
    MODE(Bsend_init, 6, 6)
    MPI_Buffer_detach(&detached, &size);
}

static void make(void)
{
    for (int i = 0; i < K; i++) {
        MPI_Recv_init(in[i], BIG, MPI_INT, left, i, p.comm, &requests[i]);
        MPI_Send_init(out, counts[i], MPI_INT, right, i, p.comm, &requests[K + i]);
    }
}

static void completed(int i)
{
    if (i < K)
        expect_message(&p, "Recv_init", 0, (long)counts[i] * INT, left, i, NONBLOCKING);
    else
        expect_message(&p, "Send_init", (long)counts[i - K] * INT, 0, right, i - K, NONBLOCKING);
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

static void all(MPI_Status *statuses)
{
    int flag = 0;
    MPI_Startall(N, requests);
    MPI_Waitall(N, requests, statuses);
    completed_all("Waitall");
    MPI_Waitall(N, requests, statuses); /* all inactive */
    expect_wait("Waitall", 0);
    MPI_Startall(N, requests);
    while (!flag) {
        MPI_Testall(N, requests, &flag, statuses);
        if (flag)
            completed_all("Testall");
        else
            failed_test("Testall");
    }
}

static void any(MPI_Status *status)
{
    int index, flag;
    MPI_Startall(N, requests);
    for (int i = 0; i < N; i++) {
        MPI_Waitany(N, requests, &index, status);
        expect_wait("Waitany", 1);
        completed(index);
    }
    MPI_Waitany(N, requests, &index, status);
    expect_true(index == MPI_UNDEFINED, "Waitany of inactive requests");
    expect_wait("Waitany", 0);
    MPI_Startall(N, requests);
    for (int done = 0; done < N; done += flag) {
        MPI_Testany(N, requests, &index, &flag, status);
        if (flag) {
            expect_wait("Testany", 1);
            completed(index);
        } else {
            failed_test("Testany");
        }
    }
}

static void some(int test, MPI_Status *statuses)
{
    int indices[N];
    MPI_Startall(N, requests);
    for (int done = 0, n; done < N; done += n) {
        if (test)
            MPI_Testsome(N, requests, &n, indices, statuses);
        else
            MPI_Waitsome(N, requests, &n, indices, statuses);
        if (test && n == 0)
            failed_test("Testsome");
        else
            expect_wait(test ? "Testsome" : "Waitsome", n);
        for (int i = 0; i < n; i++)
            completed(indices[i]);
    }
}

/* In reverse, and every second one at first not at all. */
static void one_by_one(void)
{
    for (int i = 0; i < N; i++)
        MPI_Start(&requests[i]);
    for (int i = N - 1; i >= 0; i--) {
        int flag = 0;
        while (!flag) {
            MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
            if (flag)
                expect_wait("Test", 1);
            else
                failed_test("Test");
        }
        completed(i);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE); /* inactive now */
        expect_wait("Wait", 0);
    }
}

static void nobody(void)
{
    MPI_Request pair[2];
    MPI_Send_init(out, 5, MPI_INT, MPI_PROC_NULL, 40, p.comm, &pair[0]);
    MPI_Recv_init(in[0], 5, MPI_INT, MPI_PROC_NULL, 41, p.comm, &pair[1]);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Startall(2, pair);
        MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
        expect_wait("Waitall", 2);
        expect_message(&p, "Send_init", 0, 0, MPI_PROC_NULL, 40, NONBLOCKING);
        expect_message(&p, "Recv_init", 0, 0, MPI_PROC_NULL, MPI_ANY_TAG, NONBLOCKING);
    }
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);
}

static void given_up(void)
{
    MPI_Request receive, send;
    MPI_Recv_init(in[0], 10, MPI_INT, left, 60, p.comm, &receive);
    MPI_Request_free(&receive); /* never started: nothing happened */
    MPI_Recv_init(in[0], 10, MPI_INT, left, 61, p.comm, &receive);
    MPI_Start(&receive);
    MPI_Cancel(&receive);
    expect_op("Cancel", "-", 0, 0, -1, 0, 0, 0, 2);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    expect_wait("Wait", 1);
    expect_op("Recv_init", p.label, 0, 0, PEER_ANY, TAG_ANY, NONBLOCKING | CANCELLED, 0, 1);
    barrier();
    /* The same request once more, to its end. */
    MPI_Start(&receive);
    MPI_Send_init(out, 4, MPI_INT, right, 61, p.comm, &send);
    MPI_Start(&send);
    MPI_Request_free(&send);
    expect_message(&p, "Send_init", 4L * INT, 0, right, 61, NONBLOCKING | FREED);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    expect_wait("Wait", 1);
    expect_message(&p, "Recv_init", 0, 4L * INT, left, 61, NONBLOCKING);
    MPI_Request_free(&receive);
}

/* Persistent, null and plain requests in one array; level 0 knows of the collective only. */
static void mixed(int level)
{
    int sum = 0, one = 1;
    MPI_Request four[4] = {requests[0], MPI_REQUEST_NULL, requests[K], MPI_REQUEST_NULL};
    MPI_Start(&four[0]);
    MPI_Start(&four[2]);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, p.comm, &four[3]);
    MPI_Waitall(4, four, MPI_STATUSES_IGNORE);
    expect_true(sum == p.n, "the sum");
    expect_op("Waitall", "-", 0, 0, -1, 0, 0, level ? 3 : 1, 0);
    completed(0);
    completed(K);
    expect_collective(&p, "Iallreduce", -1, INT, INT, NONBLOCKING);
}

int main(int argc, char **argv)
{
    MPI_Status statuses[N];
    MPI_Init(&argc, &argv);
    expect_begin(argv[1]);
    expect_op("Init", "-", 0, 0, -1, 0, 0, 0, 0);
    expect_place(&p, MPI_COMM_WORLD, "world", "MPI_COMM_WORLD");
    right = (p.me + 1) % p.n;
    left = (p.me + p.n - 1) % p.n;
    modes();
    make();
    for (int ignore = 0; ignore < 2; ignore++) {
        all(ignore ? MPI_STATUSES_IGNORE : statuses);
        any(ignore ? MPI_STATUS_IGNORE : statuses);
        some(0, ignore ? MPI_STATUSES_IGNORE : statuses);
        some(1, ignore ? MPI_STATUSES_IGNORE : statuses);
        one_by_one();
    }
    mixed(atoi(argv[2]));
    for (int i = 0; i < N; i++)
        MPI_Request_free(&requests[i]);
    nobody();
    given_up();
    expect_op("Finalize", "-", 0, 0, -1, 0, 0, 0, 0);
    expect_end();
    MPI_Finalize();
    return 0;
}
