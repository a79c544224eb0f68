/* Takes a rank's place; see claim.h.
 *
 * A place is a symbolic link, which is made atomically, fails when there is one already, and is
 * read in one call, on every file system. It says how large the job is and which process took it.
 */
#include "rank/run/claim.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rank/run/process.h"

/* For how long a rank of the same job may be later than one that has ended, or of which nothing
 * more is known than that it began. One whose process or journal shows that it runs is waited for
 * longer.
 */
enum { FRESH_S = 60 };

static const char prefix[] = ".rank-";

struct claim {
    int rank, size;
    uint64_t domain; /* of the host's clock: says whether the pid is of this host */
    int pid;
    uint64_t start; /* of the process, in ticks */
    int64_t time_s; /* by the file system's clock */
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

/* A process on this host. */
static int is_alive(const struct claim *claim)
{
    struct pw_process_stat stat;
    return pw_process_stat(claim->pid, &stat) == 0 && stat.start == claim->start &&
           !pw_process_is_over(&stat);
}

/* Whether a job that begins at `now_s` may be the job of this rank. */
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

/* All places but our own. */
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

/* Each rank that is refused would say so. */
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
