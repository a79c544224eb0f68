/* Signals of guard and collector; see launch.h. */
#include "rank/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rank/ring/tick.h"

static const int relayed[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGUSR1,
                              SIGUSR2, SIGCONT, SIGTSTP, SIGALRM, SIGWINCH};

/* Signals that profwrap ignores by an empty handler. File size and pipe errors are seen as the
 * error of write(); the limit of CPU time is meant for the program. */
static const int survived[] = {SIGXFSZ, SIGPIPE, SIGXCPU};

/* What a signal handler can reach. */
static struct pw_lifeline *relay_line;
static volatile sig_atomic_t end_signal;
static volatile sig_atomic_t group_sender; /* the process that signals our whole process group; 0:
                                            * none */
static _Atomic uint32_t *wake_word;

/* Whether the line "NAME:\thexadecimal mask" of /proc/PID/status has the signal. */
static int has_signal(const char *status, const char *name, int signal)
{
    const char *at = strstr(status, name);
    return at && (strtoull(at + strlen(name), NULL, 16) >> (signal - 1) & 1);
}

/* Whether SIGUSR1 or SIGUSR2 is for profwrap, to begin or end recording: true when the program
 * neither catches nor ignores the signal, which would only kill it. Called by a signal handler:
 * async-signal-safe. */
static int is_for_profwrap(int signal, pid_t program)
{
    char path[32] = "/proc/", status[4096], digits[12];
    int n = 0, at = 6;
    if (signal != SIGUSR1 && signal != SIGUSR2)
        return 0;
    for (pid_t pid = program; pid > 0; pid /= 10)
        digits[n++] = (char)('0' + pid % 10);
    while (n > 0)
        path[at++] = digits[--n];
    memcpy(path + at, "/status", 8);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, status, sizeof(status) - 1);
    if (fd >= 0)
        close(fd);
    if (size <= 0)
        return 0;
    status[size] = '\0';
    return !has_signal(status, "SigIgn:", signal) && !has_signal(status, "SigCgt:", signal);
}

void pw_launch_stop_self(int signal)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    struct sigaction handled;
    sigset_t only, before;
    sigemptyset(&only);
    sigaddset(&only, signal);
    sigaction(signal, &standard, &handled);
    kill(getpid(), signal);
    sigprocmask(SIG_UNBLOCK, &only, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    sigaction(signal, &handled, NULL);
}

/* Whether the collector sent the signal. When a signal has stopped the program, the collector sends
 * that signal to the guard, too. */
static int is_from_collector(const siginfo_t *info)
{
    pid_t collector = atomic_load(&relay_line->collector_pid);
    return info->si_code <= 0 && collector > 0 && info->si_pid == collector;
}

/* Sends the program the signals that came before its start. Each is sent once, by the process that
 * removes it from `early`: the program's process before exec, or the guard in keep_early(). */
static void send_early(struct pw_lifeline *lifeline, pid_t program)
{
    const uint64_t early = atomic_exchange(&lifeline->early, 0);
    for (size_t i = 0; i < sizeof(relayed) / sizeof(relayed[0]); i++)
        if (early >> relayed[i] & 1)
            kill(program, relayed[i]);
}

/* Keeps a signal that came before the program's start. This includes a signal to the whole process
 * group, which the program has not received. */
static void keep_early(int signal)
{
    if (signal != SIGTERM && signal != SIGINT && signal != SIGHUP && signal != SIGQUIT &&
        signal != SIGALRM)
        return;
    atomic_fetch_or(&relay_line->early, UINT64_C(1) << signal);
    const pid_t program = atomic_load(&relay_line->program_pid);
    if (program > 0)
        send_early(relay_line, program);
}

static void relay(int signal, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    pid_t program = atomic_load(&relay_line->program_pid);
    if (is_from_collector(info)) {
        if (signal == SIGTSTP)
            pw_launch_stop_self(signal);
        errno = saved;
        return;
    }
    if (program == 0)
        keep_early(signal);
    /* Do not pass on a signal from the terminal (SI_KERNEL) or from `group_sender`: it went to the
     * whole group, so the program has received it. */
    if (program > 0 && !atomic_load(&relay_line->has_ended) && info->si_code != SI_KERNEL &&
        info->si_pid != program && !(group_sender && info->si_pid == group_sender)) {
        if (is_for_profwrap(signal, program))
            atomic_store(&relay_line->signalled, signal);
        else
            kill(program, signal);
    }
    if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT)
        end_signal = signal;
    errno = saved;
}

static void do_nothing(int signal)
{
    (void)signal;
}

/* A child has ended or stopped. Signals may be merged: then the end's time is saved later, by
 * pw_launch_note_end(). */
static void note_child(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    int saved = errno;
    int64_t unset = 0;
    const int has_ended =
        info->si_code == CLD_EXITED || info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED;
    if (has_ended && relay_line && info->si_pid == atomic_load(&relay_line->program_pid))
        atomic_compare_exchange_strong(&relay_line->ended_ns, &unset, pw_local_ns());
    if (wake_word) {
        atomic_fetch_add(wake_word, 1);
        syscall(SYS_futex, wake_word, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
    errno = saved;
}

/* Installs the handler unless the signal is ignored (nohup): then the program must ignore it
 * too. */
static void handle_one(int signal, const struct sigaction *action)
{
    struct sigaction old;
    if (sigaction(signal, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(signal, action, NULL);
}

static void handle_relayed(const struct sigaction *action)
{
    for (size_t i = 0; i < sizeof(relayed) / sizeof(relayed[0]); i++)
        handle_one(relayed[i], action);
}

static void handle_survived(const struct sigaction *action)
{
    for (size_t i = 0; i < sizeof(survived) / sizeof(survived[0]); i++)
        handle_one(survived[i], action);
}

/* An empty handler, not SIG_IGN, which the program would inherit. */
static void survive_limits(void)
{
    struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    handle_survived(&action);
}

static void note_inherited(struct pw_lifeline *lifeline)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    struct sigaction children = {.sa_handler = SIG_DFL};
    lifeline->guard_pid = getpid();
    prctl(PR_GET_PDEATHSIG, &lifeline->parent_death_signal);
    sigaction(SIGCHLD, NULL, &children);
    lifeline->ignores_children = children.sa_handler == SIG_IGN;
    if (lifeline->ignores_children) /* otherwise exit statuses could not be read */
        sigaction(SIGCHLD, &standard, NULL);
    /* Unblocks the signals for profwrap and saves the mask for the program. */
    sigset_t heard;
    sigemptyset(&heard);
    sigaddset(&heard, SIGCHLD);
    for (size_t i = 0; i < sizeof(relayed) / sizeof(relayed[0]); i++)
        sigaddset(&heard, relayed[i]);
    sigprocmask(SIG_UNBLOCK, &heard, &lifeline->blocked);
}

void pw_launch_relay_signals(struct pw_lifeline *lifeline)
{
    relay_line = lifeline;
    note_inherited(lifeline);
    /* Open MPI, Slurm and torchrun give each rank a process group and send signals to the group. */
    int launched =
        getenv("OMPI_COMM_WORLD_RANK") || getenv("SLURM_PROCID") || getenv("TORCHELASTIC_RUN_ID");
    group_sender = launched && getpgrp() == getpid() ? getppid() : 0;
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
    action.sa_sigaction = relay;
    sigemptyset(&action.sa_mask);
    handle_relayed(&action);
    survive_limits();
}

void pw_launch_outlive_signals(_Atomic uint32_t *wake)
{
    /* An empty handler, not SIG_IGN, which the program would inherit. */
    struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    handle_relayed(&action);
    survive_limits();
    /* The collector's process group is always in the background, and a terminal with `stty tostop`
     * stops background processes that write to it. */
    sigset_t writing;
    sigemptyset(&writing);
    sigaddset(&writing, SIGTTOU);
    sigprocmask(SIG_BLOCK, &writing, NULL);
    end_signal = 0;
    wake_word = wake;
    struct sigaction child = {.sa_flags = SA_SIGINFO | SA_RESTART};
    child.sa_sigaction = note_child;
    sigemptyset(&child.sa_mask);
    sigaction(SIGCHLD, &child, NULL);
}

/* Before the program is started: gives each signal that the guard handles the action that it had
 * before, sends the program those that came early, and restores the signal mask. */
void pw_launch_restore_signals(struct pw_lifeline *lifeline)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL}, ignored = {.sa_handler = SIG_IGN};
    handle_relayed(&standard);
    handle_survived(&standard);
    sigaction(SIGCHLD, lifeline->ignores_children ? &ignored : &standard, NULL);
    send_early(lifeline, getpid());
    sigprocmask(SIG_SETMASK, &lifeline->blocked, NULL);
}

void pw_launch_die_of(int signal)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    prctl(PR_SET_DUMPABLE, 0); /* a limit on core files has no effect when core_pattern is a pipe */
    sigaction(signal, &standard, NULL);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    kill(getpid(), signal);
}

int pw_launch_end_requested(void)
{
    return end_signal;
}
