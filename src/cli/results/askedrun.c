/* Keeps a run in memory; see askedrun.h. */
#include "cli/results/askedrun.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/epochdir.h"

static bool is_current(const struct pw_askedrun *run)
{
    struct stat now;
    return run->figures && stat(run->file, &now) == 0 && now.st_ino == run->status.st_ino &&
           now.st_dev == run->status.st_dev && now.st_size == run->status.st_size &&
           now.st_mtim.tv_sec == run->status.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == run->status.st_mtim.tv_nsec;
}

void pw_askedrun_close(struct pw_askedrun *run)
{
    if (run->figures)
        pw_figures_destroy(run->figures);
    if (run->cluster)
        pw_cluster_destroy(run->cluster);
    *run = (struct pw_askedrun){.given = run->given};
}

int pw_askedrun_open(struct pw_askedrun *run, char problem[PW_CLI_PROBLEM])
{
    if (is_current(run))
        return 0;
    pw_askedrun_close(run);
    char dir[PATH_MAX];
    int err = pw_epochdir_choose(run->given, "", dir, sizeof(dir), problem);
    if (!err)
        err = pw_cli_open_cluster(dir, run->file, &run->cluster, problem);
    if (err) {
        run->cluster = NULL;
        return err;
    }
    if (stat(run->file, &run->status) || pw_figures_create(run->cluster, &run->figures)) {
        run->figures = NULL;
        pw_askedrun_close(run);
        snprintf(problem, PW_CLI_PROBLEM,
                 "cannot read '%s': it changes, or memory is short; try again", run->given);
        return -EAGAIN;
    }
    return 0;
}

struct pw_asked pw_askedrun_asked(const struct pw_askedrun *run)
{
    return (struct pw_asked){run->figures, run->file};
}
