/* Module workers, in the collector process only: sums the resources that the program's child
 * processes used, into /samples/workers. Most often they are a data loader's workers, and their
 * work belongs to the rank.
 *
 * The processes are found from the lists of children of all threads of the program, and from those
 * of the processes found so, such as a server that forks the workers. The use of a process counts
 * from its start. A process that has ended counts with its values in the last sample. */
#include "collectors/modules.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 256, TEXT_BYTES = 4096, PATH_BYTES = 512 };

/* What a process used since its start. */
struct used {
    int64_t user_ns, sys_ns, read_bytes, write_bytes, io_wait_ns;
};

struct worker {
    pid_t pid;
    unsigned long long started; /* tells it from another process with its number */
    struct used used;
    int64_t rss_bytes;
    int is_seen; /* in this sample */
};

struct state {
    struct pw_rankfile *file;
    int64_t tick_ns, page_bytes;
    int has_delays; /* the kernel accounts for waits for disks */
    struct worker workers[MOST];
    size_t n;
    struct used ended; /* by those that are no more */
};

static const char *root(void)
{
    const char *root = getenv("PROFWRAP_FSROOT");
    return root ? root : "";
}

/* The file as text; false when it cannot be read. */
static int read_file(const char *path, char *text, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n >= 0;
}

static void *create(struct pw_rankfile *file)
{
    char path[PATH_BYTES], text[16];
    struct state *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->file = file;
    s->tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    s->page_bytes = sysconf(_SC_PAGESIZE);
    snprintf(path, sizeof(path), "%s/proc/sys/kernel/task_delayacct", root());
    s->has_delays = read_file(path, text, sizeof(text)) && text[0] == '1';
    return s;
}

static int64_t number_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

/* proc(5): after the parenthesised name, field 14 is utime, 15 stime, 22 starttime, 24 rss, 42
 * delayacct_blkio_ticks (in hundredths of a second as all ticks). 0 for a zombie, or no process. */
static int parse_stat(const struct state *s, const char *text, struct worker *out)
{
    const char *at = strrchr(text, ')');
    unsigned long long values[43] = {0};
    if (!at || at[1] != ' ' || !at[2] || at[2] == 'Z')
        return 0;
    at += 3; /* over ") S" */
    for (int i = 4; i <= 42; i++) {
        char *end;
        values[i] = strtoull(at, &end, 10);
        if (end == at)
            break;
        at = end;
    }
    out->started = values[22];
    out->rss_bytes = (int64_t)values[24] * s->page_bytes;
    out->used.user_ns = (int64_t)values[14] * s->tick_ns;
    out->used.sys_ns = (int64_t)values[15] * s->tick_ns;
    out->used.io_wait_ns = (int64_t)values[42] * s->tick_ns;
    return 1;
}

static int look_at(const struct state *s, pid_t pid, struct worker *out)
{
    char path[PATH_BYTES], text[TEXT_BYTES];
    *out = (struct worker){.pid = pid, .is_seen = 1};
    snprintf(path, sizeof(path), "%s/proc/%d/stat", root(), (int)pid);
    if (!read_file(path, text, sizeof(text)) || !parse_stat(s, text, out))
        return 0;
    snprintf(path, sizeof(path), "%s/proc/%d/io", root(), (int)pid);
    read_file(path, text, sizeof(text));
    const int64_t read_bytes = number_after(text, "rchar: ");
    const int64_t write_bytes = number_after(text, "wchar: ");
    out->used.read_bytes = read_bytes > 0 ? read_bytes : 0;
    out->used.write_bytes = write_bytes > 0 ? write_bytes : 0;
    return 1;
}

static void add(struct used *to, const struct used *of)
{
    to->user_ns += of->user_ns;
    to->sys_ns += of->sys_ns;
    to->read_bytes += of->read_bytes;
    to->write_bytes += of->write_bytes;
    to->io_wait_ns += of->io_wait_ns;
}

/* Stores the values of the process. Returns 1 unless it was already seen in this sample, or cannot
 * be stored or read. */
static int take(struct state *s, pid_t pid)
{
    struct worker now;
    struct worker *known = NULL;
    for (size_t i = 0; i < s->n; i++)
        if (s->workers[i].pid == pid)
            known = &s->workers[i];
    if ((known && known->is_seen) || (!known && s->n == MOST) || !look_at(s, pid, &now))
        return 0;
    if (known && known->started != now.started)
        add(&s->ended, &known->used);
    if (!known)
        known = &s->workers[s->n++];
    *known = now;
    return 1;
}

/* Takes the processes in a list of children, which is text. *any is set if the list exists. */
static void take_list(struct state *s, pid_t pid, const char *thread, int *any)
{
    char path[PATH_BYTES + 300], text[TEXT_BYTES];
    snprintf(path, sizeof(path), "%s/proc/%d/task/%s/children", root(), (int)pid, thread);
    if (!read_file(path, text, sizeof(text)))
        return;
    *any = 1;
    char *end;
    for (const char *at = text;; at = end) {
        const long child = strtol(at, &end, 10);
        if (end == at || child <= 0)
            return;
        take(s, (pid_t)child);
    }
}

/* Takes the children of all threads of a process. */
static void take_children(struct state *s, pid_t pid, int *any)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s/proc/%d/task", root(), (int)pid);
    DIR *stream = opendir(path);
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (entry->d_name[0] != '.')
            take_list(s, pid, entry->d_name, any);
    if (stream)
        closedir(stream);
}

static void forget_ended(struct state *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->workers[i].is_seen)
            s->workers[kept++] = s->workers[i];
        else
            add(&s->ended, &s->workers[i].used);
    s->n = kept;
}

static void append(struct state *s, int64_t now_ns)
{
    struct used sum = s->ended;
    struct pw_row_workers row = {.time = now_ns, .processes = (int32_t)s->n};
    for (size_t i = 0; i < s->n; i++) {
        add(&sum, &s->workers[i].used);
        row.rss_bytes += s->workers[i].rss_bytes;
    }
    row.cpu_user_ns = sum.user_ns;
    row.cpu_sys_ns = sum.sys_ns;
    row.read_bytes = sum.read_bytes;
    row.write_bytes = sum.write_bytes;
    row.io_wait_ns = s->has_delays ? sum.io_wait_ns : -1;
    pw_rankfile_append_measured(s->file, PW_TABLE_workers, &row);
}

/* Programs that start no processes have no samples. */
static void sample(void *state, pid_t pid, int64_t now_ns)
{
    struct state *s = state;
    int any = 0;
    for (size_t i = 0; i < s->n; i++)
        s->workers[i].is_seen = 0;
    take_children(s, pid, &any);
    for (size_t i = 0; i < s->n; i++) /* grows meanwhile */
        if (s->workers[i].is_seen)
            take_children(s, s->workers[i].pid, &any);
    forget_ended(s);
    if (any && (s->n || s->ended.user_ns || s->ended.sys_ns || s->ended.read_bytes))
        append(s, now_ns);
}

static void destroy(void *state)
{
    free(state);
}

const struct pw_module pw_module_workers = {
    .name = "sys",
    .activity = PW_ACTIVITY_SYS,
    .create = create,
    .sample = sample,
    .destroy = destroy,
};
