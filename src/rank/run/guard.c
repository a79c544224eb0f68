/* Waits for collectors; see guard.h. */
#include "rank/run/guard.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A collector that is killed is replaced at once; those that live shortly, after a growing pause.
 * Whatever ends so many will end the next. */
enum {
    MOST_COLLECTORS = 100,
    LOOK_MS = 20,
    FIRST_PAUSE_MS = 20,
    LONGEST_PAUSE_MS = 1000,
    SHORT_LIFE_MS = 1000,
    LONG_LIFE_MS = 60000, /* what ends such a one is not what ended those before */
};

struct watch {
    const struct pw_guard *guard;
    pid_t collector; /* 0: none now */
    int started;
    int failures;       /* collectors in a row that did no work, or crashed */
    bool is_stopped;    /* the collector is */
    int64_t started_ms; /* when it began */
    int64_t pause_ms;   /* before the last one was started */
    int64_t restart_ms; /* when to start another; 0: not */
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* There is no collector, because a signal ended it or none could be started (0): another later, or
 * none when none can be of use. */
static void plan_next(struct watch *w, int signal)
{
    struct pw_lifeline *line = w->guard->lifeline;
    const bool has_program = atomic_load(&line->program_pid) != 0;
    const bool was_killed = signal == SIGKILL && atomic_load(&line->is_at_work);
    const int64_t now = now_ms(), life_ms = now - w->started_ms;
    const int64_t longer_ms = w->pause_ms ? 2 * w->pause_ms : FIRST_PAUSE_MS;
    w->collector = 0;
    atomic_store(&line->collector_pid, 0);
    w->failures = was_killed || life_ms >= LONG_LIFE_MS ? 0 : w->failures + 1;
    if (has_program && !atomic_load(&line->is_recording))
        return;
    if (w->failures >= PW_MOST_FAILURES || w->started >= MOST_COLLECTORS) {
        if (has_program)
            w->guard->give_up(w->guard->arg);
        return;
    }
    if (w->started == 1 || life_ms >= SHORT_LIFE_MS)
        w->pause_ms = 0;
    else
        w->pause_ms = longer_ms < LONGEST_PAUSE_MS ? longer_ms : LONGEST_PAUSE_MS;
    w->restart_ms = now + w->pause_ms;
}

/* A collector for a program that does not run yet, or for one that does. */
static void start(struct watch *w)
{
    const struct pw_guard *guard = w->guard;
    struct pw_lifeline *line = guard->lifeline;
    const bool has_program = atomic_load(&line->program_pid) != 0;
    atomic_store(&line->is_at_work, 0);
    if (has_program && line->program.pid == 0) /* our child, whom nobody else can wait for */
        pw_process_open(atomic_load(&line->program_pid), &line->program);
    w->started_ms = now_ms();
    w->restart_ms = 0;
    w->is_stopped = false;
    pid_t pid = fork();
    if (pid == 0) {
        if (has_program)
            pw_launch_leave_session();
        atomic_store(&line->collector_pid, getpid());
        _exit((has_program ? guard->take_over : guard->collect)(guard->arg, w->started));
    }
    w->started++;
    w->collector = pid > 0 ? pid : 0;
    atomic_store(&line->collector_pid, w->collector);
    if (pid < 0)
        plan_next(w, 0);
}

/* Takes a stop or a continuation, and only that: a child that has ended meanwhile stays to be
 * noted. Its pid and status as of waitpid(), or -EINTR when there is none any more. */
static pid_t take_stop(pid_t pid, int *status)
{
    enum { STOPPED = 0x7f, CONTINUED = 0xffff }; /* WIFSTOPPED(), WIFCONTINUED() */
    siginfo_t info = {.si_pid = 0};
    /* Of one that has ended it says ECHILD. */
    if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WCONTINUED | WNOHANG) || info.si_pid == 0)
        return -EINTR;
    *status = info.si_code == CLD_CONTINUED ? CONTINUED : info.si_status << 8 | STOPPED;
    return pid;
}

/* What a child did last, as of waitpid(); 0 when it did nothing (WNOHANG). The program's end is
 * noted before its zombie goes: a collector never waits for what nobody saw. */
static pid_t take_event(struct pw_lifeline *line, int flags, int *status)
{
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WCONTINUED | WNOWAIT | flags))
        return -errno;
    if (info.si_pid == 0)
        return 0;
    if (info.si_code == CLD_STOPPED || info.si_code == CLD_CONTINUED)
        return take_stop(info.si_pid, status);
    if (info.si_pid == atomic_load(&line->program_pid))
        pw_launch_note_end(line, &info);
    return waitpid(info.si_pid, status, WNOHANG);
}

/* The next event, or 0 when another collector is due. */
static pid_t next_event(struct watch *w, int *status)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
    for (;;) {
        const bool waits = w->restart_ms != 0;
        pid_t pid = take_event(w->guard->lifeline, waits || w->is_stopped ? WNOHANG : 0, status);
        if (pid > 0 || (pid < 0 && !(waits && pid == -ECHILD)))
            return pid;
        if (waits && now_ms() >= w->restart_ms)
            return 0;
        if (waits || w->is_stopped) {
            w->guard->stand_in(w->guard->arg);
            nanosleep(&pause, NULL);
        }
    }
}

static void note_stop(struct watch *w, pid_t pid, int status)
{
    struct pw_lifeline *line = w->guard->lifeline;
    if (pid == w->collector)
        w->is_stopped = WIFSTOPPED(status);
    else if (pid == atomic_load(&line->program_pid))
        pw_launch_follow_stop(line, WIFSTOPPED(status) ? WSTOPSIG(status) : SIGCONT);
}

/* Whether there is nothing to wait for any more. */
static bool is_done(const struct watch *w)
{
    const struct pw_lifeline *line = w->guard->lifeline;
    return w->collector == 0 && w->restart_ms == 0 &&
           (atomic_load(&line->program_pid) == 0 || atomic_load(&line->has_ended));
}

int pw_guard_run(const struct pw_guard *guard)
{
    struct pw_lifeline *line = guard->lifeline;
    struct watch w = {.guard = guard};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    start(&w);
    while (!is_done(&w)) {
        int status = 0;
        pid_t pid = next_event(&w, &status);
        if (pid == -EINTR)
            continue;
        if (pid < 0)
            break;
        if (pid == 0)
            start(&w);
        else if (WIFSTOPPED(status) || WIFCONTINUED(status))
            note_stop(&w, pid, status);
        else if (pid == w.collector && WIFEXITED(status))
            return WEXITSTATUS(status);
        else if (pid == w.collector)
            plan_next(&w, WTERMSIG(status));
    }
    if (!atomic_load(&line->has_ended))
        return -1;
    struct pw_exit end = pw_exit_of(line->wait_status);
    return pw_exit_status(&end);
}
