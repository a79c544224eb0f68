/* What one MPI call costs, and the floors that a recording tool cannot go below, all in one
 * process:
 *
 *     mpicalls self|iprobe|window|range|worst CALLS PAUSE_MS
 *
 * alternates blocks of CALLS and prints medians over them: "plain_ns X" a call by its PMPI name,
 * that no tool sees; "added_ns X" what the call by its MPI name costs more, block by block;
 * "rdtsc_floor_ns X" two TSC reads and a 64-byte store into a ring of 8 MiB; "clock_floor_ns X" the
 * same with clock_gettime(CLOCK_MONOTONIC_RAW), both without the loop's own cost. Before each round
 * of blocks it pauses, so that a collector has time to drain, as between the bursts of a real
 * program; without a pause the cost is the sustained one, with a collector at work beside it.
 * `worst` prints "worst_ns X", the longest of CALLS calls. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profwrap.h"
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

/* Each kind of call twice: by MPI_X, which a preloaded tool intercepts, and by PMPI_X, which it
 * does not. Without a tool the two are the same code. */
#define LOOP_SELF(NAME, X)                                                  \
    static void NAME(int n)                                                 \
    {                                                                       \
        double in = 1, out;                                                 \
        for (int i = 0; i < n; i++)                                         \
            X##Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF); \
    }

#define LOOP_IPROBE(NAME, X)                                          \
    static void NAME(int n)                                           \
    {                                                                 \
        int flag;                                                     \
        for (int i = 0; i < n; i++)                                   \
            X##Iprobe(0, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE); \
    }

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

LOOP_SELF(self_mpi, MPI_)
LOOP_SELF(self_pmpi, PMPI_)
LOOP_IPROBE(iprobe_mpi, MPI_)
LOOP_IPROBE(iprobe_pmpi, PMPI_)
LOOP_WINDOW(window_mpi, MPI_)
LOOP_WINDOW(window_pmpi, PMPI_)

/* A pair of calls, against nothing at all: an application has no other name for them. */
static void range_pairs(int n)
{
    for (int i = 0; i < n; i++) {
        profwrap_range_push("range");
        profwrap_range_pop();
    }
}

static double time_block(void (*loop)(int), int n)
{
    loop(n / 10); /* so that no kind pays for the caches that the one before it used */
    int64_t start = pw_local_ns();
    loop(n);
    return (double)(pw_local_ns() - start) / n;
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

/* All kinds of block within one round, a few ms apart, so that a machine that changes its speed
 * changes it for all of them. */
static void measure(void (*with)(int), void (*without)(int), int n, int pause_ms)
{
    double plain[BLOCKS], added[BLOCKS], rdtsc[BLOCKS], clock[BLOCKS];
    struct timespec pause = {.tv_nsec = (long)pause_ms * 1000000};
    with(n); /* warm */
    for (int b = 0; b < BLOCKS; b++) {
        nanosleep(&pause, NULL);
        double empty = time_block(loop_empty, n);
        rdtsc[b] = time_block(loop_rdtsc, n) - empty;
        plain[b] = time_block(without, n);
        added[b] = time_block(with, n) - plain[b];
        clock[b] = time_block(loop_clock, n) - empty;
    }
    printf("plain_ns %.2f\n", median(plain, BLOCKS));
    printf("added_ns %.2f\n", median(added, BLOCKS));
    printf("rdtsc_floor_ns %.2f\n", median(rdtsc, BLOCKS));
    printf("clock_floor_ns %.2f\n", median(clock, BLOCKS));
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 30000;
    int pause_ms = argc > 3 ? atoi(argv[3]) : 0;
    const char *what = argc > 1 ? argv[1] : "self";
    MPI_Init(&argc, &argv);
    ring = malloc(sizeof(*ring) * RING_SLOTS);
    memset(ring, 1, sizeof(*ring) * RING_SLOTS);
    if (strcmp(what, "worst") == 0)
        printf("worst_ns %.0f\n", worst_call(n));
    else if (strcmp(what, "iprobe") == 0)
        measure(iprobe_mpi, iprobe_pmpi, n, pause_ms);
    else if (strcmp(what, "range") == 0)
        measure(range_pairs, loop_empty, n, pause_ms);
    else if (strcmp(what, "window") == 0)
        measure(window_mpi, window_pmpi, n, pause_ms);
    else
        measure(self_mpi, self_pmpi, n, pause_ms);
    free(ring);
    MPI_Finalize();
    return 0;
}
