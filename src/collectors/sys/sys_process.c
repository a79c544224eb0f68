/* Module sys, in the collector process only: samples /proc/PID into /samples/process. Files stay
 * open between samples. */
#include "collectors/modules.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STAT, STATUS, SCHEDSTAT, IO, MAIN_IO, MAIN_STAT, FILES };

struct state {
    struct pw_rankfile *file;
    pid_t pid;
    int fds[FILES]; /* -1: not readable here */
    int64_t tick_ns;
    int64_t samples;
    struct pw_live_usage usage; /* at the last sample */
};

static void *create(struct pw_rankfile *file)
{
    struct state *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->file = file;
    s->tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    for (int i = 0; i < FILES; i++)
        s->fds[i] = -1;
    return s;
}

static void open_files(struct state *s, pid_t pid)
{
    static const char *const names[FILES] = {"stat", "status", "schedstat", "io", "io", "stat"};
    const char *root = getenv("PROFWRAP_FSROOT");
    for (int i = 0; i < FILES; i++) {
        char path[512];
        if (s->fds[i] >= 0)
            close(s->fds[i]);
        if (i >= MAIN_IO) /* without other threads and ended child processes */
            snprintf(path, sizeof(path), "%s/proc/%d/task/%d/%s", root ? root : "", (int)pid,
                     (int)pid, names[i]);
        else
            snprintf(path, sizeof(path), "%s/proc/%d/%s", root ? root : "", (int)pid, names[i]);
        s->fds[i] = open(path, O_RDONLY | O_CLOEXEC);
    }
    s->pid = pid;
}

/* Reads the whole file. `text` is "" when it cannot be read. */
static void read_text(const struct state *s, int which, char *text, size_t size)
{
    ssize_t n = s->fds[which] >= 0 ? pread(s->fds[which], text, size - 1, 0) : 0;
    text[n > 0 ? n : 0] = '\0';
}

/* Returns the number after `key` at the beginning of a line, or -1. */
static int64_t field(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0)
            return strtoll(line + length, NULL, 10);
        if (!*line)
            break;
    }
    return -1;
}

/* proc(5): after the parenthesised name, field 3 is the state; 10 minflt, 11 cminflt, 12 majflt, 13
 * cmajflt, 14 utime, 15 stime, 20 num_threads, 24 rss, 39 processor. */
static void parse_stat(const struct state *s, const char *text, struct pw_row_process *row)
{
    const char *at = strrchr(text, ')');
    int64_t values[40] = {[39] = -1};
    if (!at || at[1] != ' ' || !at[2])
        return;
    row->state = (uint8_t)at[2];
    at += 3; /* skip ") S" */
    for (int i = 4; i <= 39; i++) {
        char *end;
        long long value = strtoll(at, &end, 10);
        if (end == at)
            break;
        values[i] = value;
        at = end;
    }
    row->minor_faults = values[10];
    row->major_faults = values[12];
    row->child_faults = values[11] + values[13];
    row->cpu_user_ns = values[14] * s->tick_ns;
    row->cpu_sys_ns = values[15] * s->tick_ns;
    row->threads = (int32_t)values[20];
    row->rss_bytes = values[24] * sysconf(_SC_PAGESIZE);
    row->processor = (int32_t)values[39];
}

/* The number of major faults in the text of a `stat`; -1: not known. */
static int64_t major_faults(const char *text)
{
    long long faults;
    const char *at = strrchr(text, ')');
    return at && sscanf(at, ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %lld", &faults) == 1 ? faults
                                                                                        : -1;
}

static void parse_schedstat(const char *text, struct pw_row_process *row)
{
    long long on_cpu, waiting;
    int known = sscanf(text, "%lld %lld", &on_cpu, &waiting) == 2;
    row->main_cpu_ns = known ? on_cpu : -1;
    row->runq_wait_ns = known ? waiting : -1;
}

static struct pw_live_usage usage_of(const struct pw_row_process *row, int64_t samples)
{
    const int is_known = row->main_read_bytes >= 0 && row->main_write_bytes >= 0;
    return (struct pw_live_usage){
        .samples = samples,
        .cpu_ns = row->main_cpu_ns,
        .runq_ns = row->runq_wait_ns,
        .involuntary_cs = row->involuntary_cs,
        .major_faults = row->main_major_faults,
        .child_faults = row->child_faults,
        .io_bytes = is_known ? row->main_read_bytes + row->main_write_bytes : -1,
    };
}

static void live(void *state, const struct pw_segment_shared *segment, struct pw_live *live)
{
    const struct state *s = state;
    (void)segment;
    if (live->wants_steps && s->samples)
        live->usage = s->usage;
}

static void sample(void *state, pid_t pid, int64_t now_ns)
{
    struct state *s = state;
    char text[4096];
    if (s->pid != pid)
        open_files(s, pid);
    struct pw_row_process row = {.time = now_ns};
    read_text(s, STAT, text, sizeof(text));
    if (!text[0])
        return; /* the process has ended */
    parse_stat(s, text, &row);
    read_text(s, SCHEDSTAT, text, sizeof(text));
    parse_schedstat(text, &row);
    read_text(s, STATUS, text, sizeof(text));
    row.voluntary_cs = field(text, "voluntary_ctxt_switches:");
    row.involuntary_cs = field(text, "nonvoluntary_ctxt_switches:");
    read_text(s, IO, text, sizeof(text));
    row.read_bytes = field(text, "rchar:");
    row.write_bytes = field(text, "wchar:");
    read_text(s, MAIN_IO, text, sizeof(text));
    row.main_read_bytes = field(text, "rchar:");
    row.main_write_bytes = field(text, "wchar:");
    read_text(s, MAIN_STAT, text, sizeof(text));
    row.main_major_faults = major_faults(text);
    pw_rankfile_append_measured(s->file, PW_TABLE_process, &row);
    s->usage = usage_of(&row, ++s->samples);
}

static void destroy(void *state)
{
    struct state *s = state;
    for (int i = 0; s && i < FILES; i++)
        if (s->fds[i] >= 0)
            close(s->fds[i]);
    free(s);
}

const struct pw_module pw_module_sys = {
    .name = "sys",
    .activity = PW_ACTIVITY_SYS,
    .create = create,
    .sample = sample,
    .live = live,
    .destroy = destroy,
};
