/* Forks, executes, relays signals; see launch.h. */
#include "rank/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int relayed[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGUSR1,
                              SIGUSR2, SIGCONT, SIGTSTP, SIGALRM, SIGWINCH};

/* What a signal handler can reach. */
static struct pw_lifeline *relay_line;
static volatile sig_atomic_t end_signal;
static volatile sig_atomic_t group_sender; /* who signals our whole process group, or 0 */
static _Atomic uint32_t *wake_word;

struct pw_lifeline *pw_lifeline_create(void)
{
    void *page = mmap(NULL, sizeof(struct pw_lifeline), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? NULL : page;
}

/* Whether the line "NAME:\thexadecimal mask" of /proc/PID/status has the signal. */
static int has_signal(const char *status, const char *name, int signal)
{
    const char *at = strstr(status, name);
    return at && (strtoull(at + strlen(name), NULL, 16) >> (signal - 1) & 1);
}

/* SIGUSR1 and SIGUSR2 are the program's if it catches or ignores them. They would only kill it
 * otherwise: then they are for profwrap, to begin and end recording. Called by a signal handler:
 * nothing here is unsafe there. */
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

static void relay(int signal, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    pid_t program = atomic_load(&relay_line->program_pid);
    /* A terminal sends to the whole foreground group: the program has it already. */
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

static void note_child(int signal)
{
    (void)signal;
    int saved = errno;
    if (wake_word) {
        atomic_fetch_add(wake_word, 1);
        syscall(SYS_futex, wake_word, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
    errno = saved;
}

/* What our parent ignores (nohup), the program is to ignore too. */
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

void pw_launch_relay_signals(struct pw_lifeline *lifeline)
{
    relay_line = lifeline;
    /* Open MPI and Slurm make each rank a process group, and signal that. */
    int launched = getenv("OMPI_COMM_WORLD_RANK") || getenv("SLURM_PROCID");
    group_sender = launched && getpgrp() == getpid() ? getppid() : 0;
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
    action.sa_sigaction = relay;
    sigemptyset(&action.sa_mask);
    handle_relayed(&action);
}

void pw_launch_outlive_signals(_Atomic uint32_t *wake)
{
    /* Not ignored: the program would inherit that. */
    struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    handle_relayed(&action);
    /* A limit on the size of files (ulimit -f) is met as an error of what was to be written. */
    handle_one(SIGXFSZ, &action);
    wake_word = wake;
    struct sigaction child = {.sa_handler = note_child, .sa_flags = SA_RESTART | SA_NOCLDSTOP};
    sigemptyset(&child.sa_mask);
    sigaction(SIGCHLD, &child, NULL);
}

/* Puts a library before those that the loader's variable names. 0, or -1 and errno. */
static int put_first(const char *variable, const char *library)
{
    const char *before = getenv(variable);
    char *all;
    if (asprintf(&all, "%s%s%s", library, before && *before ? ":" : "", before ? before : "") < 0) {
        errno = ENOMEM;
        return -1;
    }
    int err = setenv(variable, all, 1);
    free(all);
    return err;
}

/* LD_PRELOAD with our probe first, so that its wrappers see the application's calls as they are
 * made. */
static int prepare_environment(const struct pw_launch *launch)
{
    if (!launch->probe)
        return 0;
    if (put_first("LD_PRELOAD", launch->probe) ||
        (launch->audit && put_first("LD_AUDIT", launch->audit)))
        return -errno;
    /* Absolute: the program may change its own directory. */
    char *directory = launch->directory ? realpath(launch->directory, NULL) : NULL;
    int err = setenv(PW_SEGMENT_VARIABLE, launch->segment, 1) ||
              (launch->nvtx && setenv(PW_NVTX_VARIABLE, launch->probe, 1)) ||
              (launch->cuda && setenv(PW_CUDA_VARIABLE, launch->probe, 1)) ||
              (launch->nccl && setenv(PW_NCCL_VARIABLE, launch->probe, 1)) ||
              (directory && setenv("PROFWRAP_DIRECTORY", directory, 1));
    free(directory);
    return err ? -errno : 0;
}

__attribute__((noreturn)) static void become_program(const struct pw_launch *launch,
                                                     const char *path, int report)
{
    /* First of all, so that the guard knows whom it may find as its child. */
    atomic_store(&launch->lifeline->program_pid, getpid());
    setpgid(0, launch->group); /* fails when the guard is gone, and the group with it */
    /* exec resets caught signals to their defaults and keeps ignored ones ignored. */
    int err = prepare_environment(launch);
    umask(launch->umask);
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
    /* The program's own process says its pid, too: it may be there when its parent is killed. */
    atomic_store(&launch->lifeline->program_pid, 0);
    atomic_store(&launch->lifeline->has_ended, 0);
    sigset_t all, before;
    sigfillset(&all);
    /* No handler of ours may run in the program's process. */
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        const struct sigaction standard = {.sa_handler = SIG_DFL};
        handle_relayed(&standard);
        handle_one(SIGXFSZ, &standard);
        sigaction(SIGCHLD, &standard, NULL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        become_program(launch, path, report[1]);
    }
    int err = pid < 0 ? -errno : 0;
    if (pid > 0) /* it may have been killed before it could say so itself */
        atomic_store(&launch->lifeline->program_pid, pid);
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(report[1]);
    int failure = 0;
    while (!err && read(report[0], &failure, sizeof(failure)) < 0 && errno == EINTR)
        ;
    close(report[0]);
    if (failure) {
        atomic_store(&launch->lifeline->program_pid, 0);
        waitpid(pid, NULL, 0);
    }
    return err ? err : failure ? failure : pid;
}

struct pw_exit pw_exit_of(int status)
{
    return (struct pw_exit){.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                            .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

int pw_launch_has_ended(struct pw_lifeline *lifeline, struct pw_exit *out)
{
    int status;
    pid_t pid = atomic_load(&lifeline->program_pid);
    if (!atomic_load(&lifeline->has_ended)) {
        if (waitpid(pid, &status, WNOHANG) != pid)
            return 0;
        lifeline->wait_status = status;
        atomic_store(&lifeline->has_ended, 1);
    }
    *out = pw_exit_of(lifeline->wait_status);
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
