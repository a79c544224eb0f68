/* The last rank still waits for messages while the others enter MPI_Finalize. Most MPI libraries
 * make no progress in parts of MPI_Finalize, so a message must not depend on it.
 *
 *     lastwait nonblocking|persistent|neighbours|onesided BYTES
 *
 * All other ranks send BYTES to the last one. It begins to wait after they have sent what needs no
 * receiver, and says the sum of what it got. Small messages are sent eagerly, large ones by
 * rendezvous. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 16, TAG = 3, LATE_MS = 20 };

static int rank, size, last, bytes;
static unsigned char *data; /* of the last rank: `bytes` of each other rank */

static unsigned char *from(int sender)
{
    return data + (size_t)sender * (size_t)bytes;
}

static void be_late(void)
{
    const struct timespec t = {.tv_nsec = LATE_MS * 1000000L};
    nanosleep(&t, NULL);
}

static void nonblocking(void)
{
    MPI_Request requests[MOST];
    if (rank < last) {
        MPI_Isend(data, bytes, MPI_BYTE, last, TAG, MPI_COMM_WORLD, requests);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
        return;
    }
    for (int i = 0; i < last; i++)
        MPI_Irecv(from(i), bytes, MPI_BYTE, i, TAG, MPI_COMM_WORLD, &requests[i]);
    be_late();
    MPI_Waitall(last, requests, MPI_STATUSES_IGNORE);
}

static void persistent(void)
{
    MPI_Request requests[MOST];
    const int n = rank < last ? 1 : last;
    for (int i = 0; i < n; i++)
        if (rank < last)
            MPI_Send_init(data, bytes, MPI_BYTE, last, TAG, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Recv_init(from(i), bytes, MPI_BYTE, i, TAG, MPI_COMM_WORLD, &requests[i]);
    if (rank == last)
        be_late();
    MPI_Startall(n, requests);
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++)
        MPI_Request_free(&requests[i]);
}

/* On a graph in which all send to the last rank only. */
static void neighbours(void)
{
    MPI_Comm star;
    MPI_Request request;
    int others[MOST], weights[MOST] = {0};
    for (int i = 0; i < last; i++)
        others[i] = i;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank < last ? 0 : last, others, weights,
                                   rank < last, &last, weights, MPI_INFO_NULL, 0, &star);
    MPI_Ineighbor_allgather(data, rank < last ? bytes : 0, MPI_BYTE, data, bytes, MPI_BYTE, star,
                            &request);
    if (rank == last)
        be_late();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The window is freed by all ranks, but the others wait there while the last one is late. The data
 * is kept until MPI_Finalize: MPICH 4.0 over UCX reads it after MPI_Win_complete. */
static void onesided(void)
{
    MPI_Win window;
    MPI_Group world, group;
    int ranks[MOST];
    for (int i = 0; i < last; i++)
        ranks[i] = i;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Win_create(data, rank < last ? 0 : (MPI_Aint)last * bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &window);
    if (rank < last) {
        MPI_Group_incl(world, 1, &last, &group);
        MPI_Win_start(group, 0, window);
        MPI_Put(data, bytes, MPI_BYTE, last, (MPI_Aint)rank * bytes, bytes, MPI_BYTE, window);
        MPI_Win_complete(window);
    } else {
        MPI_Group_incl(world, last, ranks, &group);
        MPI_Win_post(group, 0, window);
        be_late();
        MPI_Win_wait(window);
    }
    MPI_Win_free(&window);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {{"nonblocking", nonblocking},
                 {"persistent", persistent},
                 {"neighbours", neighbours},
                 {"onesided", onesided}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    last = size - 1;
    bytes = argc > 2 ? atoi(argv[2]) : 0;
    if (bytes <= 0 || last < 1 || last > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    data = calloc((size_t)last, (size_t)bytes);
    if (rank < last)
        memset(data, rank + 1, (size_t)bytes);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(argv[1], kinds[i].name) == 0)
            kinds[i].run();
    long sum = 0;
    for (long i = 0; rank == last && i < (long)last * bytes; i++)
        sum += data[i];
    if (rank == last)
        printf("%ld\n", sum);
    MPI_Finalize();
    free(data);
    return 0;
}
