/* What the guard and the collectors of a run decide alike; see run.h. */
#include "run/run.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/log.h"
#include "rank/collect/recover.h"
#include "run/activities.h"

int pw_run_is_spokesman(const struct pw_run *run)
{
    return run->id.local_rank == 0;
}

int pw_run_fail_alike(const struct pw_run *run, int status)
{
    enum { GO_FIRST_US = 500000 };
    if (!pw_run_is_spokesman(run))
        usleep(GO_FIRST_US);
    return status;
}

int pw_run_unprofiled(struct pw_run *run)
{
    enum { LOOK_NS = 50000000 };
    static _Atomic uint32_t wake;
    const struct pw_launch launch = {
        .argv = run->argv, .lifeline = run->lifeline, .umask = run->umask};
    struct pw_exit end;
    pw_agree_refuse(&run->clocks.agreement);
    pid_t pid = pw_launch_start(&launch, run->path);
    /* No more processes may be had: the program needs none but this. */
    if ((pid == -EAGAIN || pid == -ENOMEM) && getpid() == run->lifeline->guard_pid)
        pid = pw_launch_become(&launch, run->path);
    if (pid < 0) {
        pw_error("cannot run %s: %s", run->path, strerror(-pid));
        return 126;
    }
    while (!pw_launch_has_ended(run->lifeline, &end))
        pw_launch_sleep(&wake, 0, LOOK_NS);
    return pw_exit_status(&end);
}

int pw_run_goes_on_after(const struct pw_run *run, int err)
{
    static const int shortages[] = {ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, EAGAIN, EIO};
    for (size_t i = 0; i < sizeof(shortages) / sizeof(shortages[0]); i++)
        if (err == -shortages[i])
            return 1;
    return pw_option_flag(&run->options, PW_OPT_UNPROFILED_ON_ERROR);
}

int pw_run_recover(const struct pw_run *run)
{
    enum { LOOK_US = 20000, MOST_LOOKS = 500 };
    int err = pw_recover_rank(run->dir, run->id.rank, pw_cli_collectors());
    /* `profwrap recover` may be about it already. */
    for (int look = 0; err == -EBUSY && look < MOST_LOOKS; look++) {
        usleep(LOOK_US);
        err = pw_recover_rank(run->dir, run->id.rank, pw_cli_collectors());
    }
    if (err && err != -ENOENT)
        return err;
    shm_unlink(run->lifeline->segment);
    return 0;
}
