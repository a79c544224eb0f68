/* Every collective between the two sides of an intercommunicator, of different sizes, and every
 * communicator that can be made of one. */
#include "expect.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX = 64, ROOM = 4096, INT = (int)sizeof(int) };

static struct place world;
static int in[ROOM], out[ROOM], counts[MAX], displs[MAX];
static MPI_Datatype types[MAX];
static int side, remote; /* 0: ranks 0 .. n/2, 1: the others; ranks of the other side */

static void complete(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    expect_op("Wait", "-", 0, 0, -1, 0, 0, 1, 0);
}

/* `root` is what the call was given: MPI_ROOT, MPI_PROC_NULL, or a rank of the other side. */
static void said(struct place *p, const char *op, int root, long sent, long received, int flags)
{
    int peer = root == MPI_ROOT                    ? world.me
               : root == MPI_PROC_NULL || root < 0 ? -1
                                                   : p->world[root];
    expect_op(op, p->label, sent, received, peer, 0, flags | (root == MPI_ROOT ? ROOT : 0),
              p->collectives++, 0);
}

enum { NOT_ROOTED = -77 };

#define ROW(name, iname, root, sent, received, ...)         \
    if (!nonblocking) {                                     \
        MPI_##name(__VA_ARGS__, p->comm);                   \
        said(p, #name, root, sent, received, 0);            \
    } else {                                                \
        MPI_Request request;                                \
        MPI_##iname(__VA_ARGS__, p->comm, &request);        \
        complete(&request);                                 \
        said(p, #iname, root, sent, received, NONBLOCKING); \
    }

/* Rank `at` of side `from` is the root; the other side sends to it, or gets from it. */
static void rooted(struct place *p, int from, int at, int nonblocking)
{
    const int root = side != from ? at : p->me == at ? MPI_ROOT : MPI_PROC_NULL;
    const int is_root = root == MPI_ROOT, other = side != from;
    const long all = 2L * remote * INT;
    ROW(Bcast, Ibcast, root, is_root ? 5 * INT : 0, other ? 5 * INT : 0, out, 5, MPI_INT, root)
    ROW(Gather, Igather, root, other ? 2 * INT : 0, is_root ? all : 0, in, 2, MPI_INT, out, 2,
        MPI_INT, root)
    ROW(Gatherv, Igatherv, root, other ? 2 * INT : 0, is_root ? all : 0, in, 2, MPI_INT, out,
        counts, displs, MPI_INT, root)
    ROW(Scatter, Iscatter, root, is_root ? all : 0, other ? 2 * INT : 0, in, 2, MPI_INT, out, 2,
        MPI_INT, root)
    ROW(Scatterv, Iscatterv, root, is_root ? all : 0, other ? 2 * INT : 0, in, counts, displs,
        MPI_INT, out, 2, MPI_INT, root)
    ROW(Reduce, Ireduce, root, other ? 3 * INT : 0, is_root ? 3 * INT : 0, in, out, 3, MPI_INT,
        MPI_SUM, root)
}

static void unrooted(struct place *p, int nonblocking)
{
    const long all = 2L * remote * INT, total = (long)p->n * remote;
    int shares[MAX];
    ROW(Allreduce, Iallreduce, NOT_ROOTED, 3 * INT, 3 * INT, in, out, 3, MPI_INT, MPI_SUM)
    ROW(Allgather, Iallgather, NOT_ROOTED, 2 * INT, all, in, 2, MPI_INT, out, 2, MPI_INT)
    ROW(Allgatherv, Iallgatherv, NOT_ROOTED, 2 * INT, all, in, 2, MPI_INT, out, counts, displs,
        MPI_INT)
    ROW(Alltoall, Ialltoall, NOT_ROOTED, all, all, in, 2, MPI_INT, out, 2, MPI_INT)
    ROW(Alltoallv, Ialltoallv, NOT_ROOTED, all, all, in, counts, displs, MPI_INT, out, counts,
        displs, MPI_INT)
    ROW(Alltoallw, Ialltoallw, NOT_ROOTED, all, all, in, counts, displs, types, out, counts, displs,
        types)
    /* Each side gives as many elements as the other: n of remote ones here, remote of n there. */
    for (int i = 0; i < p->n; i++)
        shares[i] = remote;
    ROW(Reduce_scatter, Ireduce_scatter, NOT_ROOTED, total * INT, (long)remote * INT, in, out,
        shares, MPI_INT, MPI_SUM)
    ROW(Reduce_scatter_block, Ireduce_scatter_block, NOT_ROOTED, total * INT, (long)remote * INT,
        in, out, remote, MPI_INT, MPI_SUM)
    if (!nonblocking) {
        MPI_Barrier(p->comm);
        said(p, "Barrier", NOT_ROOTED, 0, 0, 0);
    } else {
        MPI_Request request;
        MPI_Ibarrier(p->comm, &request);
        complete(&request);
        said(p, "Ibarrier", NOT_ROOTED, 0, 0, NONBLOCKING);
    }
}

static void messages(const struct place *p)
{
    const int partner = p->me % remote;
    if (p->me >= remote || p->n > remote)
        return;
    MPI_Sendrecv(out, 3, MPI_INT, partner, 8, in, 9, MPI_INT, partner, 8, p->comm,
                 MPI_STATUS_IGNORE);
    expect_message(p, "Sendrecv", 3 * INT, 0, partner, 8, 0);
    expect_message(p, "Sendrecv", 0, 3 * INT, partner, 8, RECV_PART);
}

static void use(struct place *p)
{
    PMPI_Comm_remote_size(p->comm, &remote);
    for (int i = 0; i < remote; i++) {
        counts[i] = 2;
        displs[i] = 2 * i * INT; /* in bytes for Alltoallw; far enough apart for the others */
        types[i] = MPI_INT;
    }
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        unrooted(p, nonblocking);
        for (int from = 0; from < 2; from++)
            for (int at = 0; at < (from == side ? p->n : remote); at++)
                rooted(p, from, at, nonblocking);
    }
    if (p->n == remote)
        messages(p);
}

static void made(MPI_Comm comm, const char *op, const struct place *from, const char *label)
{
    struct place p;
    expect_op(op, from->label, 0, 0, -1, 0, 0, 0, 0);
    expect_interplace(&p, comm, label);
    use(&p);
    MPI_Comm_free(&comm);
    expect_op("Comm_free", label, 0, 0, -1, 0, 0, 0, 0);
}

/* Communicators made of intercommunicators: both sides must know each by one uid. */
static void descendants(const struct place *p)
{
    MPI_Comm made_one, merged;
    struct place all;
    MPI_Comm_dup(p->comm, &made_one);
    made(made_one, "Comm_dup", p, "inter-dup");
    MPI_Comm_dup(p->comm, &made_one);
    made(made_one, "Comm_dup", p, "inter-dup-again");
    /* The first of each side: an intercommunicator of one and one. */
    MPI_Comm_split(p->comm, p->me == 0 ? 1 : MPI_UNDEFINED, 0, &made_one);
    if (made_one == MPI_COMM_NULL)
        expect_op("Comm_split", p->label, 0, 0, -1, 0, 0, 0, 0);
    else
        made(made_one, "Comm_split", p, "inter-firsts");
    MPI_Intercomm_merge(p->comm, side, &merged);
    expect_op("Intercomm_merge", p->label, 0, 0, -1, 0, 0, 0, 0);
    expect_place(&all, merged, "merged", "-");
    MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, merged);
    expect_collective(&all, "Allreduce", -1, INT, INT, 0);
    MPI_Comm_free(&merged);
    expect_op("Comm_free", "merged", 0, 0, -1, 0, 0, 0, 0);
}

int main(int argc, char **argv)
{
    MPI_Comm half, inter;
    struct place mine, p;
    expect_init(&argc, &argv, &world);
    const int first = (world.n + 1) / 2 + (world.n > 2); /* of side 1: the smaller one */
    side = world.me >= first;
    MPI_Comm_split(MPI_COMM_WORLD, side, -world.me, &half);
    expect_op("Comm_split", "world", 0, 0, -1, 0, 0, 0, 0);
    expect_place(&mine, half, side ? "high" : "low", "-");
    for (int round = 0; round < 2; round++) {
        /* The leaders are the last of each half: they were ranked in reverse. */
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, side ? first - 1 : world.n - 1, 9, &inter);
        expect_op("Intercomm_create", mine.label, 0, 0, -1, 0, 0, 0, 0);
        expect_interplace(&p, inter, round ? "inter-again" : "inter");
        use(&p);
        if (round == 0)
            descendants(&p);
        MPI_Comm_free(&inter);
        expect_op("Comm_free", p.label, 0, 0, -1, 0, 0, 0, 0);
    }
    MPI_Comm_free(&half);
    expect_op("Comm_free", mine.label, 0, 0, -1, 0, 0, 0, 0);
    return expect_finalize();
}
