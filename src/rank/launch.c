/* Forks, executes, relays signals; see launch.h. */
#include "rank/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rank/segment.h"

static const int relayed[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGUSR1,
                              SIGUSR2, SIGCONT, SIGTSTP, SIGALRM, SIGWINCH};

/* What a signal handler can reach. */
static volatile sig_atomic_t program_pid;
static volatile sig_atomic_t end_signal;
static volatile sig_atomic_t group_sender; /* who signals our whole process group, or 0 */
static _Atomic uint32_t *wake_word;

static void wake_collector(void)
{
    if (!wake_word)
        return;
    atomic_fetch_add(wake_word, 1);
    syscall(SYS_futex, wake_word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void relay(int signal, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    /* A terminal sends to the whole foreground group: the program has it already. */
    if (program_pid > 0 && info->si_code != SI_KERNEL && info->si_pid != program_pid &&
        !(group_sender && info->si_pid == group_sender))
        kill(program_pid, signal);
    if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT)
        end_signal = signal;
    wake_collector();
    errno = saved;
}

static void note_child(int signal)
{
    (void)signal;
    int saved = errno;
    wake_collector();
    errno = saved;
}

void pw_launch_catch_signals(_Atomic uint32_t *wake)
{
    wake_word = wake;
    /* Open MPI makes each rank a process group, and signals that. */
    group_sender = getenv("OMPI_COMM_WORLD_RANK") && getpgrp() == getpid() ? getppid() : 0;
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
    action.sa_sigaction = relay;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(relayed) / sizeof(relayed[0]); i++) {
        struct sigaction old;
        /* What our parent ignores (nohup), the program is to ignore too. */
        if (sigaction(relayed[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(relayed[i], &action, NULL);
    }
    struct sigaction child = {.sa_handler = note_child, .sa_flags = SA_RESTART | SA_NOCLDSTOP};
    sigemptyset(&child.sa_mask);
    sigaction(SIGCHLD, &child, NULL);
}

/* LD_PRELOAD with our probe first, so that its wrappers see the application's calls as they are
 * made. */
static int prepare_environment(const struct pw_launch *launch)
{
    if (!launch->probe)
        return 0;
    const char *before = getenv("LD_PRELOAD");
    char *preload;
    if (asprintf(&preload, "%s%s%s", launch->probe, before && *before ? ":" : "",
                 before ? before : "") < 0)
        return -ENOMEM;
    int err = setenv("LD_PRELOAD", preload, 1) || setenv(PW_SEGMENT_VARIABLE, launch->segment, 1);
    free(preload);
    return err ? -errno : 0;
}

__attribute__((noreturn)) static void become_program(const struct pw_launch *launch,
                                                     const char *path, int report)
{
    /* exec resets caught signals to their defaults and keeps ignored ones ignored. */
    int err = prepare_environment(launch);
    if (!err) {
        execv(path, launch->argv);
        err = -errno;
        if (errno == ENOEXEC) {
            /* A script without #!: what execvp and every shell do. */
            char **argv = launch->argv;
            size_t n = 0;
            while (argv[n])
                n++;
            char **shell = calloc(n + 2, sizeof(*shell));
            if (shell) {
                shell[0] = "/bin/sh";
                shell[1] = (char *)path;
                memcpy(shell + 2, argv + 1, n * sizeof(*shell));
                execv(shell[0], shell);
            }
        }
    }
    if (write(report, &err, sizeof(err)) < 0)
        _exit(126);
    _exit(127);
}

pid_t pw_launch_start(const struct pw_launch *launch, const char *path)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC))
        return -errno;
    sigset_t all, before;
    sigfillset(&all);
    /* No signal may arrive between the fork and our knowing the pid to relay it to. */
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        struct sigaction standard = {.sa_handler = SIG_DFL};
        for (size_t i = 0; i < sizeof(relayed) / sizeof(relayed[0]); i++) {
            struct sigaction old;
            if (sigaction(relayed[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
                sigaction(relayed[i], &standard, NULL);
        }
        sigaction(SIGCHLD, &standard, NULL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        become_program(launch, path, report[1]);
    }
    program_pid = pid > 0 ? pid : 0;
    int err = pid < 0 ? -errno : 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(report[1]);
    int failure = 0;
    while (!err && read(report[0], &failure, sizeof(failure)) < 0 && errno == EINTR)
        ;
    close(report[0]);
    if (failure) {
        program_pid = 0;
        waitpid(pid, NULL, 0);
    }
    return err ? err : failure ? failure : pid;
}

int pw_launch_has_ended(pid_t pid, struct pw_exit *out)
{
    int status;
    if (waitpid(pid, &status, WNOHANG) != pid)
        return 0;
    program_pid = 0;
    out->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return 1;
}

int pw_launch_end_requested(void)
{
    return end_signal;
}

void pw_launch_sleep(_Atomic uint32_t *wake, uint32_t seen, int64_t ns)
{
    struct timespec limit = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    syscall(SYS_futex, wake, FUTEX_WAIT, seen, &limit, NULL, 0);
}

int pw_exit_status(const struct pw_exit *end)
{
    return end->signal ? 128 + end->signal : end->code;
}
