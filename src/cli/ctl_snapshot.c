/* `profwrap ctl snapshot DIR`: rank files of what a running job has recorded so far, made from its
 * journals, while it goes on. All end before the same step. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ctl.h"
#include "core/h5types.h"
#include "core/log.h"
#include "rank/collect/recover.h"
#include "run/activities.h"
#include "run/ask.h"

enum { MOST_SNAPSHOTS = 10000 };

/* 0, or the exit status after an error was said. */
static int make_directory(const char *dir, const char *given, char to[PATH_MAX])
{
    int err = 0;
    if (given[0]) {
        snprintf(to, PATH_MAX, "%s", given);
        err = mkdir(to, 0700) ? errno : 0;
    }
    for (int n = 1; !given[0] && (n == 1 || err == EEXIST) && n <= MOST_SNAPSHOTS; n++) {
        snprintf(to, PATH_MAX, "%.4000s/snapshot-%d", dir, n);
        err = mkdir(to, 0700) ? errno : 0;
    }
    if (err)
        pw_error("cannot make %s: %s", to, strerror(err));
    return err != 0;
}

/* The least step that a rank was in when its journal was up to date. */
static int64_t common_step(const struct pw_inquiry *inquiry)
{
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < inquiry->n; i++)
        least = inquiry->lives[i].step < least ? inquiry->lives[i].step : least;
    return least;
}

/* A rank that ended meanwhile has its file; the snapshot gets it as it is. */
static int take_finished(const char *dir, const char *to, int rank)
{
    char from[PATH_MAX + 32], name[PATH_MAX + 32];
    snprintf(from, sizeof(from), "%s/rank-%05d.h5", dir, rank);
    snprintf(name, sizeof(name), "%s/rank-%05d.h5", to, rank);
    return link(from, name) ? -errno : 0;
}

static int take_rank(const char *dir, const char *to, int rank, int64_t cut_step)
{
    char journal[PATH_MAX + 32];
    snprintf(journal, sizeof(journal), "%s/rank-%05d.journal", dir, rank);
    const struct pw_replay_job job = {.journal = journal, .dir = to, .cut_step = cut_step};
    int err = pw_replay_journal(&job, pw_cli_collectors());
    if (err == -ENOENT)
        err = take_finished(dir, to, rank);
    if (err)
        pw_error("no snapshot of rank %d: %s", rank, strerror(-err));
    return err;
}

static int take_all(const struct pw_inquiry *inquiry, const char *to)
{
    int64_t step = common_step(inquiry);
    size_t taken = 0;
    char until[64] = "";
    pw_h5_quiet();
    for (size_t i = 0; i < inquiry->n; i++)
        taken += take_rank(inquiry->dir, to, inquiry->lives[i].rank, step) == 0;
    if (step >= 0)
        snprintf(until, sizeof(until), ", up to step %" PRId64, step);
    if (taken)
        printf("%s: %zu of %d ranks%s; 'profwrap merge %s' and 'profwrap report %s' show it\n", to,
               taken, (int)inquiry->lives[0].world_size, until, to, to);
    else
        rmdir(to);
    return fflush(stdout) || taken < inquiry->n;
}

int pw_ctl_snapshot(const char *dir, const char *given)
{
    static struct pw_inquiry inquiry;
    const struct pw_request request = {.kind = PW_REQUEST_SNAPSHOT};
    char to[PATH_MAX];
    sigset_t ends;
    int status = pw_ctl_check_job(dir);
    if (status)
        return status;
    pw_ctl_block_signals(&ends);
    umask(077);
    pw_inquiry_init(&inquiry, dir);
    status = pw_ctl_ask(&inquiry, &request, &ends);
    status = status ? status : make_directory(dir, given, to);
    sigprocmask(SIG_UNBLOCK, &ends, NULL);
    status = status ? status : take_all(&inquiry, to);
    pw_inquiry_fini(&inquiry);
    return status;
}
