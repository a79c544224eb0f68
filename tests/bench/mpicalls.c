/* What one MPI call costs, and the floors that a recording tool cannot go below, all in one
 * process:
 *
 *     mpicalls self|iprobe|window CALLS PAUSE_MS
 *
 * prints "calls_ns X" (median over blocks), "worst_ns X" (longest single call; `self` only), and
 * the floors: "rdtsc_floor_ns" two TSC reads and a 64-byte store into a ring of 8 MiB,
 * "clock_floor_ns" the same with clock_gettime(CLOCK_MONOTONIC_RAW), each without the loop's own
 * cost. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rank/tick.h"

enum { BLOCKS = 21, RING_SLOTS = 1 << 17, WINDOW = 32 };

struct slot {
    uint64_t words[8];
};

static struct slot *ring;
static uint64_t head;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), by_value);
    return values[n / 2];
}

static void store(uint64_t start, uint64_t end)
{
    struct slot *slot = &ring[head++ & (RING_SLOTS - 1)];
    for (int i = 2; i < 8; i++)
        slot->words[i] = head;
    slot->words[0] = start;
    slot->words[1] = end;
    __asm__ volatile("" : : "r"(slot) : "memory");
}

static void loop_empty(int n)
{
    for (int i = 0; i < n; i++)
        __asm__ volatile("" : : : "memory");
}

static void loop_rdtsc(int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t start = pw_tick_read(PW_TICK_TSC);
        __asm__ volatile("" : : : "memory");
        store(start, pw_tick_read(PW_TICK_TSC));
    }
}

static void loop_clock(int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t start = (uint64_t)pw_local_ns();
        __asm__ volatile("" : : : "memory");
        store(start, (uint64_t)pw_local_ns());
    }
}

static void loop_self(int n)
{
    double in = 1, out;
    for (int i = 0; i < n; i++)
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void loop_iprobe(int n)
{
    int flag;
    for (int i = 0; i < n; i++)
        MPI_Iprobe(0, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

/* One call of a window: 32 Irecv, 32 Isend, one Waitall. */
static void loop_window(int n)
{
    static char from[WINDOW], to[WINDOW];
    MPI_Request requests[2 * WINDOW];
    for (int i = 0; i < n; i += 2 * WINDOW + 1) {
        for (int k = 0; k < WINDOW; k++)
            MPI_Irecv(&to[k], 1, MPI_CHAR, 0, k, MPI_COMM_SELF, &requests[k]);
        for (int k = 0; k < WINDOW; k++)
            MPI_Isend(&from[k], 1, MPI_CHAR, 0, k, MPI_COMM_SELF, &requests[WINDOW + k]);
        MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
    }
}

/* Calls come in blocks, with a pause after each: as in a real program, a collector in another
 * process has time between bursts, and what is timed is the cost inside the application. Without a
 * pause it is the sustained cost, with a collector at work on the neighbouring core all the time.
 */
static double time_loop(void (*loop)(int), int calls, int pause_ms)
{
    double blocks[BLOCKS];
    int n = calls / BLOCKS;
    struct timespec pause = {.tv_nsec = (long)pause_ms * 1000000};
    loop(n); /* warm */
    for (int b = 0; b < BLOCKS; b++) {
        nanosleep(&pause, NULL);
        int64_t start = pw_local_ns();
        loop(n);
        blocks[b] = (double)(pw_local_ns() - start) / n;
    }
    return median(blocks, BLOCKS);
}

/* The longest of many calls, whatever made it long: also the scheduler, when it gives the core to
 * somebody else meanwhile. */
static double worst_call(int calls)
{
    double in = 1, out, worst = 0;
    for (int i = 0; i < calls; i++) {
        int64_t start = pw_local_ns();
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
        double took = (double)(pw_local_ns() - start);
        worst = took > worst ? took : worst;
    }
    return worst;
}

int main(int argc, char **argv)
{
    int calls = argc > 2 ? atoi(argv[2]) : 2000000;
    int pause_ms = argc > 3 ? atoi(argv[3]) : 0;
    const char *what = argc > 1 ? argv[1] : "self";
    MPI_Init(&argc, &argv);
    ring = malloc(sizeof(*ring) * RING_SLOTS);
    memset(ring, 1, sizeof(*ring) * RING_SLOTS);
    void (*loop)(int) = strcmp(what, "iprobe") == 0   ? loop_iprobe
                        : strcmp(what, "window") == 0 ? loop_window
                                                      : loop_self;
    double empty = time_loop(loop_empty, calls, 0);
    printf("rdtsc_floor_ns %.2f\n", time_loop(loop_rdtsc, calls, pause_ms) - empty);
    printf("clock_floor_ns %.2f\n", time_loop(loop_clock, calls, pause_ms) - empty);
    printf("calls_ns %.2f\n", time_loop(loop, calls, pause_ms));
    if (loop == loop_self)
        printf("worst_ns %.0f\n", worst_call(3000000));
    free(ring);
    MPI_Finalize();
    return 0;
}
