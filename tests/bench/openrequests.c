/* The additional cost of MPI_X over the library's own functions in a window of messages, while few
 * and while many other requests are open:
 *
 *     openrequests FEW MANY CALLS PAUSE_MS
 *
 * Opens FEW receives on a communicator of their own, so that MPI does not search them for other
 * messages. Times blocks of CALLS calls in windows of 32 Irecv + 32 Isend + Waitall, with a pause
 * before each block. Then opens more receives, up to MANY, and times again. Prints "few_added_ns
 * X", "few_plain_ns X" and the same for many: medians over the blocks, per call. Completes all
 * receives at the end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "floors.h"
#include "plain.h"
#include "window.h"

enum { BLOCKS = 21 };

LOOP_WINDOW(windows, MPI_)
LOOP_WINDOW(plain_windows, plain_)

static void measure(const char *what, int calls, int pause_ms)
{
    const struct timespec pause = {.tv_nsec = (long)pause_ms * 1000000};
    double plain[BLOCKS], added[BLOCKS];
    windows(calls); /* warm */
    for (int b = 0; b < BLOCKS; b++) {
        nanosleep(&pause, NULL);
        plain[b] = floor_time(plain_windows, calls);
        added[b] = floor_time(windows, calls) - plain[b];
    }
    printf("%s_plain_ns %.2f\n%s_added_ns %.2f\n", what, floor_median(plain, BLOCKS), what,
           floor_median(added, BLOCKS));
}

int main(int argc, char **argv)
{
    static char from, to;
    const int few = argc > 1 ? atoi(argv[1]) : 10, many = argc > 2 ? atoi(argv[2]) : 1000000;
    const int calls = argc > 3 ? atoi(argv[3]) : 30000, pause_ms = argc > 4 ? atoi(argv[4]) : 20;
    MPI_Request *requests = malloc(sizeof(*requests) * (size_t)(many + 1));
    MPI_Comm comm;
    plain_find();
    MPI_Init(&argc, &argv);
    if (!requests || few < 0 || many < few)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    for (int i = 0; i < many; i++) {
        if (i == few)
            measure("few", calls, pause_ms);
        MPI_Irecv(&to, 1, MPI_CHAR, 0, 1, comm, &requests[i]);
    }
    measure("many", calls, pause_ms);
    for (int i = 0; i < many; i++)
        MPI_Send(&from, 1, MPI_CHAR, 0, 1, comm);
    MPI_Waitall(many, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&comm);
    free(requests);
    MPI_Finalize();
    return 0;
}
