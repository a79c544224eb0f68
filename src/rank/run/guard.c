/* Starts collectors and waits for them; see guard.h. */
#include "rank/run/guard.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The first killed collector is replaced at once. When collectors live less than SHORT_LIFE_MS, the
 * pause before the next start doubles each time. The number of starts is limited, because what
 * ended so many collectors would end the next one, too. */
enum {
    MOST_COLLECTORS = 100,
    LOOK_MS = 20, /* interval of polling while no collector runs */
    FIRST_PAUSE_MS = 20,
    LONGEST_PAUSE_MS = 1000,
    SHORT_LIFE_MS = 1000,
    LONG_LIFE_MS = 60000, /* a collector that lived so long ends a row of failures */
};

struct watch {
    const struct pw_guard *guard;
    pid_t collector; /* 0: none now */
    int started;     /* number of collectors that were started */
    int failures;    /* collectors in a row that crashed, or did no work before they were killed */
    bool is_stopped; /* the collector is stopped by a signal */
    int64_t started_ms; /* start time of the last collector */
    int64_t pause_ms;   /* length of the pause before it was started */
    int64_t restart_ms; /* when to start the next collector; 0: not planned */
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Plans when to start the next collector, or that none will be started because it would be of no
 * use. `signal` ended the last collector; 0: it could not be started. */
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

/* Starts a collector: one that starts the program, or one that takes over a running program. */
static void start(struct watch *w)
{
    const struct pw_guard *guard = w->guard;
    struct pw_lifeline *line = guard->lifeline;
    const bool has_program = atomic_load(&line->program_pid) != 0;
    atomic_store(&line->is_at_work, 0);
    /* The program is the guard's child now, so its pid cannot be reused before this call. */
    if (has_program && line->program.pid == 0)
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

/* Takes the event that the child `pid` was stopped or continued. Does not reap a child that has
 * ended meanwhile, because its end must be saved first. Returns the pid and sets *status, as
 * waitpid(), or returns -EINTR when there is no such event any more. */
static pid_t take_stop(pid_t pid, int *status)
{
    enum { STOPPED = 0x7f, CONTINUED = 0xffff }; /* WIFSTOPPED(), WIFCONTINUED() */
    siginfo_t info = {.si_pid = 0};
    /* For a child that has ended, waitid() fails with ECHILD. */
    if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WCONTINUED | WNOHANG) || info.si_pid == 0)
        return -EINTR;
    *status = info.si_code == CLD_CONTINUED ? CONTINUED : info.si_status << 8 | STOPPED;
    return pid;
}

/* Waits for an event of a child. Returns its pid and sets *status, as waitpid(); 0 when there is no
 * event and `flags` has WNOHANG. The program's end is saved in the lifeline before the zombie is
 * reaped, so that a collector can always learn of it. */
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

/* Waits for the next event of a child, as take_event(). Returns 0 when it is time to start the next
 * collector. */
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

/* The child `pid` was stopped or continued. */
static void note_stop(struct watch *w, pid_t pid, int status)
{
    struct pw_lifeline *line = w->guard->lifeline;
    if (pid == w->collector)
        w->is_stopped = WIFSTOPPED(status);
    else if (pid == atomic_load(&line->program_pid))
        pw_launch_follow_stop(line, WIFSTOPPED(status) ? WSTOPSIG(status) : SIGCONT);
}

/* Whether there is neither a collector nor a running program, and no collector is planned. */
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
