/* Neighbourhood collectives on Cartesian grids with and without an edge, on graphs, and on directed
 * graphs whose ranks have different numbers of neighbours. */
#include "expect.h"

#include <stdio.h>
#include <stdlib.h>

/* MPICH 4.0 mixes up the number of receivers and of senders in MPI_(I)neighbor_alltoallw: where a
 * rank has more of these than of those, it takes what lies behind an array on the heap for the
 * sizes of messages to receive. The program then hangs or not by what is there. Corrected in
 * MPICH 4.1. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
#define NEEDS_AS_MANY_RECEIVERS 1
#else
#define NEEDS_AS_MANY_RECEIVERS 0
#endif

enum { MOST = 64, ROOM = 4096, INT = (int)sizeof(int), DOUBLE = (int)sizeof(double) };

/* The neighbours of the calling rank, MPI_PROC_NULL where there is none. */
struct neighbours {
    int in, out;
    int has_unequal; /* on some rank, `in` and `out` differ */
    int from[MOST], to[MOST];
};

static struct place world;
static int in[ROOM], out[ROOM];

static long present(const int *ranks, int n)
{
    long count = 0;
    for (int i = 0; i < n; i++)
        count += ranks[i] != MPI_PROC_NULL;
    return count;
}

/* Bytes of `base` + i elements of `type` i with each neighbour i that is there. */
static long varied(const int *ranks, int n, int base, const MPI_Datatype *types)
{
    long bytes = 0;
    for (int i = 0; i < n; i++)
        if (ranks[i] != MPI_PROC_NULL)
            bytes += (long)base * (types[i] == MPI_DOUBLE ? DOUBLE : INT);
    return bytes;
}

static void complete(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    expect_op("Wait", "-", 0, 0, -1, 0, 0, 1, 0);
}

#define ROW(name, sent, received, ...)                                             \
    if (!nonblocking) {                                                            \
        MPI_Neighbor_##name(__VA_ARGS__, p->comm);                                 \
        expect_collective(p, "Neighbor_" #name, -1, sent, received, 0);            \
    } else {                                                                       \
        MPI_Request request;                                                       \
        MPI_Ineighbor_##name(__VA_ARGS__, p->comm, &request);                      \
        complete(&request);                                                        \
        expect_collective(p, "Ineighbor_" #name, -1, sent, received, NONBLOCKING); \
    }

static void run_on(struct place *p, const struct neighbours *n, int nonblocking)
{
    int counts[MOST], displs[MOST];
    MPI_Aint places[MOST];
    MPI_Datatype types[MOST], ints[MOST];
    const long from = present(n->from, n->in), to = present(n->to, n->out);
    for (int i = 0; i < MOST; i++) {
        counts[i] = 3;
        displs[i] = 3 * i;
        places[i] = 3L * DOUBLE * i;
        types[i] = MPI_DOUBLE;
        ints[i] = MPI_INT;
    }
    ROW(allgather, 2 * to * INT, 2 * from * INT, out, 2, MPI_INT, in, 2, MPI_INT)
    ROW(allgatherv, 3 * to * INT, varied(n->from, n->in, 3, ints), out, 3, MPI_INT, in, counts,
        displs, MPI_INT)
    ROW(alltoall, 4 * to * INT, 4 * from * INT, out, 4, MPI_INT, in, 4, MPI_INT)
    ROW(alltoallv, varied(n->to, n->out, 3, ints), varied(n->from, n->in, 3, ints), out, counts,
        displs, MPI_INT, in, counts, displs, MPI_INT)
    if (NEEDS_AS_MANY_RECEIVERS && n->has_unequal)
        return;
    ROW(alltoallw, varied(n->to, n->out, 3, types), varied(n->from, n->in, 3, types), out, counts,
        places, types, in, counts, places, types)
}

static void run(MPI_Comm comm, const char *label, const struct neighbours *n)
{
    struct place place;
    expect_place(&place, comm, label, "-");
    run_on(&place, n, 0);
    run_on(&place, n, 1);
    MPI_Comm_free(&comm);
    expect_op("Comm_free", label, 0, 0, -1, 0, 0, 0, 0);
}

static void grid(int ndims, int periodic, const char *label)
{
    int dims[3] = {0, 0, 0}, wraps[3] = {periodic, periodic, periodic};
    struct neighbours n = {.in = 2 * ndims, .out = 2 * ndims};
    MPI_Comm comm;
    PMPI_Dims_create(world.n, ndims, dims);
    MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, wraps, 0, &comm);
    expect_op("Cart_create", "world", 0, 0, -1, 0, 0, 0, 0);
    for (int d = 0; d < ndims; d++)
        PMPI_Cart_shift(comm, d, 1, &n.from[2 * d], &n.from[2 * d + 1]);
    for (int i = 0; i < n.in; i++)
        n.to[i] = n.from[i];
    run(comm, label, &n);
}

/* Rank 0 knows everybody, the others know it. */
static void star(void)
{
    int index[MOST], edges[2 * MOST], at = 0;
    struct neighbours n = {.in = world.me ? 1 : world.n - 1, .out = world.me ? 1 : world.n - 1};
    MPI_Comm comm;
    for (int i = 0; i < world.n; i++) {
        for (int k = 1; k < world.n && i == 0; k++)
            edges[at++] = k;
        if (i)
            edges[at++] = 0;
        index[i] = at;
    }
    MPI_Graph_create(MPI_COMM_WORLD, world.n, index, edges, 0, &comm);
    expect_op("Graph_create", "world", 0, 0, -1, 0, 0, 0, 0);
    run(comm, "star", &n);
}

/* Rank r sends to all ranks above it. */
static void down(void)
{
    struct neighbours n = {.in = world.me, .out = world.n - 1 - world.me, .has_unequal = 1};
    MPI_Comm comm;
    int weights[MOST] = {0};
    for (int i = 0; i < n.in; i++)
        n.from[i] = i;
    for (int i = 0; i < n.out; i++)
        n.to[i] = world.me + 1 + i;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n.in, n.from, weights, n.out, n.to, weights,
                                   MPI_INFO_NULL, 0, &comm);
    expect_op("Dist_graph_create_adjacent", "world", 0, 0, -1, 0, 0, 0, 0);
    run(comm, "down", &n);
}

int main(int argc, char **argv)
{
    expect_init(&argc, &argv, &world);
    grid(1, 1, "ring");
    grid(1, 0, "line");
    grid(2, 0, "plate");
    grid(3, 1, "torus");
    star();
    down();
    return expect_finalize();
}
