/* Probes and matched receives, with wildcards and MPI_PROC_NULL, blocking and not. */
#include "expect.h"

#include <stdlib.h>

enum { INT = (int)sizeof(int), ROOM = 64 };

static struct place p;
static int in[ROOM], out[ROOM];
static MPI_Request sending;

static void send(int count, int tag)
{
    MPI_Isend(out, count, MPI_INT, p.right, tag, p.comm, &sending);
}

static void sent(int count, int tag)
{
    MPI_Wait(&sending, MPI_STATUS_IGNORE);
    expect_wait("Wait", 1);
    expect_message(&p, "Isend", (long)count * INT, 0, p.right, tag, NONBLOCKING);
    expect_barrier(&p);
}

/* What a probe found; `level` is the lowest that records it. */
static void found(const char *op, int tag, int level)
{
    expect_op(op, p.label, 0, 0, p.world[p.left], tag, 0, 0, level);
}

static void not_found(const char *op, int tag)
{
    expect_op(op, p.label, 0, 0, -1, tag, 0, 0, 2);
}

static void receive(int count, int tag)
{
    MPI_Recv(in, ROOM, MPI_INT, MPI_ANY_SOURCE, tag, p.comm, MPI_STATUS_IGNORE);
    expect_message(&p, "Recv", 0, (long)count * INT, p.left, tag, 0);
}

static void plain(void)
{
    MPI_Status status;
    int flag = 0, nothing;
    MPI_Iprobe(MPI_ANY_SOURCE, 99, p.comm, &nothing, MPI_STATUS_IGNORE);
    expect_true(!nothing, "Iprobe of nothing");
    not_found("Iprobe", 99);
    send(3, 1);
    MPI_Probe(p.left, 1, p.comm, &status);
    expect_true(status.MPI_SOURCE == p.left, "the status of Probe");
    found("Probe", 1, 1);
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, p.comm, MPI_STATUS_IGNORE);
    found("Probe", 1, 1);
    receive(3, 1);
    sent(3, 1);
    send(4, 2);
    while (!flag) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, p.comm, &flag, MPI_STATUS_IGNORE);
        if (flag)
            found("Iprobe", 2, 2);
        else
            not_found("Iprobe", MPI_ANY_TAG);
    }
    receive(4, 2);
    sent(4, 2);
    MPI_Probe(MPI_PROC_NULL, 5, p.comm, &status);
    expect_op("Probe", p.label, 0, 0, -1, MPI_ANY_TAG, 0, 0, 1);
    MPI_Iprobe(MPI_PROC_NULL, 5, p.comm, &flag, &status);
    expect_op("Iprobe", p.label, 0, 0, -1, MPI_ANY_TAG, 0, 0, 2);
}

/* Takes the message off the queue by `improbe` or not, and receives it by `imrecv` or not. */
static void matched(int improbe, int imrecv, int wild, int count)
{
    MPI_Message message;
    MPI_Status status;
    const int tag = 10 + 2 * improbe + imrecv, source = wild ? MPI_ANY_SOURCE : p.left;
    const int any = wild ? MPI_ANY_TAG : tag;
    int flag = 0;
    send(count, tag);
    if (!improbe) {
        MPI_Mprobe(source, any, p.comm, &message, wild ? MPI_STATUS_IGNORE : &status);
        found("Mprobe", tag, 1);
    }
    while (improbe && !flag) {
        MPI_Improbe(source, any, p.comm, &flag, &message, wild ? MPI_STATUS_IGNORE : &status);
        if (flag)
            found("Improbe", tag, 1);
        else
            not_found("Improbe", any);
    }
    if (imrecv) {
        MPI_Request request;
        MPI_Imrecv(in, ROOM, MPI_INT, &message, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect_wait("Wait", 1);
        expect_message(&p, "Imrecv", 0, (long)count * INT, p.left, tag, NONBLOCKING);
    } else {
        MPI_Mrecv(in, ROOM, MPI_INT, &message, MPI_STATUS_IGNORE);
        expect_message(&p, "Mrecv", 0, (long)count * INT, p.left, tag, 0);
    }
    expect_true(message == MPI_MESSAGE_NULL, "the received message's handle");
    sent(count, tag);
}

static void proc_null(void)
{
    MPI_Message message;
    MPI_Request request;
    int flag;
    MPI_Mprobe(MPI_PROC_NULL, 30, p.comm, &message, MPI_STATUS_IGNORE);
    expect_op("Mprobe", p.label, 0, 0, -1, MPI_ANY_TAG, 0, 0, 1);
    MPI_Mrecv(in, 5, MPI_INT, &message, MPI_STATUS_IGNORE);
    expect_op("Mrecv", "-", 0, 0, -1, MPI_ANY_TAG, 0, 0, 1);
    MPI_Improbe(MPI_PROC_NULL, 31, p.comm, &flag, &message, MPI_STATUS_IGNORE);
    expect_op("Improbe", p.label, 0, 0, -1, MPI_ANY_TAG, 0, 0, 1);
    MPI_Imrecv(in, 5, MPI_INT, &message, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_wait("Wait", 1);
    expect_op("Imrecv", "-", 0, 0, -1, MPI_ANY_TAG, NONBLOCKING, 0, 1);
}

/* Two at a time, received in the order in which they were not sent. */
static void crossed(void)
{
    MPI_Message first, second;
    MPI_Request requests[2], sends[2];
    MPI_Isend(out, 5, MPI_INT, p.right, 40, p.comm, &sends[0]);
    MPI_Isend(out, 6, MPI_INT, p.right, 40, p.comm, &sends[1]);
    MPI_Mprobe(p.left, 40, p.comm, &first, MPI_STATUS_IGNORE);
    found("Mprobe", 40, 1);
    MPI_Mprobe(p.left, 40, p.comm, &second, MPI_STATUS_IGNORE);
    found("Mprobe", 40, 1);
    MPI_Imrecv(in, ROOM, MPI_INT, &second, &requests[1]);
    MPI_Imrecv(in, ROOM, MPI_INT, &first, &requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect_wait("Waitall", 2);
    expect_message(&p, "Imrecv", 0, 5 * INT, p.left, 40, NONBLOCKING);
    expect_message(&p, "Imrecv", 0, 6 * INT, p.left, 40, NONBLOCKING);
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
    expect_wait("Waitall", 2);
    expect_message(&p, "Isend", 5 * INT, 0, p.right, 40, NONBLOCKING);
    expect_message(&p, "Isend", 6 * INT, 0, p.right, 40, NONBLOCKING);
}

/* A receive that a message has already met cannot be cancelled: it is an ordinary one. */
static void cancelled_too_late(void)
{
    MPI_Request request;
    MPI_Irecv(in, ROOM, MPI_INT, p.left, 50, p.comm, &request);
    MPI_Send(out, 3, MPI_INT, p.right, 50, p.comm);
    expect_message(&p, "Send", 3L * INT, 0, p.right, 50, 0);
    expect_barrier(&p);
    MPI_Status status;
    int flag = 0;
    while (!flag)
        PMPI_Request_get_status(request, &flag, &status);
    MPI_Cancel(&request);
    expect_op("Cancel", "-", 0, 0, -1, 0, 0, 0, 2);
    MPI_Wait(&request, &status);
    expect_wait("Wait", 1);
    expect_message(&p, "Irecv", 0, 3L * INT, p.left, 50, NONBLOCKING);
}

int main(int argc, char **argv)
{
    expect_init(&argc, &argv, &p);
    plain();
    for (int round = 0; round < 8; round++)
        matched(round & 1, round >> 1 & 1, round >> 2 & 1, round + 1);
    proc_null();
    crossed();
    cancelled_too_late();
    return expect_finalize();
}
