/* Passes signals on, starts the program and detects its end; see launch.h. */
#include "rank/run/launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/log.h"
#include "core/remedy.h"
#include "rank/ring/tick.h"

/* ---- signals of guard and collector ---- */

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
    return !pw_process_has_signal(status, "SigIgn:", signal) &&
           !pw_process_has_signal(status, "SigCgt:", signal);
}

/* Stops this process by `signal`, even if the signal has a handler, until it is continued. */
static void stop_self(int signal)
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
            stop_self(signal);
        errno = saved;
        return;
    }
    if (program == 0)
        keep_early(signal);
    /* Do not pass on a signal from the terminal (SI_KERNEL) or from `group_sender`: it went to the
     * whole group, so the program has received it. An alarm, which was set before profwrap was
     * executed, has that code, too. */
    if (program > 0 && !atomic_load(&relay_line->has_ended) &&
        (info->si_code != SI_KERNEL || signal == SIGALRM) && info->si_pid != program &&
        !(group_sender && info->si_pid == group_sender)) {
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
/* In the program's process, before exec: restores the signal settings with which the launcher
 * started the guard. Sends the process the signals that came before its start. */
static void restore_signals(struct pw_lifeline *lifeline)
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

/* ---- the program's start and end ---- */

struct pw_lifeline *pw_lifeline_create(void)
{
    void *page = mmap(NULL, sizeof(struct pw_lifeline), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? NULL : page;
}

/* Puts `library` before the other entries of the environment variable. Returns 0, or -1 with errno
 * set. */
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

/* With LD_AUDIT, glibc takes the static thread-local storage of all libraries from a small surplus,
 * which programs that use OpenMP may have used up: then the loader refuses the probe, and the
 * program fails. Makes the surplus larger by more than the probe needs. The last value of a tunable
 * is valid. Returns 0, or -1 with errno set. */
static int enlarge_static_tls(void)
{
    static const char name[] = "glibc.rtld.optional_static_tls=";
    enum { USUAL = 512, MORE = 4096 };
    const char *audit = getenv("LD_AUDIT"), *before = getenv("GLIBC_TUNABLES");
    long bytes = USUAL;
    char *all;
    if (!audit || !*audit)
        return 0;
    for (const char *at = before; at && (at = strstr(at, name)); at += sizeof(name) - 1)
        bytes = strtol(at + sizeof(name) - 1, NULL, 0);
    bytes = bytes > USUAL && bytes < INT_MAX / 2 ? bytes : USUAL;
    if (asprintf(&all, "%s%s%s%ld", before ? before : "", before && *before ? ":" : "", name,
                 bytes + MORE) < 0) {
        errno = ENOMEM;
        return -1;
    }
    int err = setenv("GLIBC_TUNABLES", all, 1);
    free(all);
    return err;
}

/* Replaces profwrap's name and arguments in OMPI_COMMAND and OMPI_ARGV by the program's. Open MPI's
 * launcher sets these variables to the command that it starts, and MPI_INFO_ENV shows them to the
 * program. Returns 0, or -1 with errno set. */
static int describe_start(char **argv)
{
    if (!getenv("OMPI_COMMAND") || !argv[0])
        return 0;
    const char *slash = strrchr(argv[0], '/');
    size_t size = 1, used = 0;
    for (size_t i = 1; argv[i]; i++)
        size += strlen(argv[i]) + 1;
    char *joined = malloc(size);
    if (!joined)
        return -1;
    joined[0] = '\0';
    for (size_t i = 1; argv[i]; i++)
        used += (size_t)snprintf(joined + used, size - used, "%s%s", i > 1 ? " " : "", argv[i]);
    int err = setenv("OMPI_COMMAND", slash ? slash + 1 : argv[0], 1) ||
              (argv[1] ? setenv("OMPI_ARGV", joined, 1) : unsetenv("OMPI_ARGV"));
    free(joined);
    return err ? -1 : 0;
}

/* Sets the environment of the program. The probe is first in LD_PRELOAD, so that its wrappers see
 * the application's calls before other preloaded libraries change them. Returns 0 or -errno. */
static int prepare_environment(const struct pw_launch *launch)
{
    if (describe_start(launch->argv))
        return -errno;
    if (!launch->probe)
        return 0;
    /* Before the probe: what comes after it are the functions that the probe calls. */
    if (put_first("LD_PRELOAD", launch->probe) ||
        (launch->mpi4 && put_first("LD_PRELOAD", launch->mpi4)) ||
        (launch->audit && put_first("LD_AUDIT", launch->audit)) || enlarge_static_tls() ||
        (launch->python && put_first("PYTHONPATH", launch->python)))
        return -errno;
    /* Absolute: the program may change its own directory. */
    char *directory = launch->directory ? realpath(launch->directory, NULL) : NULL;
    int err = setenv(PW_SEGMENT_VARIABLE, launch->segment, 1) ||
              (launch->nvtx && setenv(PW_NVTX_VARIABLE, launch->probe, 1)) ||
              (launch->cuda && setenv(PW_CUDA_VARIABLE, launch->probe, 1)) ||
              (launch->nccl && setenv(PW_NCCL_VARIABLE, launch->nccl, 1)) ||
              (directory && setenv("PROFWRAP_DIRECTORY", directory, 1));
    free(directory);
    return err ? -errno : 0;
}

/* Runs a script that has no #! by /bin/sh, as execvp() and shells do. */
static void execute_by_shell(char **argv, const char *path)
{
    size_t n = 0;
    while (argv[n])
        n++;
    char **shell = calloc(n + 2, sizeof(*shell));
    if (!shell)
        return;
    shell[0] = "/bin/sh";
    shell[1] = (char *)path;
    memcpy(shell + 2, argv + 1, n * sizeof(*shell));
    execv(shell[0], shell);
    free(shell);
}

int pw_launch_become(const struct pw_launch *launch, const char *path)
{
    restore_signals(launch->lifeline);
    int err = prepare_environment(launch);
    umask(launch->umask);
    if (err)
        return err;
    execv(path, launch->argv);
    err = -errno;
    if (err == -ENOEXEC)
        execute_by_shell(launch->argv, path);
    return err;
}

/* As fork(), but sets *pid to the child's pid before the child runs and before a signal can kill
 * this process. So the next collector always knows whether the program was started. Only for
 * processes of one thread. */
static pid_t fork_noted(_Atomic int32_t *pid)
{
#if defined(__x86_64__) || defined(__aarch64__) || defined(__powerpc64__)
    return (pid_t)syscall(SYS_clone, (long)(CLONE_PARENT_SETTID | SIGCHLD), 0L, pid, 0L, 0L);
#else
    pid_t child = fork();
    if (child >= 0)
        atomic_store(pid, child ? child : getpid());
    return child;
#endif
}

void pw_launch_leave_session(void)
{
    setsid();
}

int pw_launch_is_guard_gone(const struct pw_lifeline *lifeline)
{
    return lifeline->guard_pid && getpid() != lifeline->guard_pid &&
           getppid() != lifeline->guard_pid;
}

static int program_stderr = -1; /* in a collector, until the program has started */

void pw_launch_divert_messages(int messages)
{
    program_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (program_stderr >= 0)
        dup2(messages, STDERR_FILENO);
    close(messages);
}

void pw_launch_fill_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDOUT_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
            if (nothing != fd && nothing >= 0)
                close(nothing);
        }
}

void pw_launch_note_descriptors(struct pw_lifeline *lifeline)
{
    DIR *stream = opendir("/proc/self/fd");
    for (struct dirent *e = stream ? readdir(stream) : NULL; e; e = readdir(stream)) {
        const int fd = atoi(e->d_name);
        if (fd > STDERR_FILENO && fd != dirfd(stream) && lifeline->ninherited < PW_MOST_INHERITED)
            lifeline->inherited[lifeline->ninherited++] = fd;
    }
    if (stream)
        closedir(stream);
}

void pw_launch_close_sockets_first(const struct pw_lifeline *lifeline)
{
    struct stat st;
    int highest = STDERR_FILENO;
    for (int i = 0; i < lifeline->ninherited; i++)
        if (lifeline->inherited[i] > highest)
            highest = lifeline->inherited[i];
    for (int i = 0; i < lifeline->ninherited; i++)
        if (fstat(lifeline->inherited[i], &st) == 0 && S_ISSOCK(st.st_mode))
            fcntl(lifeline->inherited[i], F_DUPFD_CLOEXEC, highest + 1);
}

void pw_launch_leave_pipes(const struct pw_lifeline *lifeline)
{
    for (int i = 0; i < lifeline->ninherited; i++)
        close(lifeline->inherited[i]);
    if (program_stderr >= 0)
        close(program_stderr);
    program_stderr = -1;
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0)
        return;
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    close(nothing);
}

__attribute__((noreturn)) static void be_program(const struct pw_launch *launch, const char *path,
                                                 int report)
{
    if (program_stderr >= 0)
        dup2(program_stderr, STDERR_FILENO);
    int err = pw_launch_become(launch, path);
    if (write(report, &err, sizeof(err)) < 0)
        pw_error("cannot run %s: %s", path, pw_remedy(err));
    _exit(err == -ENOENT ? 127 : 126);
}

/* Waits until the program is executed. Returns 0, or -errno when it cannot be. Without a descriptor
 * for the report, it is taken for executed, and its process says itself when it cannot be. */
static int read_report(int report)
{
    int failure = 0;
    while (read(report, &failure, sizeof(failure)) < 0 && errno == EINTR)
        ;
    return failure;
}

pid_t pw_launch_start(const struct pw_launch *launch, const char *path)
{
    struct pw_lifeline *lifeline = launch->lifeline;
    int report[2] = {-1, -1};
    if (pw_launch_is_guard_gone(lifeline))
        return -ESRCH;
    if (pipe2(report, O_CLOEXEC) && errno != EMFILE && errno != ENFILE)
        return -errno;
    atomic_store(&lifeline->program_pid, 0);
    atomic_store(&lifeline->has_ended, PW_NOT_ENDED);
    atomic_store(&lifeline->ended_ns, 0);
    sigset_t all, before;
    sigfillset(&all);
    /* Signals are blocked so that no handler of profwrap runs in the program's process. */
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t pid = fork_noted(&lifeline->program_pid);
    if (pid == 0)
        be_program(launch, path, report[1]);
    int err = pid < 0 ? -errno : 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(report[1]);
    if (lifeline->guard_pid && getpid() != lifeline->guard_pid)
        pw_launch_leave_session();
    const int failure = err ? 0 : read_report(report[0]);
    close(report[0]);
    if (failure) {
        atomic_store(&lifeline->program_pid, 0);
        waitpid(pid, NULL, 0);
    }
    if (!err && !failure && program_stderr >= 0)
        pw_launch_leave_pipes(lifeline);
    atomic_store(&lifeline->is_at_work, 1);
    return err ? err : failure ? failure : pid;
}

struct pw_exit pw_exit_of(int status)
{
    return (struct pw_exit){.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                            .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

/* Saves the time of the end, unless the handler of SIGCHLD has: it does not wait for the drain. */
static void note_time(struct pw_lifeline *lifeline)
{
    int64_t unset = 0;
    atomic_compare_exchange_strong(&lifeline->ended_ns, &unset, pw_local_ns());
}

void pw_launch_note_end(struct pw_lifeline *lifeline, const siginfo_t *info)
{
    note_time(lifeline);
    enum { DUMPED = 0x80 }; /* WCOREDUMP() */
    int status = info->si_status;
    lifeline->wait_status = info->si_code == CLD_EXITED   ? (status & 0xff) << 8
                            : info->si_code == CLD_DUMPED ? status | DUMPED
                                                          : status;
    atomic_store(&lifeline->has_ended, PW_ENDED);
}

void pw_launch_follow_stop(struct pw_lifeline *lifeline, int signal)
{
    /* Not for SIGSTOP: its sender chose the process to stop, and will continue that process. */
    if (signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU && signal != SIGCONT)
        return;
    if (getpid() != lifeline->guard_pid) {
        if (!pw_launch_is_guard_gone(lifeline))
            kill(lifeline->guard_pid, signal);
    } else if (signal != SIGCONT) {
        stop_self(signal);
    }
}

/* Checks a child of this process. Returns 1 when it has ended, 0 when it runs, -1 when it is no
 * child of this process. */
static int look_at_child(struct pw_lifeline *lifeline, pid_t pid)
{
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT))
        return -1;
    if (info.si_pid == pid) {
        pw_launch_note_end(lifeline, &info);
        waitpid(pid, NULL, WNOHANG);
        return 1;
    }
    if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 && info.si_pid == pid)
        pw_launch_follow_stop(lifeline, info.si_code == CLD_CONTINUED ? SIGCONT : info.si_status);
    return 0;
}

/* Checks a program that is the guard's child or an orphan. While the guard lives, the guard saves
 * the exit status, because this process cannot read it. */
static int look_at_other(struct pw_lifeline *lifeline)
{
    int status = -1;
    if (!pw_process_has_ended(&lifeline->program, &status))
        return 0;
    if (status < 0 && !pw_launch_is_guard_gone(lifeline))
        return 0;
    int32_t unknown = PW_NOT_ENDED;
    note_time(lifeline);
    if (atomic_load(&lifeline->has_ended) != PW_NOT_ENDED)
        return 1;
    if (status >= 0)
        lifeline->wait_status = status;
    atomic_compare_exchange_strong(&lifeline->has_ended, &unknown,
                                   status >= 0 ? PW_ENDED : PW_ENDED_UNSEEN);
    return 1;
}

/* If the guard is gone, sends the program the parent-death signal (PR_SET_PDEATHSIG) with which the
 * guard was started. */
static void deliver_parent_death(struct pw_lifeline *lifeline, pid_t pid)
{
    if (lifeline->parent_death_signal && pw_launch_is_guard_gone(lifeline)) {
        kill(pid, lifeline->parent_death_signal);
        lifeline->parent_death_signal = 0;
    }
}

int pw_launch_has_ended(struct pw_lifeline *lifeline, struct pw_exit *out)
{
    pid_t pid = atomic_load(&lifeline->program_pid);
    if (atomic_load(&lifeline->has_ended) == PW_NOT_ENDED) {
        int ended = look_at_child(lifeline, pid);
        ended = ended < 0 ? look_at_other(lifeline) : ended;
        if (!ended) {
            deliver_parent_death(lifeline, pid);
            return 0;
        }
    }
    *out = atomic_load(&lifeline->has_ended) == PW_ENDED ? pw_exit_of(lifeline->wait_status)
                                                         : (struct pw_exit){.code = -1};
    return 1;
}

void pw_launch_sleep(_Atomic uint32_t *wake, uint32_t seen, int64_t ns)
{
    struct timespec limit = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    syscall(SYS_futex, wake, FUTEX_WAIT, seen, &limit, NULL, 0);
}

int pw_exit_status(const struct pw_exit *end)
{
    return end->signal ? 128 + end->signal : end->code < 0 ? 1 : end->code;
}
