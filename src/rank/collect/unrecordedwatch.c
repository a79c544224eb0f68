/* Checks the processes of a rank for MPI libraries whose calls are not recorded; see
 * unrecordedwatch.h. */
#include "rank/collect/unrecordedwatch.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rank/ring/tick.h"
#include "rank/run/program.h"

#define SECOND ((int64_t)1000000000)
/* A process is checked again after an eighth of the time since it was first seen. */
#define LEAST_NS (SECOND / 20)
#define MOST_NS (30 * SECOND)
#define WALK_MOST_NS (2 * SECOND)

enum { MOST_PROCESSES = 64, MOST_ROWS = 8, NAME = 64, ENVIRONMENT = 1 << 20 };

/* What /proc/PID/maps shows. */
struct maps {
    char library[NAME]; /* an MPI library; "": none */
    int has_probe;
    int is_started; /* 1: has parts of MPI that only MPI_Init loads or creates */
};

struct process {
    pid_t pid;
    dev_t device; /* identify its executable, which changes with exec */
    ino_t inode;
    int64_t since_ns, next_ns;
    int is_there, is_examined; /* is_examined: the executable was checked */
    int has_mpi, is_static;    /* properties of the executable itself */
    int reason;                /* enum pw_unrecorded; NONE: no MPI was seen */
    int certain, written;
    char program[NAME], library[NAME];
};

struct pw_unrecorded_watch {
    pid_t root;
    const struct pw_segment_shared *segment;
    struct pw_rankfile *file;
    int64_t first_ns, next_ns;
    struct process processes[MOST_PROCESSES];
    size_t n, rows;
    int reason; /* a reason that is practically certain */
};

struct pw_unrecorded_watch *
pw_unrecorded_create(pid_t root, const struct pw_segment_shared *segment, struct pw_rankfile *file)
{
    struct pw_unrecorded_watch *u = calloc(1, sizeof(*u));
    if (u)
        *u = (struct pw_unrecorded_watch){
            .root = root, .segment = segment, .file = file, .first_ns = pw_local_ns()};
    return u;
}

void pw_unrecorded_destroy(struct pw_unrecorded_watch *unrecorded)
{
    free(unrecorded);
}

/* ---- one process ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int starts_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* libmpi.so.40, libmpich.so.12, libmpi_abi.so, libmpi_mpifh.so, libmpifort.so; not libmpir.so,
 * whose numbers are long, nor libmpiseq.so, which is for one process. */
static int is_mpi_library(const char *name)
{
    static const char *const after[] = {".so",   "_",    "ch.so", "ch-",
                                        "chf90", "fort", "cxx",   "trampoline"};
    if (!starts_with(name, "libmpi") || !strstr(name, ".so"))
        return 0;
    for (size_t i = 0; i < sizeof(after) / sizeof(after[0]); i++)
        if (starts_with(name + strlen("libmpi"), after[i]))
            return 1;
    return 0;
}

/* Whether the file is a component that Open MPI loads in MPI_Init, or a shared-memory file of an
 * MPI library. */
static int is_part_of_started_mpi(const char *name)
{
    static const char *const begins[] = {"mca_pml_",    "mca_btl_",       "vader_segment.",
                                         "sm_segment.", "mpich_shar_tmp", "pmix_dstor"};
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
        if (starts_with(name, begins[i]))
            return 1;
    return 0;
}

static void read_maps(pid_t pid, struct maps *maps)
{
    char path[64], *line = NULL;
    size_t size = 0;
    *maps = (struct maps){.library = ""};
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && getline(&line, &size, file) > 0) {
        const char *slash = strchr(line, '/');
        if (!slash)
            continue;
        line[strcspn(line, "\n")] = '\0';
        const char *name = base_name(slash);
        if (!maps->library[0] && is_mpi_library(name))
            snprintf(maps->library, sizeof(maps->library), "%s", name);
        maps->has_probe |= starts_with(name, "libprofwrap_probe.so");
        maps->is_started |= is_part_of_started_mpi(name);
    }
    free(line);
    if (file)
        fclose(file);
}

/* Returns the value of a variable in the environment with which the program was started, or
 * NULL. */
static const char *variable(const char *environment, size_t size, const char *name)
{
    size_t length = strlen(name);
    for (size_t at = 0; at < size; at += strlen(environment + at) + 1)
        if (strncmp(environment + at, name, length) == 0 && environment[at + length] == '=')
            return environment + at + length + 1;
    return NULL;
}

/* Returns why a process that has an MPI library does not have the probe. */
static int why_without_probe(pid_t pid, int is_static)
{
    char path[64], *text = is_static ? NULL : malloc(ENVIRONMENT + 1);
    if (is_static)
        return PW_UNRECORDED_STATIC;
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    int fd = text ? open(path, O_RDONLY | O_CLOEXEC) : -1, reason = PW_UNRECORDED_ENVIRONMENT;
    ssize_t part;
    size_t size = 0;
    while (fd >= 0 && size < ENVIRONMENT && (part = read(fd, text + size, ENVIRONMENT - size)) > 0)
        size += (size_t)part;
    if (text)
        text[size] = '\0';
    if (size && variable(text, size, PW_SEGMENT_VARIABLE)) {
        const char *preload = variable(text, size, "LD_PRELOAD");
        reason = preload && strstr(preload, "libprofwrap_probe.so")
                     ? PW_UNRECORDED_PRELOAD_REFUSED
                     : PW_UNRECORDED_PRELOAD_REPLACED;
    }
    if (fd >= 0)
        close(fd);
    free(text);
    return reason;
}

/* Returns why a process that has the probe does not record its MPI calls. */
static int why_with_probe(const struct pw_unrecorded_watch *u, pid_t pid)
{
    pid_t owner = atomic_load(&u->segment->owner_pid);
    return owner && owner != pid && kill(owner, 0) == 0 ? PW_UNRECORDED_OTHER_PROCESS
                                                        : PW_UNRECORDED_BYPASSED;
}

static void write_row(struct pw_unrecorded_watch *u, struct process *p)
{
    struct pw_row_unrecorded row = {
        .time = pw_local_ns(),
        .reason = (uint8_t)p->reason,
        .certain = (uint8_t)p->certain,
        .count = 1,
        .pid = p->pid,
    };
    p->written = 1;
    if (u->rows++ >= MOST_ROWS)
        return;
    memcpy(row.program, p->program, sizeof(row.program));
    memcpy(row.library, p->library, sizeof(row.library));
    pw_rankfile_append_measured(u->file, PW_TABLE_unrecorded, &row);
}

/* Reads the maps before it checks whether MPI is recorded: the wrapper reports that before it calls
 * MPI's function, so a process whose maps show a started MPI has reported it. */
static void examine(struct pw_unrecorded_watch *u, struct process *p)
{
    struct maps maps;
    char path[64];
    read_maps(p->pid, &maps);
    if (!maps.library[0] && !p->is_examined) {
        snprintf(path, sizeof(path), "/proc/%d/exe", (int)p->pid);
        p->has_mpi = pw_program_has_mpi(path, &p->is_static);
        p->is_examined = 1;
    }
    if ((!maps.library[0] && !p->has_mpi) || atomic_load(&u->segment->mpi_begun))
        return;
    p->reason =
        maps.has_probe ? why_with_probe(u, p->pid) : why_without_probe(p->pid, p->is_static);
    snprintf(p->library, sizeof(p->library), "%s", maps.library);
    p->certain |= maps.is_started;
    /* Without the probe, no call of this process will ever be recorded. */
    if (!u->reason && (p->certain || !maps.has_probe))
        u->reason = p->reason;
    if (p->certain && !p->written)
        write_row(u, p);
}

/* ---- all of them ---- */

static struct process *process_of(struct pw_unrecorded_watch *u, pid_t pid, int64_t now)
{
    char path[64], program[256];
    struct stat st;
    struct process *p = u->processes, *end = p + u->n;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    if (stat(path, &st))
        return NULL; /* the process has ended, or belongs to another user */
    while (p < end && (p->pid != pid || p->device != st.st_dev || p->inode != st.st_ino))
        p++;
    if (p < end)
        return p;
    /* When the table is full, replaces a process that has ended and had no MPI. */
    for (p = u->processes; u->n == MOST_PROCESSES && p < end && (p->is_there || p->reason);)
        p++;
    if (p == end && u->n == MOST_PROCESSES)
        return NULL;
    if (u->n < MOST_PROCESSES)
        p = &u->processes[u->n++];
    *p = (struct process){.pid = pid, .device = st.st_dev, .inode = st.st_ino, .since_ns = now};
    ssize_t length = readlink(path, program, sizeof(program) - 1);
    program[length > 0 ? length : 0] = '\0';
    snprintf(p->program, sizeof(p->program), "%.63s", base_name(program));
    return p;
}

static void visit(struct pw_unrecorded_watch *u, pid_t pid, int64_t now)
{
    struct process *p = process_of(u, pid, now);
    if (!p)
        return;
    p->is_there = 1;
    if (now < p->next_ns)
        return;
    examine(u, p);
    int64_t pause = (now - p->since_ns) / 8;
    p->next_ns = now + (pause < LEAST_NS ? LEAST_NS : pause > MOST_NS ? MOST_NS : pause);
}

/* Appends the children of one thread of the process. Returns the new number of pids. */
static size_t add_children(const char *path, pid_t *pids, size_t n)
{
    FILE *file = fopen(path, "re");
    int pid;
    while (file && n < MOST_PROCESSES && fscanf(file, "%d", &pid) == 1)
        pids[n++] = pid;
    if (file)
        fclose(file);
    return n;
}

static size_t find_children(pid_t parent, pid_t *pids, size_t n)
{
    char path[320];
    struct dirent *entry;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)parent);
    DIR *tasks = opendir(path);
    while (tasks && n < MOST_PROCESSES && (entry = readdir(tasks))) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)parent, entry->d_name);
        n = add_children(path, pids, n);
    }
    if (tasks)
        closedir(tasks);
    return n;
}

void pw_unrecorded_poll(struct pw_unrecorded_watch *u)
{
    const int64_t now = u ? pw_local_ns() : 0;
    if (!u || now < u->next_ns || atomic_load(&u->segment->mpi_begun))
        return;
    pid_t pids[MOST_PROCESSES] = {u->root};
    size_t n = 1;
    for (size_t i = 0; i < u->n; i++)
        u->processes[i].is_there = 0;
    for (size_t i = 0; i < n; i++) {
        visit(u, pids[i], now);
        n = find_children(pids[i], pids, n);
    }
    int64_t pause = (now - u->first_ns) / 8;
    u->next_ns = now + (pause < LEAST_NS ? LEAST_NS : pause > WALK_MOST_NS ? WALK_MOST_NS : pause);
}

int pw_unrecorded_reason(const struct pw_unrecorded_watch *u)
{
    /* When MPI is recorded, an earlier finding was about another program, such as a script
     * that started this one. */
    return u && !atomic_load(&u->segment->mpi_begun) ? u->reason : PW_UNRECORDED_NONE;
}

/* A library that was loaded and perhaps not used is reported only when nothing more certain is
 * known. */
void pw_unrecorded_finish(struct pw_unrecorded_watch *u)
{
    if (!u || atomic_load(&u->segment->mpi_begun))
        return;
    for (size_t i = 0; i < u->n && u->rows == 0; i++)
        if (u->processes[i].reason && !u->processes[i].written)
            write_row(u, &u->processes[i]);
}
