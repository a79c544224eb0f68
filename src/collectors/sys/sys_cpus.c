/* Reads Cpus_allowed_list of /proc/PID/status and the lines of single CPUs in /proc/stat, which are
 * those that are online. See sys_cpus.h. */
#include "collectors/sys/sys_cpus.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/sys/sys_stat.h"
#include "core/cpuset.h"

enum { STATUS_BYTES = 8192 };

void pw_cpus_open(struct pw_cpus *cpus, const char *root, pid_t pid)
{
    char path[PATH_MAX];
    pw_cpus_close(cpus);
    snprintf(path, sizeof(path), "%s/proc/%d/status", root, (int)pid);
    cpus->status = open(path, O_RDONLY | O_CLOEXEC);
}

void pw_cpus_close(struct pw_cpus *cpus)
{
    if (cpus->status >= 0)
        close(cpus->status);
    cpus->status = -1;
}

/* Whether a list as "0-3,8" has the CPU. */
static int has(const char *list, long cpu)
{
    for (const char *at = list; *at >= '0' && *at <= '9';) {
        char *end;
        long first = strtol(at, &end, 10);
        long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        if (cpu >= first && cpu <= last)
            return 1;
        at = *end == ',' ? end + 1 : end;
    }
    return 0;
}

static void join(struct pw_row_cpus *row, long cpu)
{
    row->lowest = row->allowed ? row->lowest : (int32_t)cpu;
    row->highest = (int32_t)cpu;
    row->cpu_set = pw_cpuset_with(row->allowed ? row->cpu_set : PW_CPUSET_NONE, cpu);
    row->allowed++;
}

void pw_cpus_sample(struct pw_cpus *cpus, struct pw_rankfile *file, const char *stat,
                    int64_t tick_ns, int64_t now_ns)
{
    static const char key[] = "\nCpus_allowed_list:\t";
    char text[STATUS_BYTES];
    ssize_t n = cpus->status >= 0 ? pread(cpus->status, text, sizeof(text) - 1, 0) : 0;
    text[n > 0 ? n : 0] = '\0';
    const char *list = strstr(text, key);
    struct pw_row_cpus row = {.time = now_ns};
    int64_t busy_ns = 0;
    for (const char *line = strstr(stat, "\ncpu"); line && list; line = strstr(line + 1, "\ncpu")) {
        struct pw_stat_times times;
        char *end;
        long cpu = strtol(line + strlen("\ncpu"), &end, 10);
        if (!has(list + strlen(key), cpu) || !pw_stat_times(end, tick_ns, &times))
            continue;
        join(&row, cpu);
        busy_ns += times.busy_ns;
    }
    if (!row.allowed)
        return;
    if (row.cpu_set == cpus->set && busy_ns > cpus->busy_ns)
        cpus->total_ns += busy_ns - cpus->busy_ns;
    cpus->busy_ns = busy_ns;
    cpus->set = row.cpu_set;
    row.busy_ns = cpus->total_ns;
    pw_rankfile_append_measured(file, PW_TABLE_cpus, &row);
}
