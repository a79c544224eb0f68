/* Sleeps until its parent, the guard, has ended; see standby.h. */
#include "cli/conclude/standby.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/conclude/conclude.h"
#include "core/log.h"
#include "rank/collect/sparecore.h"

enum { PARENT_END = SIGPWR };

/* Closes the launcher's descriptors: one that waits for the end of a pipe or socket must not wait
 * for this process. */
static void close_others(void)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) == 0)
        return;
#endif
    DIR *stream = opendir("/proc/self/fd");
    for (struct dirent *e = stream ? readdir(stream) : NULL; e; e = readdir(stream)) {
        const int fd = atoi(e->d_name);
        if (fd > STDERR_FILENO && fd != dirfd(stream))
            close(fd);
    }
    if (stream)
        closedir(stream);
}

/* Returns when the parent has ended. */
static void await_parent(pid_t parent)
{
    sigset_t end, before;
    sigemptyset(&end);
    sigaddset(&end, PARENT_END);
    /* Blocked from before the check on, so that the signal cannot come between check and wait. */
    sigprocmask(SIG_BLOCK, &end, &before);
    prctl(PR_SET_PDEATHSIG, PARENT_END);
    while (getppid() == parent)
        sigwaitinfo(&end, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

__attribute__((noreturn)) static void stand_by(const struct pw_lifeline *lifeline, pid_t parent,
                                               const char *dir, void (*conclude)(void *arg),
                                               void *arg)
{
    char path[4200];
    prctl(PR_SET_NAME, "profwrap-report");
    pw_launch_outlive_signals(NULL);
    pw_launch_leave_session();
    snprintf(path, sizeof(path), "%s/messages.txt", dir);
    pw_log_set_file(path);
    pw_launch_leave_pipes(lifeline);
    close_others();
    await_parent(parent);
    if (!atomic_load(&lifeline->has_concluded)) {
        if (atomic_load(&lifeline->is_profiled))
            pw_conclude_say_later(dir); /* the launcher may have killed the guard before it could */
        pw_log_leave_terminal();
        conclude(arg);
    }
    _exit(0);
}

pid_t pw_standby_start(const struct pw_lifeline *lifeline, pid_t launcher, const char *dir,
                       void (*conclude)(void *arg), void *arg)
{
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0 && launcher)
        pw_sparecore_leave(launcher, INT_MAX);
    if (pid == 0)
        stand_by(lifeline, parent, dir, conclude, arg);
    return pid < 0 ? -errno : pid;
}

void pw_standby_dismiss(pid_t pid)
{
    /* It may have ended, and its pid may belong to another process. */
    if (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0) {
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
}
