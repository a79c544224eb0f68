/* The cost of an NCCL operation in the profiler plugin, and the floors, which no recording tool can
 * undercut, in one process:
 *
 *     ncclevents OPERATIONS PAUSE_MS
 *
 * Blocks of collectives alternate, as NCCL reports them. The program prints medians, "WHAT_ns X"
 * per operation. An operation of "v6" has a call, a launch, a plan and a task: ten calls of the
 * plugin. One of "v4" has a plan and a task: four calls. Both write two records. "rdtsc_floor" is
 * two clock reads and one record. */
#include <stdio.h>
#include <time.h>

#include "floors.h"
#include "ncclhost.h"

enum { BLOCKS = 21 };

static struct host newest, older;
static struct host_comm new_comm, old_comm;

static void loop(struct host_comm *comm, int n)
{
    for (int i = 0; i < n; i++) {
        struct host_op op = {.func = HOST_ALLREDUCE, .count = 1024, .datatype = HOST_FLOAT32};
        host_group(comm, &op, 1);
    }
}

static void loop_v6(int n)
{
    loop(&new_comm, n);
}

static void loop_v4(int n)
{
    loop(&old_comm, n);
}

static const struct {
    const char *name;
    void (*loop)(int);
} rows[] = {{"rdtsc_floor", floor_rdtsc}, {"v4", loop_v4}, {"v6", loop_v6}};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

int main(int argc, char **argv)
{
    static double took[ROWS][BLOCKS];
    const int n = argc > 1 ? atoi(argv[1]) : 1000;
    const struct timespec pause = {.tv_nsec = (argc > 2 ? atol(argv[2]) : 5) * 1000000};
    floor_init();
    if (!host_load(&newest, 6) || !host_load(&older, 4)) {
        fprintf(stderr, "no plugin: run it under profwrap\n");
        return 1;
    }
    host_comm_init(&new_comm, &newest, "new", 1, 8, 0);
    host_comm_init(&old_comm, &older, "old", 2, 8, 0);
    loop_v6(n); /* warm */
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < ROWS; i++) {
            nanosleep(&pause, NULL);
            took[i][b] = floor_time(rows[i].loop, n) - floor_time(floor_empty, n);
        }
    for (int i = 0; i < ROWS; i++)
        printf("%s_ns %.2f\n", rows[i].name, floor_median(took[i], BLOCKS));
    free(floor_ring);
    return 0;
}
