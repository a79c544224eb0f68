/* Point-to-point in all modes, with wildcards, short messages, MPI_PROC_NULL and derived types. */
#include "expect.h"

#include <stdlib.h>
#include <string.h>

enum { INT = (int)sizeof(int), ROOM = 1 << 16 };

static int in[ROOM], out[ROOM];
static struct place p;

/* A receive is posted first: Rsend needs it, and one rank alone must not wait for itself. */
#define MODE(name, count, tag)                                        \
    MPI_Irecv(in, ROOM, MPI_INT, p.left, tag, p.comm, &request);      \
    expect_barrier(&p);                                               \
    MPI_##name(out, count, MPI_INT, p.right, tag, p.comm);            \
    expect_message(&p, #name, (long)(count)*INT, 0, p.right, tag, 0); \
    MPI_Wait(&request, MPI_STATUS_IGNORE);                            \
    expect_wait("Wait", 1);                                           \
    expect_message(&p, "Irecv", 0, (long)(count)*INT, p.left, tag, NONBLOCKING);

#define IMODE(name, count, tag)                                                  \
    MPI_Irecv(in, ROOM, MPI_INT, p.left, tag, p.comm, &requests[0]);             \
    expect_barrier(&p);                                                          \
    MPI_##name(out, count, MPI_INT, p.right, tag, p.comm, &requests[1]);         \
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);                               \
    expect_wait("Waitall", 2);                                                   \
    expect_message(&p, "Irecv", 0, (long)(count)*INT, p.left, tag, NONBLOCKING); \
    expect_message(&p, #name, (long)(count)*INT, 0, p.right, tag, NONBLOCKING);

static void modes(void)
{
    MPI_Request request, requests[2];
    EXPECT_EACH_MODE(MODE)
    MODE(Send, 30000, 3)
    IMODE(Isend, 7, 7)
    IMODE(Isend, 30000, 8)
    IMODE(Issend, 8, 9)
    IMODE(Irsend, 9, 10)
    IMODE(Ibsend, 10, 11)
}

/* The sender and the tag are known only afterwards, and with the status ignored. */
static void wildcards(void)
{
    MPI_Request request;
    MPI_Status status;
    MPI_Isend(out, 2, MPI_INT, p.right, 20, p.comm, &request);
    MPI_Recv(in, 10, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, p.comm, MPI_STATUS_IGNORE);
    expect_message(&p, "Recv", 0, 2 * INT, p.left, 20, 0);
    MPI_Wait(&request, &status);
    expect_wait("Wait", 1);
    expect_message(&p, "Isend", 2 * INT, 0, p.right, 20, NONBLOCKING);
    expect_barrier(&p);

    MPI_Irecv(in, 10, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, p.comm, &request);
    MPI_Send(out, 3, MPI_INT, p.right, 21, p.comm);
    expect_message(&p, "Send", 3 * INT, 0, p.right, 21, 0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_wait("Wait", 1);
    expect_message(&p, "Irecv", 0, 3 * INT, p.left, 21, NONBLOCKING);
    expect_barrier(&p);

    MPI_Isend(out, 4, MPI_INT, p.right, 22, p.comm, &request);
    MPI_Recv(in, 10, MPI_INT, p.left, 22, p.comm, &status);
    expect_message(&p, "Recv", 0, 4 * INT, p.left, 22, 0);
    expect_true(status.MPI_SOURCE == p.left && status.MPI_TAG == 22, "the status of Recv");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_wait("Wait", 1);
    expect_message(&p, "Isend", 4 * INT, 0, p.right, 22, NONBLOCKING);
    expect_barrier(&p);
}

static void both_ways(void)
{
    MPI_Status status;
    MPI_Sendrecv(out, 5, MPI_INT, p.right, 30, in, 20, MPI_INT, p.left, 30, p.comm,
                 MPI_STATUS_IGNORE);
    expect_message(&p, "Sendrecv", 5 * INT, 0, p.right, 30, 0);
    expect_message(&p, "Sendrecv", 0, 5 * INT, p.left, 30, RECV_PART);
    MPI_Sendrecv(out, 6, MPI_INT, p.left, 31, in, 20, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, p.comm,
                 &status);
    expect_message(&p, "Sendrecv", 6 * INT, 0, p.left, 31, 0);
    expect_message(&p, "Sendrecv", 0, 6 * INT, p.right, 31, RECV_PART);
    expect_true(status.MPI_SOURCE == p.right, "the status of Sendrecv");
    expect_barrier(&p);
    MPI_Sendrecv_replace(in, 7, MPI_INT, p.right, 32, p.left, 32, p.comm, MPI_STATUS_IGNORE);
    expect_message(&p, "Sendrecv_replace", 7 * INT, 0, p.right, 32, 0);
    expect_message(&p, "Sendrecv_replace", 0, 7 * INT, p.left, 32, RECV_PART);
}

static void proc_null(void)
{
    MPI_Request requests[2];
    MPI_Send(out, 5, MPI_INT, MPI_PROC_NULL, 40, p.comm);
    expect_message(&p, "Send", 0, 0, MPI_PROC_NULL, 40, 0);
    MPI_Recv(in, 5, MPI_INT, MPI_PROC_NULL, 41, p.comm, MPI_STATUS_IGNORE);
    expect_message(&p, "Recv", 0, 0, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Sendrecv(out, 5, MPI_INT, MPI_PROC_NULL, 42, in, 5, MPI_INT, MPI_PROC_NULL, 43, p.comm,
                 MPI_STATUS_IGNORE);
    expect_message(&p, "Sendrecv", 0, 0, MPI_PROC_NULL, 42, 0);
    expect_message(&p, "Sendrecv", 0, 0, MPI_PROC_NULL, MPI_ANY_TAG, RECV_PART);
    MPI_Isend(out, 5, MPI_INT, MPI_PROC_NULL, 44, p.comm, &requests[0]);
    MPI_Irecv(in, 5, MPI_INT, MPI_PROC_NULL, 45, p.comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect_wait("Waitall", 2);
    expect_message(&p, "Isend", 0, 0, MPI_PROC_NULL, 44, NONBLOCKING);
    expect_message(&p, "Irecv", 0, 0, MPI_PROC_NULL, MPI_ANY_TAG, NONBLOCKING);
}

/* Bytes are those of the elements, and a freed type's handle may come back with another size. */
static void types(void)
{
    for (int n = 2; n < 7; n++) {
        MPI_Datatype strided;
        MPI_Request request;
        MPI_Type_vector(n, 1, 2, MPI_INT, &strided);
        MPI_Type_commit(&strided);
        MPI_Irecv(in, 100, MPI_INT, p.left, 50, p.comm, &request);
        MPI_Send(out, 3, strided, p.right, 50, p.comm);
        expect_message(&p, "Send", 3L * n * INT, 0, p.right, 50, 0);
        MPI_Type_free(&strided);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect_wait("Wait", 1);
        expect_message(&p, "Irecv", 0, 3L * n * INT, p.left, 50, NONBLOCKING);
    }
}

/* Requests that end otherwise than by a message. */
static void given_up(void)
{
    MPI_Request request;
    MPI_Irecv(in, 10, MPI_INT, p.left, 60, p.comm, &request);
    MPI_Cancel(&request);
    expect_op("Cancel", "-", 0, 0, -1, 0, 0, 0, 2);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_wait("Wait", 1);
    expect_op("Irecv", p.label, 0, 0, PEER_ANY, TAG_ANY, NONBLOCKING | CANCELLED, 0, 1);
    for (int i = 0; i < 3; i++) {
        MPI_Irecv(in, 10, MPI_INT, p.left, 61, p.comm, &request);
        MPI_Request sent;
        MPI_Isend(out, 4 + i, MPI_INT, p.right, 61, p.comm, &sent);
        MPI_Request_free(&sent);
        expect_message(&p, "Isend", (4L + i) * INT, 0, p.right, 61, NONBLOCKING | FREED);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect_wait("Wait", 1);
        expect_message(&p, "Irecv", 0, (4L + i) * INT, p.left, 61, NONBLOCKING);
    }
}

int main(int argc, char **argv)
{
    expect_init(&argc, &argv, &p);
    expect_with_buffer(modes);
    wildcards();
    both_ways();
    proc_null();
    types();
    given_up();
    return expect_finalize();
}
