/* Ranks that wait for each other's messages, of which one works longer in some steps. Work is
 * sleeping, so that a busy machine makes it no longer in proportion.
 *
 *     chains chain|begun|ring|shift STEPS MESSAGES BYTES SLOW PERCENT FIRST LAST
 *
 * In a step each rank works, and MESSAGES messages of BYTES go from it to the next rank: along a
 * chain, where a rank works when those of the rank before are there; along a chain by Isend and
 * Waitall; around a ring, where even ranks send first; around a ring by Sendrecv. Rank SLOW has
 * PERCENT of the others' work in steps FIRST to LAST. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profwrap.h"

enum { USUAL_US = 10000 };

static int rank, size, messages, bytes;
static char *out, *in;

static void work_us(long us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

static void send_to(int to)
{
    for (int i = 0; i < messages; i++)
        MPI_Send(out, bytes, MPI_CHAR, to, 0, MPI_COMM_WORLD);
}

static void begin_to(int to)
{
    MPI_Request requests[messages];
    for (int i = 0; i < messages; i++)
        MPI_Isend(out, bytes, MPI_CHAR, to, 0, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
}

static void receive_from(int from)
{
    for (int i = 0; i < messages; i++)
        MPI_Recv(in, bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void along_the_chain(long us, void (*pass_on)(int to))
{
    if (rank > 0)
        receive_from(rank - 1);
    work_us(us);
    if (rank + 1 < size)
        pass_on(rank + 1);
}

static void chain(long us)
{
    along_the_chain(us, send_to);
}

static void begun(long us)
{
    along_the_chain(us, begin_to);
}

static void ring(long us)
{
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    work_us(us);
    if (rank % 2)
        receive_from(left);
    send_to(right);
    if (rank % 2 == 0)
        receive_from(left);
}

static void shift(long us)
{
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    work_us(us);
    for (int i = 0; i < messages; i++)
        MPI_Sendrecv(out, bytes, MPI_CHAR, right, 0, in, bytes, MPI_CHAR, left, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
}

static void (*find(const char *name))(long)
{
    return strcmp(name, "chain") == 0   ? chain
           : strcmp(name, "begun") == 0 ? begun
           : strcmp(name, "ring") == 0  ? ring
                                        : shift;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 9)
        MPI_Abort(MPI_COMM_WORLD, 2);
    void (*step)(long) = find(argv[1]);
    const long steps = atol(argv[2]), slow = atol(argv[5]), percent = atol(argv[6]);
    const long first = atol(argv[7]), last = atol(argv[8]);
    messages = atoi(argv[3]);
    bytes = atoi(argv[4]);
    out = calloc(1, (size_t)bytes + 1);
    in = calloc(1, (size_t)bytes + 1);
    if (!out || !in)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    for (long s = 0; s < steps; s++) {
        profwrap_step(s);
        step(rank == slow && s >= first && s <= last ? USUAL_US * percent / 100 : USUAL_US);
    }
    profwrap_step(PROFWRAP_NO_STEP);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
