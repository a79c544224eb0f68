/* Finds the rank's identity; see identity.h. */
#include "rank/run/identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rank/run/hydra.h"
#include "rank/run/process.h"
#include "rank/run/rankenv.h"

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
