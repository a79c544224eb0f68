/* Reserves a rank's place; see claim.h.
 *
 * A place is a symbolic link whose target has the job's size and the process. On every file system,
 * symlink() is atomic and fails when the link exists, and one call reads the target. */
#include "rank/run/claim.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rank/run/process.h"

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
