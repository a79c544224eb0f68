/* Reads /proc/stat and /proc/self/schedstat; see sparecore.h. */
#include "rank/collect/sparecore.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The collector looks every 100 ms, or more often. */
enum { LOOK_NS = 50000000, LATELY_NS = 3 * LOOK_NS, MOST_CORES = 8192 };
enum { LOAD = 16384 }; /* from so many records between two looks on, the program is under load */

struct cores {
    cpu_set_t set[MOST_CORES / CPU_SETSIZE];
};

static FILE *open_in(const char *root, const char *path)
{
    char whole[4200];
    snprintf(whole, sizeof(whole), "%s%s", root, path);
    return fopen(whole, "re");
}

/* Returns the time since the machine's start in which the cores of the set were idle, waited for a
 * disk, or ran nice programs; -1 when it is not known. */
static int64_t sum_idle(const char *root, const struct cores *cores)
{
    const long ticks = sysconf(_SC_CLK_TCK);
    char line[512];
    int64_t sum = -1, nice, idle, waits_for_disk;
    unsigned core;
    FILE *file = open_in(root, "/proc/stat");
    while (file && ticks > 0 && fgets(line, sizeof(line), file) && line[0] == 'c')
        if (sscanf(line, "cpu%u %*u %" SCNd64 " %*u %" SCNd64 " %" SCNd64, &core, &nice, &idle,
                   &waits_for_disk) == 4 &&
            core < MOST_CORES && CPU_ISSET_S(core, sizeof(*cores), &cores->set[0]))
            sum = (sum < 0 ? 0 : sum) + (nice + idle + waits_for_disk) * (1000000000 / ticks);
    if (file)
        fclose(file);
    return sum;
}

/* The cores on which a process may run. Returns 0 when they cannot be read. */
static int read_cores(pid_t pid, struct cores *out)
{
    memset(out, 0, sizeof(*out));
    return sched_getaffinity(pid, sizeof(*out), &out->set[0]) == 0;
}

void pw_sparecore_leave(pid_t starter, int ranks)
{
    struct cores mine, starters, both;
    if (!read_cores(0, &mine) || !read_cores(starter, &starters))
        return;
    CPU_OR_S(sizeof(both), &both.set[0], &mine.set[0], &starters.set[0]);
    if (!CPU_EQUAL_S(sizeof(both), &both.set[0], &starters.set[0]))
        return;
    const int own = CPU_COUNT_S(sizeof(mine), &mine.set[0]);
    if (CPU_COUNT_S(sizeof(starters), &starters.set[0]) / own > ranks)
        CPU_XOR_S(sizeof(starters), &starters.set[0], &mine.set[0], &starters.set[0]);
    sched_setaffinity(0, sizeof(starters), &starters.set[0]);
}

static int64_t read_idle(const char *root)
{
    struct cores mine;
    return read_cores(0, &mine) ? sum_idle(root, &mine) : -1;
}

static struct pw_sparecore read_times(const char *root, int64_t now_ns)
{
    struct pw_sparecore times = {.root = root, .looked_ns = now_ns, .idle_ns = read_idle(root)};
    FILE *file = open_in(root, "/proc/self/schedstat");
    if (!file || fscanf(file, "%" SCNd64 " %" SCNd64, &times.ran_ns, &times.waited_ns) != 2)
        times.ran_ns = times.waited_ns = 0;
    if (file)
        fclose(file);
    return times;
}

void pw_sparecore_init(struct pw_sparecore *spare, const char *root, int64_t now_ns)
{
    *spare = (struct pw_sparecore){.found = PW_SPARE_IDLE};
    if (root)
        *spare = read_times(root, now_ns);
}

static bool is_spare(const struct pw_sparecore *before, const struct pw_sparecore *now)
{
    const int64_t idle = now->idle_ns - before->idle_ns, ran = now->ran_ns - before->ran_ns,
                  waited = now->waited_ns - before->waited_ns,
                  ns = now->looked_ns - before->looked_ns;
    /* What was long ago, such as the waits in MPI_Init, says nothing of now. */
    return now->idle_ns < 0 || before->idle_ns < 0 ||
           (ns <= LATELY_NS && 2 * (idle + ran - waited) >= ns);
}

bool pw_sparecore_look(struct pw_sparecore *spare, int64_t now_ns, int64_t records)
{
    const struct pw_sparecore before = *spare;
    if (!before.root || now_ns - before.looked_ns < LOOK_NS)
        return before.found != PW_SPARE_NONE;
    *spare = read_times(before.root, now_ns);
    spare->records = records;
    if (is_spare(&before, spare))
        spare->found = records - before.records >= LOAD ? PW_SPARE_IN_LOAD : PW_SPARE_IDLE;
    return spare->found != PW_SPARE_NONE;
}

bool pw_sparecore_is_in_load(const struct pw_sparecore *spare)
{
    return spare->found == PW_SPARE_IN_LOAD;
}
