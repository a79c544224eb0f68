/* Starts collectors and waits for them; see guard.h. */
#include "rank/run/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
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
    /* Interval of polling until the program has started, and while no collector runs. */
    LOOK_MS = 20,
    LOOK_RARELY_MS = 100, /* and where there is no pidfd of the program */
    FIRST_PAUSE_MS = 20,
    LONGEST_PAUSE_MS = 1000,
    SHORT_LIFE_MS = 1000,
    LONG_LIFE_MS = 60000, /* a collector that lived so long ends a row of failures */
};

struct watch {
    const struct pw_guard *guard;
    pid_t collector;  /* 0: none now */
    int started;      /* number of collectors that were started */
    int failures;     /* collectors in a row that crashed, or did no work before they were killed */
    bool is_stopped;  /* the collector is stopped by a signal */
    bool has_said;    /* the first replacement was announced */
    bool is_watching; /* lifeline->program is open: this process sees the program's end itself */
    bool has_ended;   /* the program */
    sigset_t mask;    /* signals that are blocked while this process sleeps */
    int messages[2];  /* pipe for the messages of collectors; -1: none */
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

static void watch_program(struct watch *w)
{
    struct pw_lifeline *line = w->guard->lifeline;
    pw_process_open(atomic_load(&line->program_pid), &line->program);
    w->is_watching = true;
}

/* Opens the program when it has started, or when the collector was stopped before it could say so.
 * The pid may have been reused by then only if the program has ended, and that is noted in the
 * lifeline before its pid becomes free. */
static void look_for_program(struct watch *w)
{
    struct pw_lifeline *line = w->guard->lifeline;
    if (!w->is_watching && atomic_load(&line->program_pid) != 0 &&
        (atomic_load(&line->is_at_work) || w->is_stopped))
        watch_program(w);
}

/* Whether the guard can end although the collector has not. */
static bool may_leave(struct watch *w)
{
    struct pw_exit end;
    if (!w->is_watching || !pw_launch_has_ended(w->guard->lifeline, &end))
        return false;
    w->has_ended = true;
    return w->is_stopped || w->guard->is_urgent(w->guard->arg, &end);
}

static int longest_sleep_ms(const struct watch *w)
{
    if (w->restart_ms || w->is_stopped || !w->is_watching)
        return LOOK_MS;
    return w->has_ended || w->guard->lifeline->program.fd >= 0 ? -1 : LOOK_RARELY_MS;
}

/* In a collector: its messages go to the guard. When the guard has ended or does not read, they go
 * to a file (core/log.h), because the pipe is full or nobody has it open. */
static void send_messages(const struct watch *w)
{
    if (w->messages[0] >= 0)
        close(w->messages[0]);
    if (w->messages[1] >= 0)
        pw_launch_divert_messages(w->messages[1]);
}

/* Prints the messages that collectors have sent. */
static void print_messages(const struct watch *w)
{
    char text[4096];
    ssize_t n;
    while (w->messages[0] >= 0 && (n = read(w->messages[0], text, sizeof(text))) > 0)
        for (ssize_t done = 0, more = 1; done < n && more > 0; done += more)
            more = write(STDERR_FILENO, text + done, (size_t)(n - done));
}

/* Sleeps until a signal comes, SIGCHLD for instance, a collector has a message, or the program
 * ends. */
static void sleep_until_event(const struct watch *w)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
    const int ms = longest_sleep_ms(w);
    const struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    struct pollfd fds[] = {{.fd = -1, .events = POLLIN}, {.fd = w->messages[0], .events = POLLIN}};
    if (w->is_watching && !w->has_ended)
        fds[0].fd = w->guard->lifeline->program.fd;
    if (ppoll(fds, 2, ms < 0 ? NULL : &limit, &w->mask) <= 0)
        return;
    struct pw_exit end;
    print_messages(w);
    /* When the end is seen but cannot be read yet, the collector is just about to read it. */
    if (fds[0].revents && !pw_launch_has_ended(w->guard->lifeline, &end))
        nanosleep(&pause, NULL);
}

/* Until a collector that takes over has left the session: when this process ends, the launcher may
 * kill its process group. */
static void await_new_session(pid_t collector)
{
    enum { LOOKS = 2000, LOOK_NS = 1000000 };
    const struct timespec look = {.tv_nsec = LOOK_NS};
    for (int i = 0; i < LOOKS && getsid(collector) == getsid(0); i++)
        nanosleep(&look, NULL);
}

/* Starts a collector: one that starts the program, or one that takes over a running program. */
static void start(struct watch *w)
{
    const struct pw_guard *guard = w->guard;
    struct pw_lifeline *line = guard->lifeline;
    const bool has_program = atomic_load(&line->program_pid) != 0;
    atomic_store(&line->is_at_work, 0);
    /* The program is the guard's child now, so its pid cannot be reused before this call. */
    if (has_program && !w->is_watching)
        watch_program(w);
    w->started_ms = now_ms();
    w->restart_ms = 0;
    w->is_stopped = false;
    if (has_program && !w->has_said)
        guard->say_replaced(guard->arg);
    w->has_said |= has_program;
    pid_t pid = fork();
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &w->mask, NULL);
        send_messages(w);
        if (has_program) {
            pw_launch_leave_session();
            pw_launch_leave_pipes(w->guard->lifeline);
        }
        atomic_store(&line->collector_pid, getpid());
        _exit((has_program ? guard->take_over : guard->collect)(guard->arg, w->started));
    }
    w->started++;
    w->collector = pid > 0 ? pid : 0;
    atomic_store(&line->collector_pid, w->collector);
    if (pid < 0)
        plan_next(w, 0);
    else if (has_program)
        await_new_session(pid);
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

/* Takes the next event of a child. Returns its pid and sets *status, as waitpid(); 0 when there is
 * none. The program's end is saved in the lifeline before the zombie is
 * reaped, so that a collector can always learn of it. */
static pid_t take_event(struct pw_lifeline *line, int *status)
{
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WCONTINUED | WNOWAIT | WNOHANG))
        return -errno;
    if (info.si_pid == 0)
        return 0;
    if (info.si_code == CLD_STOPPED || info.si_code == CLD_CONTINUED)
        return take_stop(info.si_pid, status);
    if (info.si_pid == atomic_load(&line->program_pid))
        pw_launch_note_end(line, &info);
    return waitpid(info.si_pid, status, WNOHANG);
}

/* What next_event() returns besides pids. */
enum { START_COLLECTOR = 0, LEAVE = -1 };

/* Waits for the next event of a child, as take_event(). Returns START_COLLECTOR when it is time for
 * that, and LEAVE when the guard can end or there is nothing to wait for. */
static pid_t next_event(struct watch *w, int *status)
{
    for (;;) {
        const bool waits = w->restart_ms != 0;
        pid_t pid = take_event(w->guard->lifeline, status);
        look_for_program(w);
        if (pid > 0)
            return pid;
        if (pid < 0 && pid != -EINTR && !(waits && pid == -ECHILD))
            return LEAVE;
        if (may_leave(w))
            return LEAVE;
        if (waits && now_ms() >= w->restart_ms)
            return START_COLLECTOR;
        if (waits || w->is_stopped)
            w->guard->stand_in(w->guard->arg);
        if (pid == 0)
            sleep_until_event(w);
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

/* Before this process leaves: a collector that was killed shortly before the program's end is
 * replaced, too, because nobody else knows how the program ended. */
static void replace_killed(struct watch *w)
{
    enum { LOOKS = 2000, LOOK_NS = 1000000 };
    const struct timespec look = {.tv_nsec = LOOK_NS};
    int status = 0;
    pid_t ended = 0;
    for (int i = 0; i < LOOKS && w->collector && !ended && pw_process_is_dying(w->collector); i++) {
        ended = waitpid(w->collector, &status, WNOHANG);
        if (!ended)
            nanosleep(&look, NULL);
    }
    if (ended > 0 && WIFSIGNALED(status))
        plan_next(w, WTERMSIG(status));
    else if (ended > 0)
        w->collector = 0;
    if (w->restart_ms)
        start(w);
}

/* Runs collectors. Returns the exit status of the one that ended last, or -1. */
static int follow_collectors(struct watch *w)
{
    while (!is_done(w)) {
        int status = 0;
        const pid_t pid = next_event(w, &status);
        if (pid == LEAVE) {
            replace_killed(w);
            return -1;
        }
        if (pid == START_COLLECTOR)
            start(w);
        else if (WIFSTOPPED(status) || WIFCONTINUED(status))
            note_stop(w, pid, status);
        else if (pid == w->collector && WIFEXITED(status)) {
            w->collector = 0;
            return WEXITSTATUS(status);
        } else if (pid == w->collector)
            plan_next(w, WTERMSIG(status));
    }
    return -1;
}

/* An empty handler: a blocked signal without a handler would not end ppoll(). */
static void note_child(int signal)
{
    (void)signal;
}

static void close_messages(const struct watch *w)
{
    for (int i = 0; i < 2; i++)
        if (w->messages[i] >= 0)
            close(w->messages[i]);
}

/* Also when the collector has ended before this process has seen the program's end. */
static bool has_urgent_end(const struct pw_guard *guard)
{
    struct pw_exit end;
    return pw_launch_has_ended(guard->lifeline, &end) && guard->is_urgent(guard->arg, &end);
}

int pw_guard_run(const struct pw_guard *guard, bool *must_end)
{
    struct pw_lifeline *line = guard->lifeline;
    struct watch w = {.guard = guard, .messages = {-1, -1}};
    struct sigaction action = {.sa_handler = note_child}, before;
    sigset_t children;
    sigemptyset(&action.sa_mask);
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    /* SIGCHLD comes in ppoll() only, so that none is missed before it. */
    sigprocmask(SIG_BLOCK, &children, &w.mask);
    sigaction(SIGCHLD, &action, &before);
    if (pipe2(w.messages, O_CLOEXEC | O_NONBLOCK))
        w.messages[0] = w.messages[1] = -1;
    start(&w);
    int status = follow_collectors(&w);
    print_messages(&w);
    close_messages(&w);
    sigaction(SIGCHLD, &before, NULL);
    sigprocmask(SIG_SETMASK, &w.mask, NULL);
    *must_end = w.collector != 0 || has_urgent_end(guard);
    if (status < 0 && atomic_load(&line->has_ended)) {
        struct pw_exit end = pw_exit_of(line->wait_status);
        status = pw_exit_status(&end);
    }
    return status;
}
