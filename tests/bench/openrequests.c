/* What a window of messages costs while many other requests are open:
 *
 *     openrequests OPEN CALLS PAUSE_MS
 *
 * opens OPEN receives on a communicator of their own, where MPI looks for no match of the others,
 * then times windows of 32 Irecv + 32 Isend + Waitall in blocks with a pause after each, prints
 * "calls_ns X" (lower quartile over blocks, per call), and completes what it opened. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCKS = 21, WINDOW = 32, CALLS_A_WINDOW = 2 * WINDOW + 1 };

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void windows(int calls)
{
    static char from[WINDOW], to[WINDOW];
    MPI_Request requests[2 * WINDOW];
    for (int i = 0; i < calls; i += CALLS_A_WINDOW) {
        for (int k = 0; k < WINDOW; k++)
            MPI_Irecv(&to[k], 1, MPI_CHAR, 0, k, MPI_COMM_SELF, &requests[k]);
        for (int k = 0; k < WINDOW; k++)
            MPI_Isend(&from[k], 1, MPI_CHAR, 0, k, MPI_COMM_SELF, &requests[WINDOW + k]);
        MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
    }
}

static double time_windows(int calls, int pause_ms)
{
    const struct timespec pause = {.tv_nsec = (long)pause_ms * 1000000};
    double blocks[BLOCKS];
    const int n = calls / BLOCKS;
    windows(n); /* warm */
    for (int b = 0; b < BLOCKS; b++) {
        nanosleep(&pause, NULL);
        int64_t start = now_ns();
        windows(n);
        blocks[b] = (double)(now_ns() - start) / n;
    }
    qsort(blocks, BLOCKS, sizeof(*blocks), by_value);
    return blocks[BLOCKS / 4];
}

int main(int argc, char **argv)
{
    static char from, to;
    MPI_Init(&argc, &argv);
    const int open = argc > 1 ? atoi(argv[1]) : 10, calls = argc > 2 ? atoi(argv[2]) : 630000;
    MPI_Request *requests = malloc(sizeof(*requests) * (size_t)(open + 1));
    MPI_Comm comm;
    if (!requests || open < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    for (int i = 0; i < open; i++)
        MPI_Irecv(&to, 1, MPI_CHAR, 0, 1, comm, &requests[i]);
    printf("calls_ns %.2f\n", time_windows(calls, argc > 3 ? atoi(argv[3]) : 20));
    for (int i = 0; i < open; i++)
        MPI_Send(&from, 1, MPI_CHAR, 0, 1, comm);
    MPI_Waitall(open, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&comm);
    free(requests);
    MPI_Finalize();
    return 0;
}
