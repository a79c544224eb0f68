/* Module host, in the collector process only: samples /proc/stat and the cpu.stat of the
 * process's cgroups into /samples/host and /samples/cpus. Files stay open between samples; the
 * process may be moved to other cgroups between two of them. */
#include "collectors/modules.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/cpuset.h"
#include "rank/collect/module.h"

/* A line of /proc/stat. */

struct pw_stat_times {
    int64_t busy_ns, idle_ns, steal_ns;
};

/* Reads the times of a line (proc(5): user nice system idle iowait irq softirq steal, in ticks).
 * Returns 0 when the line has another form. Not by sscanf(), which takes 1 us per line, because a
 * host may have hundreds of lines. */
static inline int pw_stat_times(const char *text, int64_t tick_ns, struct pw_stat_times *out)
{
    int64_t t[8];
    for (int i = 0; i < 8; i++) {
        while (*text == ' ')
            text++;
        if (*text < '0' || *text > '9')
            return 0;
        uint64_t value = 0;
        for (; *text >= '0' && *text <= '9'; text++)
            value = 10 * value + (uint64_t)(*text - '0');
        t[i] = (int64_t)(value & INT64_MAX);
    }
    out->busy_ns = (t[0] + t[1] + t[2] + t[5] + t[6]) * tick_ns;
    out->idle_ns = (t[3] + t[4]) * tick_ns;
    out->steal_ns = t[7] * tick_ns;
    return 1;
}

/* Samples which CPUs the program's main thread may use, and how busy these are with any work: other
 * processes on them can keep a bound rank from running.
 *
 * Reads Cpus_allowed_list of /proc/PID/status and the lines of single CPUs in /proc/stat, which are
 * those that are online. */

struct pw_cpus {
    int status; /* of /proc/PID/status; -1: not readable */
    uint64_t set;
    int64_t busy_ns;  /* busy time of these CPUs since boot */
    int64_t total_ns; /* busy time of the CPUs that were allowed at each time, since the first
                       * sample */
};

enum { STATUS_BYTES = 8192 };

static void pw_cpus_close(struct pw_cpus *cpus);

/* `root` is prefixed to /proc. */
static void pw_cpus_open(struct pw_cpus *cpus, const char *root, pid_t pid)
{
    char path[PATH_MAX];
    pw_cpus_close(cpus);
    snprintf(path, sizeof(path), "%s/proc/%d/status", root, (int)pid);
    cpus->status = open(path, O_RDONLY | O_CLOEXEC);
}

static void pw_cpus_close(struct pw_cpus *cpus)
{
    if (cpus->status >= 0)
        close(cpus->status);
    cpus->status = -1;
}

/* Whether a list such as "0-3,8" contains the CPU. */
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

/* Appends a row from the text of /proc/stat; no row when the text has no lines of single CPUs. */
static void pw_cpus_sample(struct pw_cpus *cpus, struct pw_rankfile *file, const char *stat,
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

/* The most cgroups from the process's own up to the root: a CPU quota of any of them can stop the
 * process. */
enum { MAX_CGROUPS = 16, LIST_BYTES = 4096 };

/* Enough for the lines of about 1000 CPUs, which come first in /proc/stat. */
enum { STAT_BYTES = 1 << 16 };

struct cgroup {
    int fd;
    int64_t first_ns; /* throttled time of the cgroup when the process was first seen in it; -1: not
                       * known */
};

struct state {
    struct pw_rankfile *file;
    pid_t pid;
    int stat, list; /* of /proc/stat and /proc/PID/cgroup */
    struct cgroup cgroups[MAX_CGROUPS];
    int ncgroups;
    int64_t tick_ns;
    int64_t left_ns;    /* throttled time in cgroups that the process has left; -1: not known */
    int64_t current_ns; /* throttled time in its present cgroups; -1: not known */
    char listed[LIST_BYTES];
    struct pw_cpus cpus;
    char text[STAT_BYTES];
};

static void *create(struct pw_rankfile *file)
{
    struct state *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->file = file;
    s->stat = s->list = s->cpus.status = -1;
    s->left_ns = s->current_ns = -1;
    s->tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    return s;
}

static const char *root(void)
{
    const char *root = getenv("PROFWRAP_FSROOT");
    return root ? root : "";
}

/* Reads the file from its beginning. `text` is "" when it cannot be read. */
static bool read_text(int fd, char *text, size_t size)
{
    ssize_t n = fd >= 0 ? pread(fd, text, size - 1, 0) : 0;
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* Returns the throttled time, ns; -1: not known. cgroups version 2 have throttled_usec, version 1
 * throttled_time in ns. */
static int64_t throttled(int fd)
{
    char text[1024];
    read_text(fd, text, sizeof(text));
    const char *micro = strstr(text, "throttled_usec "), *nano = strstr(text, "throttled_time ");
    if (micro)
        return strtoll(micro + strlen("throttled_usec "), NULL, 10) * 1000;
    return nano ? strtoll(nano + strlen("throttled_time "), NULL, 10) : -1;
}

/* ---- cgroups ---- */

static void close_cgroups(struct state *s)
{
    for (int i = 0; i < s->ncgroups; i++)
        close(s->cgroups[i].fd);
    s->ncgroups = 0;
}

/* Opens cpu.stat of the cgroup `path` under `mount`, and of every cgroup above it. */
static void open_cgroups(struct state *s, const char *mount, const char *path)
{
    char at[PATH_MAX];
    snprintf(at, sizeof(at), "%s%s%s", root(), mount, path);
    size_t shortest = strlen(root()) + strlen(mount);
    while (s->ncgroups < MAX_CGROUPS) {
        char file[PATH_MAX + 16];
        snprintf(file, sizeof(file), "%s/cpu.stat", at);
        int fd = open(file, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
            s->cgroups[s->ncgroups++] = (struct cgroup){fd, throttled(fd)};
        char *slash = strrchr(at, '/');
        if (!slash || (size_t)(slash - at) < shortest)
            return;
        *slash = '\0';
    }
}

/* cgroups(7): lines "hierarchy:controllers:path"; version 2 has no controllers. */
static void open_line(struct state *s, char *line)
{
    char *controllers = strchr(line, ':'),
         *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return;
    *path++ = '\0';
    controllers++;
    if (!controllers[0]) {
        open_cgroups(s, "/sys/fs/cgroup", path);
        open_cgroups(s, "/sys/fs/cgroup/unified", path);
        return;
    }
    for (char *name = strsep(&controllers, ","); name; name = strsep(&controllers, ","))
        if (strcmp(name, "cpu") == 0)
            open_cgroups(s, "/sys/fs/cgroup/cpu", path);
}

/* When the process was moved to other cgroups, continues the count there. */
static void follow_cgroups(struct state *s)
{
    char text[LIST_BYTES], *rest = text;
    if (!read_text(s->list, text, sizeof(text)) || strcmp(text, s->listed) == 0)
        return;
    memcpy(s->listed, text, sizeof(text));
    if (s->current_ns >= 0)
        s->left_ns = (s->left_ns > 0 ? s->left_ns : 0) + s->current_ns;
    s->current_ns = -1;
    close_cgroups(s);
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
        open_line(s, line);
}

/* Returns the throttled time since the first sample, ns; -1: not known. Cgroups above the process's
 * own can stop it at the same time, so the largest value is taken, not the sum. */
static int64_t throttled_so_far(struct state *s)
{
    for (int i = 0; i < s->ncgroups; i++) {
        int64_t now = throttled(s->cgroups[i].fd), first = s->cgroups[i].first_ns;
        if (now >= 0 && first >= 0 && now - first > s->current_ns)
            s->current_ns = now - first;
    }
    if (s->left_ns < 0 || s->current_ns < 0)
        return s->left_ns < 0 ? s->current_ns : s->left_ns;
    return s->left_ns + s->current_ns;
}

/* ---- samples ---- */

static void close_files(struct state *s)
{
    if (s->stat >= 0)
        close(s->stat);
    if (s->list >= 0)
        close(s->list);
    s->stat = s->list = -1;
    close_cgroups(s);
    pw_cpus_close(&s->cpus);
}

static void open_files(struct state *s, pid_t pid)
{
    char path[PATH_MAX];
    close_files(s);
    s->pid = pid;
    s->listed[0] = '\0';
    snprintf(path, sizeof(path), "%s/proc/stat", root());
    s->stat = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof(path), "%s/proc/%d/cgroup", root(), (int)pid);
    s->list = open(path, O_RDONLY | O_CLOEXEC);
    pw_cpus_open(&s->cpus, root(), pid);
}

/* Reads the first line, which is of all CPUs. */
static void parse_stat(const struct state *s, struct pw_row_host *row)
{
    struct pw_stat_times times = {-1, -1, -1};
    if (strncmp(s->text, "cpu ", 4) == 0)
        pw_stat_times(s->text + 4, s->tick_ns, &times);
    row->busy_ns = times.busy_ns;
    row->idle_ns = times.idle_ns;
    row->steal_ns = times.steal_ns;
}

static void sample(void *state, pid_t pid, int64_t now_ns)
{
    struct state *s = state;
    if (s->pid != pid)
        open_files(s, pid);
    struct pw_row_host row = {.time = now_ns};
    read_text(s->stat, s->text, sizeof(s->text));
    parse_stat(s, &row);
    follow_cgroups(s);
    row.throttled_ns = throttled_so_far(s);
    pw_rankfile_append_measured(s->file, PW_TABLE_host, &row);
    pw_cpus_sample(&s->cpus, s->file, s->text, s->tick_ns, now_ns);
}

static void destroy(void *state)
{
    struct state *s = state;
    if (s)
        close_files(s);
    free(s);
}

const struct pw_module pw_module_host = {
    .name = "sys",
    .activity = PW_ACTIVITY_SYS,
    .create = create,
    .sample = sample,
    .destroy = destroy,
};
