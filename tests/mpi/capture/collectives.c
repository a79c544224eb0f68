/* Every collective, blocking and nonblocking, plain and in place, from every root, on the world and
 * on halves of it. */
#include "expect.h"

#include <stdlib.h>
#include <string.h>

enum { MAX = 64, ROOM = 4096, INT = (int)sizeof(int), DOUBLE = (int)sizeof(double) };

/* What the rows below are written in. */
static int in[ROOM], out[ROOM];
static int counts[MAX], displs[MAX], byte_displs[MAX];
static MPI_Datatype types[MAX];
static long total, total_bytes; /* of counts; of counts and types */

static void prepare(const struct place *p)
{
    total = total_bytes = 0;
    for (int i = 0; i < p->n; i++) {
        counts[i] = i + 1;
        types[i] = i % 2 ? MPI_DOUBLE : MPI_INT;
        displs[i] = (int)total;
        byte_displs[i] = (int)total_bytes;
        total += counts[i];
        total_bytes += counts[i] * (i % 2 ? DOUBLE : INT);
    }
    for (int i = 0; i < ROOM; i++)
        in[i] = i;
}

static void complete(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    expect_wait("Wait", 1);
}

/* ROW(name, nonblocking name, root or -1, bytes sent, bytes received, arguments before the comm) */
#define ROW(name, iname, root, sent, received, ...)                      \
    if (!nonblocking) {                                                  \
        MPI_##name(__VA_ARGS__, p->comm);                                \
        expect_collective(p, #name, root, sent, received, 0);            \
    } else {                                                             \
        MPI_Request request;                                             \
        MPI_##iname(__VA_ARGS__, p->comm, &request);                     \
        complete(&request);                                              \
        expect_collective(p, #iname, root, sent, received, NONBLOCKING); \
    }

static void rooted(struct place *p, int root, int nonblocking)
{
    const int n = p->n, at = p->me == root, mine = counts[p->me];
    ROW(Bcast, Ibcast, root, at ? 5 * INT : 0, at ? 0 : 5 * INT, out, 5, MPI_INT, root)
    ROW(Reduce, Ireduce, root, 3 * DOUBLE, at ? 3 * DOUBLE : 0, in, out, 3, MPI_DOUBLE, MPI_SUM,
        root)
    ROW(Gather, Igather, root, 2 * INT, at ? 2L * n * INT : 0, in, 2, MPI_INT, out, at ? 2 : -9,
        MPI_INT, root)
    ROW(Gatherv, Igatherv, root, mine * INT, at ? total * INT : 0, in, mine, MPI_INT, out,
        at ? counts : NULL, at ? displs : NULL, MPI_INT, root)
    ROW(Scatter, Iscatter, root, at ? 2L * n * INT : 0, 2 * INT, in, at ? 2 : -9, MPI_INT, out, 2,
        MPI_INT, root)
    ROW(Scatterv, Iscatterv, root, at ? total * INT : 0, mine * INT, in, at ? counts : NULL,
        at ? displs : NULL, MPI_INT, out, mine, MPI_INT, root)
}

/* The root's IN_PLACE, and what the others give meanwhile. */
static void rooted_in_place(struct place *p, int root, int nonblocking)
{
    const int n = p->n, at = p->me == root, mine = counts[p->me];
    const void *in_place = at ? MPI_IN_PLACE : (const void *)in;
    void *to_place = at ? MPI_IN_PLACE : (void *)out;
    ROW(Reduce, Ireduce, root, 3 * INT, at ? 3 * INT : 0, in_place, out, 3, MPI_INT, MPI_SUM, root)
    ROW(Gather, Igather, root, 2 * INT, at ? 2L * n * INT : 0, in_place, 2, MPI_INT, out, 2,
        MPI_INT, root)
    ROW(Gatherv, Igatherv, root, mine * INT, at ? total * INT : 0, in_place, mine, MPI_INT, out,
        counts, displs, MPI_INT, root)
    ROW(Scatter, Iscatter, root, at ? 2L * n * INT : 0, 2 * INT, in, 2, MPI_INT, to_place, 2,
        MPI_INT, root)
    ROW(Scatterv, Iscatterv, root, at ? total * INT : 0, mine * INT, in, counts, displs, MPI_INT,
        to_place, mine, MPI_INT, root)
}

static void unrooted(struct place *p, int nonblocking)
{
    const long n = p->n, mine = counts[p->me], share = n * mine;
    int same[MAX];
    for (int i = 0; i < p->n; i++)
        same[i] = counts[p->me];
    ROW(Allreduce, Iallreduce, -1, 7 * DOUBLE, 7 * DOUBLE, in, out, 7, MPI_DOUBLE, MPI_SUM)
    ROW(Allreduce, Iallreduce, -1, 0, 0, in, out, 0, MPI_DOUBLE, MPI_SUM)
    ROW(Allgather, Iallgather, -1, 2 * INT, 2 * n * INT, in, 2, MPI_INT, out, 2, MPI_INT)
    ROW(Allgatherv, Iallgatherv, -1, mine * INT, total * INT, in, (int)mine, MPI_INT, out, counts,
        displs, MPI_INT)
    ROW(Alltoall, Ialltoall, -1, 3 * n * INT, 3 * n * INT, in, 3, MPI_INT, out, 3, MPI_INT)
    ROW(Alltoallv, Ialltoallv, -1, total * INT, share * INT, in, counts, displs, MPI_INT, out, same,
        displs, MPI_INT)
    ROW(Reduce_scatter, Ireduce_scatter, -1, total * INT, mine * INT, in, out, counts, MPI_INT,
        MPI_SUM)
    ROW(Reduce_scatter_block, Ireduce_scatter_block, -1, 2 * n * INT, 2 * INT, in, out, 2, MPI_INT,
        MPI_SUM)
    ROW(Scan, Iscan, -1, 4 * INT, 4 * INT, in, out, 4, MPI_INT, MPI_SUM)
    ROW(Exscan, Iexscan, -1, 4 * INT, 4 * INT, in, out, 4, MPI_INT, MPI_SUM)
}

static void unrooted_in_place(struct place *p, int nonblocking)
{
    const long n = p->n, mine = counts[p->me];
    int ones[MAX], steps[MAX];
    for (int i = 0; i < p->n; i++) {
        ones[i] = 1;
        steps[i] = i;
    }
    ROW(Allreduce, Iallreduce, -1, 7 * INT, 7 * INT, MPI_IN_PLACE, out, 7, MPI_INT, MPI_SUM)
    ROW(Allgather, Iallgather, -1, 2 * INT, 2 * n * INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 2,
        MPI_INT)
    ROW(Allgatherv, Iallgatherv, -1, mine * INT, total * INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL,
        out, counts, displs, MPI_INT)
    ROW(Alltoall, Ialltoall, -1, 3 * n * INT, 3 * n * INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out,
        3, MPI_INT)
    ROW(Alltoallv, Ialltoallv, -1, n * INT, n * INT, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL,
        out, ones, steps, MPI_INT)
    ROW(Reduce_scatter, Ireduce_scatter, -1, total * INT, mine * INT, MPI_IN_PLACE, out, counts,
        MPI_INT, MPI_SUM)
    ROW(Scan, Iscan, -1, 4 * INT, 4 * INT, MPI_IN_PLACE, out, 4, MPI_INT, MPI_SUM)
    ROW(Exscan, Iexscan, -1, 4 * INT, 4 * INT, MPI_IN_PLACE, out, 4, MPI_INT, MPI_SUM)
}

/* Alltoallw: rank r sends counts[i] of types[i] to rank i, and gets counts[r] of types[r]. */
static void typed(struct place *p, int nonblocking)
{
    const long mine = (long)counts[p->me] * (p->me % 2 ? DOUBLE : INT);
    int same[MAX], at[MAX];
    MPI_Datatype theirs[MAX];
    for (int i = 0; i < p->n; i++) {
        same[i] = counts[p->me];
        theirs[i] = types[p->me];
        at[i] = (int)(i * mine);
    }
    ROW(Alltoallw, Ialltoallw, -1, total_bytes, p->n * mine, in, counts, byte_displs, types, out,
        same, at, theirs)
}

static void barrier(struct place *p)
{
    MPI_Request request;
    MPI_Barrier(p->comm);
    expect_collective(p, "Barrier", -1, 0, 0, 0);
    MPI_Ibarrier(p->comm, &request);
    complete(&request);
    expect_collective(p, "Ibarrier", -1, 0, 0, NONBLOCKING);
}

/* Three at once, completed together. */
static void overlap(struct place *p)
{
    MPI_Request requests[3];
    MPI_Iallreduce(in, out, 2, MPI_INT, MPI_SUM, p->comm, &requests[0]);
    MPI_Ibcast(out + 100, 4, MPI_INT, 0, p->comm, &requests[1]);
    MPI_Iallreduce(in, out + 200, 6, MPI_INT, MPI_SUM, p->comm, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    expect_wait("Waitall", 3);
    expect_collective(p, "Iallreduce", -1, 2 * INT, 2 * INT, NONBLOCKING);
    expect_collective(p, "Ibcast", 0, p->me ? 0 : 4 * INT, p->me ? 4 * INT : 0, NONBLOCKING);
    expect_collective(p, "Iallreduce", -1, 6 * INT, 6 * INT, NONBLOCKING);
}

static void run_on(struct place *p)
{
    prepare(p);
    barrier(p);
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        for (int root = 0; root < p->n; root++) {
            rooted(p, root, nonblocking);
            rooted_in_place(p, root, nonblocking);
        }
        unrooted(p, nonblocking);
        unrooted_in_place(p, nonblocking);
        typed(p, nonblocking);
    }
    overlap(p);
}

int main(int argc, char **argv)
{
    struct place world, half;
    MPI_Comm made;
    expect_init(&argc, &argv, &world);
    run_on(&world);
    /* In reverse: a member's rank is not its world rank. */
    MPI_Comm_split(MPI_COMM_WORLD, world.me % 2, -world.me, &made);
    expect_op("Comm_split", "world", 0, 0, -1, 0, 0, 0, 0);
    expect_place(&half, made, world.me % 2 ? "odd" : "even", "-");
    run_on(&half);
    MPI_Comm_free(&made);
    expect_op("Comm_free", half.label, 0, 0, -1, 0, 0, 0, 0);
    return expect_finalize();
}
