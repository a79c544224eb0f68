/* The cost of an MPI call, and the floors, which no recording tool can undercut, all in one
 * process:
 *
 *     mpicalls self|bcast|sendrecv|iprobe|test|window|range|worst CALLS PAUSE_MS
 *
 * Blocks of CALLS calls alternate. The program prints medians over the blocks, per call:
 *
 *     plain_ns X        the library's own function, which no tool intercepts
 *     added_ns X        the additional cost of MPI_X, block by block
 *     rdtsc_floor_ns X  two TSC reads and a 64-byte store into a ring of 8 MiB
 *     clock_floor_ns X  the same with clock_gettime(CLOCK_MONOTONIC_RAW)
 *
 * The floors do not include the loop's own cost. Before each round of blocks there is a pause, so
 * that a collector can empty the ring, as between the bursts of a real program. Without a pause,
 * the cost is that of sustained recording, while the collector works.
 *
 * `worst` makes CALLS calls of each function in turn. For MPI_X it prints "worst_ns X", the longest
 * call; "over X", the number of calls longer than 0.3 ms; and "spent_ns X", the sum of all others.
 * For the library's function it prints the same with "plain_" in front. These calls are long only
 * because the machine stalls. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "floors.h"
#include "plain.h"
#include "profwrap.h"
#include "window.h"

enum { BLOCKS = 21, OVER_NS = 300000 };

/* Each kind of call exists twice: as MPI_X, which a preloaded tool intercepts, and as the library's
 * function, which it does not intercept. Without a tool the two are the same code. */
#define LOOP_SELF(NAME, X)                                                  \
    static void NAME(int n)                                                 \
    {                                                                       \
        double in = 1, out;                                                 \
        for (int i = 0; i < n; i++)                                         \
            X##Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF); \
    }

/* A rooted collective and a pair of messages: calls that have no fast function. */
#define LOOP_BCAST(NAME, X)                                   \
    static void NAME(int n)                                   \
    {                                                         \
        double data = 1;                                      \
        for (int i = 0; i < n; i++)                           \
            X##Bcast(&data, 1, MPI_DOUBLE, 0, MPI_COMM_SELF); \
    }

#define LOOP_SENDRECV(NAME, X)                                                              \
    static void NAME(int n)                                                                 \
    {                                                                                       \
        double in = 1, out;                                                                 \
        for (int i = 0; i < n; i++)                                                         \
            X##Sendrecv(&in, 1, MPI_DOUBLE, 0, 7, &out, 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF, \
                        MPI_STATUS_IGNORE);                                                 \
    }

#define LOOP_IPROBE(NAME, X)                                          \
    static void NAME(int n)                                           \
    {                                                                 \
        int flag;                                                     \
        for (int i = 0; i < n; i++)                                   \
            X##Iprobe(0, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE); \
    }

/* Of a receive that never completes. */
static MPI_Request never;
#define LOOP_TEST(NAME, X)                             \
    static void NAME(int n)                            \
    {                                                  \
        int flag;                                      \
        for (int i = 0; i < n; i++)                    \
            X##Test(&never, &flag, MPI_STATUS_IGNORE); \
    }

LOOP_SELF(self_mpi, MPI_)
LOOP_SELF(self_plain, plain_)
LOOP_BCAST(bcast_mpi, MPI_)
LOOP_BCAST(bcast_plain, plain_)
LOOP_SENDRECV(sendrecv_mpi, MPI_)
LOOP_SENDRECV(sendrecv_plain, plain_)
LOOP_IPROBE(iprobe_mpi, MPI_)
LOOP_IPROBE(iprobe_plain, plain_)
LOOP_TEST(test_mpi, MPI_)
LOOP_TEST(test_plain, plain_)
LOOP_WINDOW(window_mpi, MPI_)
LOOP_WINDOW(window_plain, plain_)

/* A pair of calls, compared with an empty loop, because the functions have no second name. */
static void range_pairs(int n)
{
    for (int i = 0; i < n; i++) {
        profwrap_range_push("range");
        profwrap_range_pop();
    }
}

/* The longest of many calls. It may be long because the scheduler or the hypervisor gave the core
 * to another process meanwhile. */
struct tail {
    int64_t worst_ns, spent_ns;
    int over;
};

static void tail_add(struct tail *tail, int64_t took_ns)
{
    tail->worst_ns = took_ns > tail->worst_ns ? took_ns : tail->worst_ns;
    tail->over += took_ns > OVER_NS;
    if (took_ns <= OVER_NS)
        tail->spent_ns += took_ns;
}

static void tail_print(const struct tail *tail, const char *prefix)
{
    printf("%sworst_ns %lld\n%sspent_ns %lld\n%sover %d\n", prefix, (long long)tail->worst_ns,
           prefix, (long long)tail->spent_ns, prefix, tail->over);
}

static void worst_calls(int calls)
{
    struct tail with = {0}, without = {0};
    double in = 1, out;
    for (int i = 0; i < calls; i++) {
        int64_t start = pw_local_ns();
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
        int64_t middle = pw_local_ns();
        plain_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
        tail_add(&without, pw_local_ns() - middle);
        tail_add(&with, middle - start);
    }
    tail_print(&with, "");
    tail_print(&without, "plain_");
}

/* Each round has blocks of all kinds, a few ms apart, so that a change of the machine's speed
 * affects all of them. */
static void measure(void (*with)(int), void (*without)(int), int n, int pause_ms)
{
    double plain[BLOCKS], added[BLOCKS], rdtsc[BLOCKS], clock[BLOCKS];
    struct timespec pause = {.tv_nsec = (long)pause_ms * 1000000};
    with(n); /* warm */
    for (int b = 0; b < BLOCKS; b++) {
        nanosleep(&pause, NULL);
        double empty = floor_time(floor_empty, n);
        rdtsc[b] = floor_time(floor_rdtsc, n) - empty;
        plain[b] = floor_time(without, n);
        added[b] = floor_time(with, n) - plain[b];
        clock[b] = floor_time(floor_clock, n) - empty;
    }
    printf("plain_ns %.2f\n", floor_median(plain, BLOCKS));
    printf("added_ns %.2f\n", floor_median(added, BLOCKS));
    printf("rdtsc_floor_ns %.2f\n", floor_median(rdtsc, BLOCKS));
    printf("clock_floor_ns %.2f\n", floor_median(clock, BLOCKS));
}

static void measure_tests(int n, int pause_ms)
{
    int nothing;
    MPI_Irecv(&nothing, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &never);
    measure(test_mpi, test_plain, n, pause_ms);
    MPI_Cancel(&never);
    MPI_Wait(&never, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 30000;
    int pause_ms = argc > 3 ? atoi(argv[3]) : 0;
    const char *what = argc > 1 ? argv[1] : "self";
    plain_find();
    MPI_Init(&argc, &argv);
    floor_init();
    if (strcmp(what, "worst") == 0)
        worst_calls(n);
    else if (strcmp(what, "iprobe") == 0)
        measure(iprobe_mpi, iprobe_plain, n, pause_ms);
    else if (strcmp(what, "test") == 0)
        measure_tests(n, pause_ms);
    else if (strcmp(what, "bcast") == 0)
        measure(bcast_mpi, bcast_plain, n, pause_ms);
    else if (strcmp(what, "sendrecv") == 0)
        measure(sendrecv_mpi, sendrecv_plain, n, pause_ms);
    else if (strcmp(what, "range") == 0)
        measure(range_pairs, floor_empty, n, pause_ms);
    else if (strcmp(what, "window") == 0)
        measure(window_mpi, window_plain, n, pause_ms);
    else
        measure(self_mpi, self_plain, n, pause_ms);
    free(floor_ring);
    MPI_Finalize();
    return 0;
}
