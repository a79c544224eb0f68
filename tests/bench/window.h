/* Windows of messages that a process sends to itself, by MPI_X or by the functions of plain.h. */
#ifndef BENCH_WINDOW_H
#define BENCH_WINDOW_H

#include <mpi.h>

enum { WINDOW = 32 };

/* One call of a window: 32 Irecv, 32 Isend, one Waitall. */
#define LOOP_WINDOW(NAME, X)                                                                 \
    static void NAME(int n)                                                                  \
    {                                                                                        \
        static char from[WINDOW], to[WINDOW];                                                \
        MPI_Request requests[2 * WINDOW];                                                    \
        for (int i = 0; i < n; i += 2 * WINDOW + 1) {                                        \
            for (int k = 0; k < WINDOW; k++)                                                 \
                X##Irecv(&to[k], 1, MPI_CHAR, 0, k, MPI_COMM_SELF, &requests[k]);            \
            for (int k = 0; k < WINDOW; k++)                                                 \
                X##Isend(&from[k], 1, MPI_CHAR, 0, k, MPI_COMM_SELF, &requests[WINDOW + k]); \
            X##Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);                           \
        }                                                                                    \
    }

#endif
