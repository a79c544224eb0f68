/* Finds the rank's identity; see identity.h. */
#include "rank/run/identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What each launcher calls things. A row counts when its rank and size variables are both numbers.
 */
static const struct {
    const char *rank, *size, *local, *job;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "PMIX_NAMESPACE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "PMI_JOBID"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", NULL},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RUN_ID"},
};

static int read_number(const char *variable, int fallback)
{
    const char *text = variable ? getenv(variable) : NULL;
    char *end;
    if (!text || !*text)
        return fallback;
    long value = strtol(text, &end, 10);
    return *end || value < 0 || value > 1 << 24 ? fallback : (int)value;
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
    uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */
    for (const char *p = id->clock_domain; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 0x100000001b3ull;
    id->clock_domain_hash = hash;
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

/* Letters that are safe in a file name. */
static void clean(char *text)
{
    for (; *text; text++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *text))
            *text = '_';
}

/* What the ranks that one torchrun started share where it was given no id: torchrun is their
 * parent; on several hosts, the meeting place. Empty without torchrun. */
static void name_torchrun(char *out, size_t size)
{
    int local = read_number("LOCAL_WORLD_SIZE", -1), all = read_number("WORLD_SIZE", -1);
    const char *address = getenv("MASTER_ADDR"), *port = getenv("MASTER_PORT");
    out[0] = '\0';
    if (local >= 1 && local == all)
        snprintf(out, size, "torchrun-%d", (int)getppid());
    else if (address && port)
        snprintf(out, size, "torchrun-%.32s-%.8s", address, port);
}

static void find_job(struct pw_identity *id, const char *variable)
{
    const char *slurm = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
    const char *name = variable ? getenv(variable) : NULL;
    char torchrun[64];
    if (variable && strcmp(variable, "TORCHELASTIC_RUN_ID") == 0 &&
        (!name || !*name || strcmp(name, "none") == 0)) {
        name_torchrun(torchrun, sizeof(torchrun));
        name = torchrun;
    }
    if (slurm && !(name && *name))
        snprintf(id->job, sizeof(id->job), "%.30s.%.16s", slurm, step ? step : "0");
    else if (slurm)
        snprintf(id->job, sizeof(id->job), "%.24s-%.32s", slurm, name);
    else if (name && *name)
        snprintf(id->job, sizeof(id->job), "%.60s", name);
    else
        snprintf(id->job, sizeof(id->job), "%lld-%d", (long long)time(NULL), (int)getpid());
    clean(id->job);
}

void pw_identity_find(struct pw_identity *id, const char *root, const char *hostname)
{
    *id = (struct pw_identity){.size = 1};
    const char *job = NULL;
    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]) && !id->launched; i++) {
        int rank = read_number(launchers[i].rank, -1), size = read_number(launchers[i].size, -1);
        if (rank < 0 || size < 1 || rank >= size)
            continue;
        id->rank = rank;
        id->size = size;
        id->local_rank = read_number(launchers[i].local, 0);
        id->launched = 1;
        job = launchers[i].job;
    }
    if (hostname && hostname[0])
        snprintf(id->hostname, sizeof(id->hostname), "%s", hostname);
    else if (gethostname(id->hostname, sizeof(id->hostname) - 1))
        strcpy(id->hostname, "unknown");
    find_job(id, job);
    find_clock_domain(id, root);
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
