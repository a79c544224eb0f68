/* `profwrap recover DIR`: makes the rank files of collectors that were killed. */

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/confine.h"
#include "core/epochdir.h"
#include "core/h5/h5types.h"
#include "core/h5/h5watch.h"
#include "core/log.h"
#include "core/readlimit.h"
#include "core/remedy.h"
#include "core/safefile.h"
#include "rank/collect/recover.h"
#include "rank/run/identity.h"
#include "run/activities.h"

/* Returns the rank of "rank-NNNNN<suffix>"; -1 for any other name. */
static int rank_of(const char *name, const char *suffix)
{
    int rank, length = 0;
    if (sscanf(name, "rank-%d%n", &rank, &length) != 1 || rank < 0 ||
        strcmp(name + length, suffix) != 0)
        return -1;
    return rank;
}

static void say_failure(const char *dir, int rank, int err)
{
    const char *why = pw_readlimit_remedy(err);
    if (err == -EBADMSG)
        why = "the start of its journal is damaged, or another version of profwrap wrote it: "
              "recover it with that version";
    if (err == -ESRCH)
        why = "its journal is another rank's: give it its own name";
    if (err == -EINVAL)
        why = "its journal is no regular file: move it away";
    if (err == -EEXIST)
        why = "it also has an incomplete rank file; move one of them away";
    pw_error("rank %d in %s cannot be recovered: %s", rank, dir, why);
}

int pw_cli_recover_all(const char *dir, uint64_t clock_domain, struct pw_recovery *out)
{
    *out = (struct pw_recovery){0};
    DIR *stream = opendir(dir);
    if (!stream)
        return -errno;
    for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
        int rank = rank_of(entry->d_name, ".journal");
        if (rank < 0 || (clock_domain && !pw_recover_is_of(dir, rank, clock_domain)))
            continue;
        int err = pw_recover_rank(dir, rank, pw_cli_modules());
        if (err == -ENOENT)
            continue; /* its collector has just finished it */
        out->recovered += err == 0;
        out->running += err == -EBUSY;
        if (err && err != -EBUSY) {
            out->failed++;
            say_failure(dir, rank, err);
        }
    }
    closedir(stream);
    return 0;
}

/* Recovers the ranks of all epochs of the job in `dir`. If `dir` is the directory of an epoch,
 * recovers that epoch only. Returns 0, or -errno and in `epoch_dir` [size] the directory that
 * cannot be read. */
static int recover_epochs(const char *dir, uint64_t clock_domain, struct pw_recovery *out,
                          char *epoch_dir, size_t size)
{
    int err = 0;
    *out = (struct pw_recovery){0};
    for (int epoch = 0; epoch >= 0 && !err; epoch = pw_epochdir_next(dir, epoch)) {
        struct pw_recovery found;
        err = pw_epochdir_of(dir, epoch, epoch_dir, size);
        if (!err)
            err = pw_cli_recover_all(epoch_dir, clock_domain, &found);
        if (err == -ENOENT && epoch > 0) {
            err = 0; /* it has been removed meanwhile */
            continue;
        }
        if (!err) {
            out->recovered += found.recovered;
            out->running += found.running;
            out->failed += found.failed;
        }
    }
    return err;
}

/* The bytes of the largest epoch: the recovery of a rank reads the files of one epoch at a time. */
static uint64_t largest_epoch(const char *dir)
{
    uint64_t most = 0;
    for (int epoch = 0; epoch >= 0; epoch = pw_epochdir_next(dir, epoch)) {
        char epoch_dir[PATH_MAX];
        if (pw_epochdir_of(dir, epoch, epoch_dir, sizeof(epoch_dir)) == 0) {
            const uint64_t bytes = pw_readlimit_size(epoch_dir);
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

int pw_cli_recover(int argc, char **argv)
{
    struct pw_recovery found;
    char problem[4600], epoch_dir[PATH_MAX] = "";
    struct pw_identity id = {.clock_domain_hash = 0};
    int here = argc > 1 && strcmp(argv[1], "--here") == 0;
    if (argc != 2 + here || argv[1 + here][0] == '-') {
        int help = argc == 2 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0);
        if (help)
            printf(
                "Usage: profwrap recover [--here] DIR\n\nCompletes the rank files of a run whose "
                "collectors were killed, of all its epochs.\nRunning it twice does no harm.\n"
                "  --here   only files of ranks that ran on this machine\n");
        else
            pw_error("usage: profwrap recover [--here] DIR");
        return help ? 0 : 2;
    }
    umask(077); /* only the owner may read rank files */
    if (pw_directory_vet(argv[1 + here], problem, sizeof(problem))) {
        pw_error("%s", problem);
        return 1;
    }
    pw_h5_quiet();
    pw_h5_watch_install();
    if (here)
        pw_identity_find(&id, &(struct pw_identity_hints){.root = ""});
    pw_confine(largest_epoch(argv[1 + here]), PW_CONFINE_WRITES);
    int err =
        recover_epochs(argv[1 + here], id.clock_domain_hash, &found, epoch_dir, sizeof(epoch_dir));
    if (err) {
        pw_error("cannot read %s: %s", epoch_dir, pw_remedy(err));
        return 1;
    }
    printf("%d recovered, %d still running, %d failed\n", found.recovered, found.running,
           found.failed);
    return found.failed > 0;
}
