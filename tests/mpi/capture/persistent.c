/* Persistent requests in all modes, started one by one and together, completed by every Wait and
 * Test, inactive, cancelled and freed. A record has the name of the function that made the request.
 */
#include "expect.h"

#include <stdlib.h>

enum { K = 4, N = 2 * K, INT = (int)sizeof(int), ROUNDS = 3, BIG = 30000 };

static struct place p;
static int in[K][BIG], out[BIG];
static const int counts[K] = {1, 2, 3, BIG}; /* the last is no short message */
static MPI_Request requests[N];

#define MODE(name, count, tag)                                                              \
    MPI_Recv_init(in[0], BIG, MPI_INT, MPI_ANY_SOURCE, tag, p.comm, &requests[0]);          \
    MPI_##name##_init(out, count, MPI_INT, p.right, tag, p.comm, &requests[1]);             \
    for (int round = 0; round < ROUNDS; round++) {                                          \
        MPI_Start(&requests[0]);                                                            \
        expect_barrier(&p);                                                                 \
        MPI_Start(&requests[1]);                                                            \
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);                                          \
        expect_wait("Wait", 1);                                                             \
        expect_message(&p, #name "_init", (long)(count)*INT, 0, p.right, tag, NONBLOCKING); \
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);                                          \
        expect_wait("Wait", 1);                                                             \
        expect_message(&p, "Recv_init", 0, (long)(count)*INT, p.left, tag, NONBLOCKING);    \
    }                                                                                       \
    MPI_Request_free(&requests[0]);                                                         \
    MPI_Request_free(&requests[1]);

static void modes(void)
{
    EXPECT_EACH_MODE(MODE)
}

static void make(void)
{
    for (int i = 0; i < K; i++) {
        MPI_Recv_init(in[i], BIG, MPI_INT, p.left, i, p.comm, &requests[i]);
        MPI_Send_init(out, counts[i], MPI_INT, p.right, i, p.comm, &requests[K + i]);
    }
}

static void completed(int i)
{
    if (i < K)
        expect_message(&p, "Recv_init", 0, (long)counts[i] * INT, p.left, i, NONBLOCKING);
    else
        expect_message(&p, "Send_init", (long)counts[i - K] * INT, 0, p.right, i - K, NONBLOCKING);
}

static const struct requests all = {requests, N, completed};

/* By Waitall or Testall, Waitany or Testany, and so on; a Waitall and a Waitany of requests that
 * are all inactive complete none. */
static void together(int test, int ignore)
{
    static MPI_Status statuses[N];
    MPI_Status *many = ignore ? MPI_STATUSES_IGNORE : statuses;
    MPI_Status *one = ignore ? MPI_STATUS_IGNORE : statuses;
    int index;
    MPI_Startall(N, requests);
    expect_all(test, &all, many);
    MPI_Waitall(N, requests, many);
    expect_wait("Waitall", 0);
    MPI_Startall(N, requests);
    expect_any(test, &all, one);
    MPI_Waitany(N, requests, &index, one);
    expect_true(index == MPI_UNDEFINED, "Waitany of inactive requests");
    expect_wait("Waitany", 0);
    MPI_Startall(N, requests);
    expect_some(test, &all, many);
}

/* Completed in reverse order, each by Test; a Wait for the request, now inactive, completes none.
 */
static void in_reverse(void)
{
    for (int i = 0; i < N; i++)
        MPI_Start(&requests[i]);
    for (int i = N - 1; i >= 0; i--) {
        expect_one(1, &all, i, MPI_STATUS_IGNORE);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        expect_wait("Wait", 0);
    }
}

static void proc_null(void)
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
    MPI_Recv_init(in[0], 10, MPI_INT, p.left, 60, p.comm, &receive);
    MPI_Request_free(&receive); /* never started: nothing happened */
    MPI_Recv_init(in[0], 10, MPI_INT, p.left, 61, p.comm, &receive);
    MPI_Start(&receive);
    MPI_Cancel(&receive);
    expect_op("Cancel", "-", 0, 0, -1, 0, 0, 0, 2);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    expect_wait("Wait", 1);
    expect_op("Recv_init", p.label, 0, 0, PEER_ANY, TAG_ANY, NONBLOCKING | CANCELLED, 0, 1);
    expect_barrier(&p);
    /* The same request once more, to its end. */
    MPI_Start(&receive);
    MPI_Send_init(out, 4, MPI_INT, p.right, 61, p.comm, &send);
    MPI_Start(&send);
    MPI_Request_free(&send);
    expect_message(&p, "Send_init", 4L * INT, 0, p.right, 61, NONBLOCKING | FREED);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    expect_wait("Wait", 1);
    expect_message(&p, "Recv_init", 0, 4L * INT, p.left, 61, NONBLOCKING);
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
    expect_init(&argc, &argv, &p);
    expect_with_buffer(modes);
    make();
    for (int ignore = 0; ignore < 2; ignore++) {
        together(0, ignore);
        together(1, ignore);
        in_reverse();
    }
    mixed(atoi(argv[2]));
    for (int i = 0; i < N; i++)
        MPI_Request_free(&requests[i]);
    proc_null();
    given_up();
    return expect_finalize();
}
