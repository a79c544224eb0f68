/* Waits for collectors; see guard.h. */
#include "rank/run/guard.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Collectors of a rank. Whatever kills so many will kill the next. */
enum { MOST_COLLECTORS = 100, LOOK_MS = 20 };

static pid_t start(const struct pw_guard *guard, int (*life)(void *, int), int attempt)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    /* Launchers that end a job kill process groups, and not always as late as they mean to:
     * mpirun's second between SIGTERM and SIGKILL is over as soon as any other rank ends. In a
     * group of its own the collector sees the program's end and closes the file. */
    setpgid(0, 0);
    _exit(life(guard->arg, attempt));
}

/* The program of a collector that was killed has become our child, whether or not its pid is known
 * yet. */
static bool has_program(const struct pw_lifeline *line)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
    siginfo_t info;
    while (atomic_load(&line->program_pid) == 0 &&
           waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
        nanosleep(&pause, NULL);
    return atomic_load(&line->program_pid) != 0;
}

static void note_end(struct pw_lifeline *line, int status)
{
    line->wait_status = status;
    atomic_store(&line->has_ended, 1);
}

/* waitpid() for any child; meanwhile stands in for a collector that is stopped. */
static pid_t wait_for_any(const struct pw_guard *guard, bool collector_stopped, int *status)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
    const int what = WUNTRACED | WCONTINUED;
    pid_t pid = waitpid(-1, status, collector_stopped ? what | WNOHANG : what);
    while (pid == 0) {
        guard->stand_in(guard->arg);
        nanosleep(&pause, NULL);
        pid = waitpid(-1, status, what | WNOHANG);
    }
    return pid;
}

/* After the death of collector number `started`: another one, or 0 when none can be of use. */
static pid_t replace(const struct pw_guard *guard, int started)
{
    if (started >= MOST_COLLECTORS)
        return 0;
    if (!has_program(guard->lifeline))
        return start(guard, guard->collect, started);
    return atomic_load(&guard->lifeline->is_recording) ? start(guard, guard->take_over, started)
                                                       : 0;
}

int pw_guard_run(const struct pw_guard *guard)
{
    struct pw_lifeline *line = guard->lifeline;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int started = 0;
    pid_t collector = start(guard, guard->collect, started++);
    bool stopped = false;
    while (collector > 0 || atomic_load(&line->program_pid)) {
        int status;
        pid_t pid = wait_for_any(guard, stopped, &status);
        if (pid < 0 && errno != EINTR)
            break;
        if (pid == collector && pid > 0)
            stopped = WIFSTOPPED(status);
        if (pid <= 0 || WIFSTOPPED(status) || WIFCONTINUED(status))
            continue;
        if (pid == collector && WIFEXITED(status))
            return WEXITSTATUS(status);
        if (pid == atomic_load(&line->program_pid))
            note_end(line, status);
        if (pid == collector)
            collector = replace(guard, started++);
        if (collector <= 0 && atomic_load(&line->has_ended))
            break;
    }
    if (!atomic_load(&line->has_ended))
        return -1;
    struct pw_exit end = pw_exit_of(line->wait_status);
    return pw_exit_status(&end);
}
