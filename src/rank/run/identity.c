/* Finds the rank's identity; see identity.h. */
#include "rank/run/identity.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "rank/run/baretext.h"
#include "rank/run/process.h"
#include "rank/run/rankenv.h"

/* Reads the command lines of Hydra's proxies. */

/* Shells, debuggers, numactl: what may be between a proxy and its rank. */
enum { MOST_ANCESTORS = 16 };

/* Reads a file of /proc, whose size is not known. Returns the number of bytes; a NUL follows
 * them. */
static size_t read_whole(const char *root, pid_t pid, const char *name, char *out, size_t size)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/proc/%d/%s", root, (int)pid, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t n = fd < 0 ? 0 : 1;
    while (n > 0 && used + 1 < size) {
        n = read(fd, out + used, size - 1 - used);
        used += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    out[used] = '\0';
    return used;
}

/* Returns the parent's pid; 0: none, or not known. */
static pid_t parent_of(const char *root, pid_t pid)
{
    char text[1024];
    int parent = 0;
    read_whole(root, pid, "stat", text, sizeof(text));
    const char *at = strrchr(text, ')'); /* the name may contain ')' */
    return at && sscanf(at + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

/* The words of a command line are separated by NULs. */
static const char *next_word(const char *word, const char *end)
{
    word += strlen(word) + 1;
    return word < end ? word : NULL;
}

static const char *option(const char *words, const char *end, const char *name)
{
    const char *word = words;
    while (word && strcmp(word, name) != 0)
        word = next_word(word, end);
    return word ? next_word(word, end) : NULL;
}

static void name_after(const char *words, const char *end, char *out, size_t size)
{
    const char *port = option(words, end, "--control-port");
    const char *group = option(words, end, "--pgid");
    if (!port)
        return;
    const int is_spawned = group && strcmp(group, "0") != 0; /* by MPI_Comm_spawn */
    snprintf(out, size, "%.40s%s%.8s", port, is_spawned ? "-" : "", is_spawned ? group : "");
    char *colon = strchr(out, ':');
    if (colon)
        *colon = '-';
}

void pw_hydra_name(const char *root, pid_t pid, char *out, size_t size)
{
    char words[4096];
    out[0] = '\0';
    for (int i = 0; i < MOST_ANCESTORS && pid > 1; i++, pid = parent_of(root, pid)) {
        const size_t n = read_whole(root, pid, "cmdline", words, sizeof(words));
        if (n && pw_bare_is_same(pw_bare_base_name(words), "hydra_pmi_proxy")) {
            name_after(words, words + n, out, size);
            return;
        }
    }
}

/* FNV-1a */
#define FNV_BEGIN UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static const char *value_of(const char *name)
{
    const char *value = *name ? getenv(name) : NULL;
    return value && *value ? value : NULL;
}

static int number_of(const char *name, int fallback)
{
    const int value = pw_env_number(environ, name);
    return value < 0 ? fallback : value;
}

static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * FNV_PRIME;
    return hash;
}

static void read_line(const char *root, const char *path, char *out, size_t size)
{
    char name[512];
    snprintf(name, sizeof(name), "%s%s", root, path);
    FILE *file = fopen(name, "r");
    out[0] = '\0';
    if (file && fgets(out, (int)size, file))
        out[strcspn(out, "\n")] = '\0';
    if (file)
        fclose(file);
}

static void hash_clock_domain(struct pw_identity *id)
{
    id->clock_domain_hash = hash_bytes(FNV_BEGIN, id->clock_domain, strlen(id->clock_domain));
}

static void find_clock_domain(struct pw_identity *id, const char *root)
{
    char boot[64], space[32] = "", path[512];
    read_line(root, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
    snprintf(path, sizeof(path), "%s/proc/self/ns/time", root);
    ssize_t n = readlink(path, space, sizeof(space) - 1);
    space[n > 0 ? n : 0] = '\0';
    snprintf(id->clock_domain, sizeof(id->clock_domain), "%s %s", boot[0] ? boot : id->hostname,
             space);

    hash_clock_domain(id);
}

void pw_identity_split_clock(struct pw_identity *id, const char *name)
{
    size_t used = strlen(id->clock_domain);
    snprintf(id->clock_domain + used, sizeof(id->clock_domain) - used, " %s", name);
    hash_clock_domain(id);
}

/* Replaces characters that are not safe in a file name by '_'. */
static void clean(char *text)
{
    for (; *text; text++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *text))
            *text = '_';
}

/* Returns a hash that all ranks of one torchrun on this host have, and other jobs do not. It is
 * made of the path of torchrun's directory for error files up to "/attempt_N/", because N is
 * another one after a restart. Without such a directory, it is made of torchrun's pid and start
 * time. */
static uint32_t hash_torchrun(void)
{
    const char *file = value_of("TORCHELASTIC_ERROR_FILE");
    const char *end = file ? strstr(file, "/attempt_") : NULL;
    struct pw_process_stat stat = {.start = 0};
    if (end)
        return (uint32_t)hash_bytes(FNV_BEGIN, file, (size_t)(end - file));
    /* Wrong if a shell is between torchrun and the rank: then the parent is the shell. */
    pw_process_stat(getppid(), &stat);
    return (uint32_t)hash_bytes(FNV_BEGIN ^ (uint64_t)getppid(), (const char *)&stat.start,
                                sizeof(stat.start));
}

/* Writes "ADDRESS-PORT" of the rendezvous of the ranks; "" when the variables are not set. */
static void name_meeting(char *out, size_t size, const char *address, const char *port)
{
    const char *host = value_of(address), *number = value_of(port);
    out[0] = '\0';
    if (host && number)
        snprintf(out, size, "%.32s-%.8s", host, number);
}

/* Whether the user gave the job this name. Without a name, torchrun uses "none" or a random
 * UUID. */
static int is_users_name(const char *name)
{
    enum { UUID_LENGTH = 36, FIRST_DASH = 8 };
    return name && strcmp(name, "none") != 0 &&
           !(strlen(name) == UUID_LENGTH && name[FIRST_DASH] == '-' &&
             strspn(name, "0123456789abcdef-") == UUID_LENGTH);
}

/* Names a job of torchrun. On one host the name has hash_torchrun(). On several hosts, a later job
 * may have the same name or rendezvous: job_may_repeat is set. */
static void name_torchrun(struct pw_identity *id, const char *given, char *out, size_t size)
{
    const int local = number_of("LOCAL_WORLD_SIZE", -1);
    const char *name = is_users_name(given) ? given : NULL;
    char meeting[48];
    name_meeting(meeting, sizeof(meeting), "MASTER_ADDR", "MASTER_PORT");
    if (local == id->size) {
        snprintf(out, size, "%.40s-%08x", name ? name : "torchrun", hash_torchrun());
        return;
    }
    id->job_may_repeat = 1;
    if (given && strcmp(given, "none") != 0)
        snprintf(out, size, "%s", given);
    else if (meeting[0])
        snprintf(out, size, "torchrun-%s", meeting);
}

/* Names a job by the host and port of its mpiexec. A later job may have the same port. The proxy of
 * MPICH 5 starts spawned processes, too, and its command line does not tell them from those that
 * spawned them. PMI_SPAWNED does. Their number keeps groups of different sizes apart; groups of the
 * same size are like jobs with the same port. */
static void name_hydra(const struct pw_identity *id, const char *root, char *out, size_t size)
{
    char name[64], spawned[24] = "";
    pw_hydra_name(root, getppid(), name, sizeof(name));
    if (number_of("PMI_SPAWNED", 0) == 1)
        snprintf(spawned, sizeof(spawned), "spawned%d-", id->size);
    if (name[0])
        snprintf(out, size, "hydra-%s%.50s", spawned, name);
}

/* Names a job for which the launcher has no name. */
static void name_nameless(struct pw_identity *id, enum pw_rank_row row,
                          const struct pw_identity_hints *hints, char *out, size_t size)
{
    const char *launch = hints->launch;
    if (row == PW_RANK_HYDRA)
        name_hydra(id, hints->root ? hints->root : "", out, size);
    else if (row == PW_RANK_MSRUN)
        name_meeting(out, size, "MS_SCHED_HOST", "MS_SCHED_PORT");
    else if (row == PW_RANK_PLAIN || row == PW_RANK_ASCEND)
        name_meeting(out, size, "MASTER_ADDR", "MASTER_PORT");
    id->job_may_repeat = out[0] || !launch; /* each `launch` is a name of one job */
    if (!out[0])
        snprintf(out, size, "%s", launch ? launch : "job");
}

/* Builds id->job; begins with Slurm's job id if there is one. */
static void join_names(struct pw_identity *id, enum pw_rank_row row, const char *name)
{
    const char *slurm = value_of("SLURM_JOB_ID"), *step = value_of("SLURM_STEP_ID");
    if (slurm && row == PW_RANK_SLURM)
        snprintf(id->job, sizeof(id->job), "%.30s.%.16s", slurm, step);
    else if (slurm && *name)
        snprintf(id->job, sizeof(id->job), "%.24s-%.32s", slurm, name);
    else if (*name)
        snprintf(id->job, sizeof(id->job), "%.60s", name);
    else if (slurm)
        snprintf(id->job, sizeof(id->job), "%.30s-%d", slurm, (int)getpid());
    else
        snprintf(id->job, sizeof(id->job), "%lld-%d", (long long)time(NULL), (int)getpid());
    clean(id->job);
}

static void find_job(struct pw_identity *id, enum pw_rank_row row,
                     const struct pw_identity_hints *hints)
{
    char name[128] = "";
    if (row != PW_RANK_NONE) {
        const char *given = value_of(pw_rank_names(row)->job);
        if (row == PW_RANK_TORCHRUN)
            name_torchrun(id, given, name, sizeof(name));
        else if (given)
            snprintf(name, sizeof(name), "%s", given);
        if (!name[0] && !(row == PW_RANK_SLURM && value_of("SLURM_JOB_ID")))
            name_nameless(id, row, hints, name, sizeof(name));
    }
    join_names(id, row, name);
}

/* Sets id->contradiction when the rank is not below the job's size, or when RANK and WORLD_SIZE
 * differ from the launcher's variables. */
static void find_contradiction(struct pw_identity *id, enum pw_rank_row row)
{
    const int rank = number_of("RANK", -1), size = number_of("WORLD_SIZE", -1);
    if (rank < 0 || size < 0)
        return;
    if (row == PW_RANK_NONE && rank >= size)
        snprintf(id->contradiction, sizeof(id->contradiction), "RANK is %d, but WORLD_SIZE is %d",
                 rank, size);
    else if (row != PW_RANK_NONE && (rank != id->rank || size != id->size))
        snprintf(id->contradiction, sizeof(id->contradiction),
                 "RANK is %d of %d (WORLD_SIZE), but %s is %d of %d", rank, size,
                 pw_rank_names(row)->rank, id->rank, id->size);
}

/* Returns 0 where the launcher does not tell. */
static int find_local_size(enum pw_rank_row row, int size)
{
    const char *name = row == PW_RANK_OPEN_MPI ? "OMPI_COMM_WORLD_LOCAL_SIZE"
                       : row == PW_RANK_HYDRA  ? "MPI_LOCALNRANKS"
                       : row == PW_RANK_TORCHRUN || row == PW_RANK_PLAIN ? "LOCAL_WORLD_SIZE"
                                                                         : NULL;
    if (row == PW_RANK_SLURM) /* it tells the nodes of the step */
        return number_of("SLURM_STEP_NUM_NODES", 0) == 1 ? size : 0;
    const int found = name ? number_of(name, 0) : 0;
    return found <= size ? found : 0;
}

void pw_identity_find(struct pw_identity *id, const struct pw_identity_hints *hints)
{
    *id = (struct pw_identity){.size = 1, .local_size = 1, .is_one_host = 1};
    const enum pw_rank_row row = pw_rank_find(environ, hints->had);
    if (row != PW_RANK_NONE) {
        const struct pw_rank_names *names = pw_rank_names(row);
        id->rank = number_of(names->rank, 0);
        id->size = number_of(names->size, 1);
        id->local_rank = number_of(names->local, 0);
        const int local_size = find_local_size(row, id->size);
        id->local_size = local_size ? local_size : id->size;
        id->is_one_host = id->size == 1 || local_size == id->size;
        id->restart = row == PW_RANK_TORCHRUN ? number_of("TORCHELASTIC_RESTART_COUNT", 0) : 0;
        id->launched = 1;
    }
    find_contradiction(id, row);
    if (hints->hostname && hints->hostname[0])
        snprintf(id->hostname, sizeof(id->hostname), "%s", hints->hostname);
    else if (gethostname(id->hostname, sizeof(id->hostname) - 1))
        strcpy(id->hostname, "unknown");
    find_job(id, row, hints);
    find_clock_domain(id, hints->root ? hints->root : "");
}

int pw_identity_expand(const struct pw_identity *id, const char *pattern, char *out, int size)
{
    int used = 0;
    for (const char *p = pattern; *p; p++) {
        char number[16];
        const char *text = NULL;
        snprintf(number, sizeof(number), "%d", id->rank);
        if (*p == '%' && strchr("jrh", p[1]) && p[1]) {
            p++;
            text = *p == 'j' ? id->job : *p == 'r' ? number : id->hostname;
        }
        int n = text ? (int)strlen(text) : 1;
        if (used + n >= size)
            return -ENAMETOOLONG;
        memcpy(out + used, text ? text : p, (size_t)n);
        used += n;
    }
    out[used] = '\0';
    return 0;
}

/* Reserves a rank's place.
 *
 * A place is a symbolic link whose target has the job's size and the process. On every file system,
 * symlink() is atomic and fails when the link exists, and one call reads the target. */

/* Ranks of one job start at most so many seconds after a rank of the job has ended, or has started
 * on another host without writing since. There is no such limit while the process or its journal
 * shows that the other rank runs. */
enum { FRESH_S = 60 };

static const char prefix[] = ".rank-";

struct claim {
    int rank, size;
    uint64_t domain; /* hash of the host's clock domain: shows whether the pid is on this host */
    int pid;
    uint64_t start; /* start time of the process, clock ticks since boot */
    int64_t time_s; /* when the place was taken, by the file system's clock */
};

static int64_t changed_s(const char *dir, int rank, const char *suffix)
{
    char path[4300];
    struct stat st;
    snprintf(path, sizeof(path), "%s/rank-%05d%s", dir, rank, suffix);
    return stat(path, &st) ? -1 : (int64_t)st.st_mtim.tv_sec;
}

static int read_claim(const char *dir, const char *name, struct claim *out)
{
    char path[4600], text[128];
    struct stat st;
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    const ssize_t n = readlink(path, text, sizeof(text) - 1);
    if (n <= 0 || lstat(path, &st) || sscanf(name + strlen(prefix), "%d", &out->rank) != 1)
        return -EINVAL;
    text[n] = '\0';
    out->time_s = (int64_t)st.st_mtim.tv_sec;
    return sscanf(text, "%d %" SCNx64 " %d %" SCNu64, &out->size, &out->domain, &out->pid,
                  &out->start) == 4
               ? 0
               : -EINVAL;
}

/* Whether the process, which is on this host, runs, or may run, as when there is no descriptor to
 * look. */
static int is_alive(const struct claim *claim)
{
    struct pw_process_stat stat;
    const int err = pw_process_stat(claim->pid, &stat);
    if (err)
        return err != -ENOENT && err != -ESRCH;
    return stat.start == claim->start && !pw_process_is_over(&stat);
}

/* Whether a rank that starts at `now_s` may belong to the same job as the rank in `claim`. */
static int may_be_same_job(const char *dir, const struct claim *claim, uint64_t domain,
                           int64_t now_s)
{
    const int64_t ended_s = changed_s(dir, claim->rank, ".h5");
    if (ended_s >= 0)
        return now_s - ended_s <= FRESH_S;
    if (claim->domain == domain)
        return is_alive(claim);
    return now_s - claim->time_s <= FRESH_S ||
           now_s - changed_s(dir, claim->rank, ".journal") <= FRESH_S;
}

/* Compares all other places with our own. Returns 0, -EEXIST or -EPROTO as pw_claim_take(), or
 * -errno; *other is the other job size. */
static int compare_with_others(const char *dir, const struct claim *own, int *other)
{
    DIR *stream = opendir(dir);
    int err = stream ? 0 : -errno;
    for (struct dirent *entry = stream ? readdir(stream) : NULL; entry && !err;
         entry = readdir(stream)) {
        struct claim claim;
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
            read_claim(dir, entry->d_name, &claim) || claim.rank == own->rank)
            continue;
        if (!may_be_same_job(dir, &claim, own->domain, own->time_s))
            err = -EEXIST;
        else if (claim.size != own->size)
            err = -EPROTO;
        *other = claim.size;
    }
    if (stream)
        closedir(stream);
    return err;
}

/* Whether this rank is the first that reports different sizes: one message is enough. */
static int is_first_to_say(const char *dir)
{
    char path[4200];
    snprintf(path, sizeof(path), "%s/.sizes-differ", dir);
    return symlink("1", path) == 0;
}

int pw_claim_take(const char *dir, const struct pw_identity *id, int *other)
{
    char name[32], path[4200], text[128];
    struct pw_process_stat stat = {.start = 0};
    struct claim own;
    snprintf(path, sizeof(path), "%s/cluster.h5", dir);
    if (access(path, F_OK) == 0)
        return -EEXIST;
    pw_process_stat(getpid(), &stat);
    snprintf(name, sizeof(name), "%s%05d", prefix, id->rank);
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    snprintf(text, sizeof(text), "%d %" PRIx64 " %d %" PRIu64, id->size, id->clock_domain_hash,
             (int)getpid(), stat.start);
    if (symlink(text, path))
        return -errno;
    int err = read_claim(dir, name, &own);
    err = err ? err : compare_with_others(dir, &own, other);
    if (err)
        unlink(path);
    if (err == -EPROTO && !is_first_to_say(dir))
        *other = 0;
    return err;
}
