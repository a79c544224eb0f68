/*
 * One host of the virtual cluster: the process that makes a host's namespaces and then is its init
 * (`vcluster_host boot`), and the way into them for every later command (`vcluster_host enter`).
 * The vcluster script calls both and has put the caller in the host's control groups before.
 *
 * Nothing here has a name in the file system: the network, mount, time and other namespaces live
 * exactly as long as the processes in them, so killing the init removes the whole host.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

enum {
    EXIT_SKIP = 77, /* this kernel or container does not allow what a host needs */
    NS_PER_S = 1000000000,
    SHARED_MAX = 16,
};

/* Every host gets its own, empty; a shared directory inside one is bound back to its path. */
static const char *const private_dirs[] = {"/dev/shm", "/run", "/tmp"};
enum { NPRIVATE = sizeof private_dirs / sizeof private_dirs[0] };

struct host {
    const char *name;
    const char *hosts_file;
    int64_t offset_ns;
    unsigned life_s;
    bool login; /* keeps the machine's pids and clock: from there the other hosts can be entered */
    int nshared;
    const char *shared[SHARED_MAX];
    int shared_fd[SHARED_MAX];
};

/* Says which step failed and answers the exit status: a skip where the machine forbids it. */
static int complain(const char *step, const char *detail)
{
    int err = errno;
    fprintf(stderr, "vcluster_host: %s %s: %s\n", step, detail, strerror(err));
    return err == EPERM || err == EACCES || err == ENOSYS ? EXIT_SKIP : EXIT_FAILURE;
}

/* The kernel takes the offsets of a new time namespace until the first process is in it, and takes
 * both clocks in one write only. CLOCK_MONOTONIC_RAW follows the monotonic line. */
static int write_clock_offset(int64_t offset_ns)
{
    int64_t sec = offset_ns / NS_PER_S;
    int64_t nsec = offset_ns % NS_PER_S;
    if (nsec < 0) {
        nsec += NS_PER_S;
        sec--;
    }

    char text[128];
    int len = snprintf(text, sizeof text,
                       "monotonic %" PRId64 " %" PRId64 "\nboottime %" PRId64 " %" PRId64 "\n", sec,
                       nsec, sec, nsec);
    int fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return complain("open", "/proc/self/timens_offsets");
    ssize_t done = write(fd, text, (size_t)len);
    int status = done == len ? 0 : complain("set clock offset", text);
    close(fd);
    return status;
}

static int unshare_namespaces(const struct host *h)
{
    int flags = CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS;
    if (!h->login)
        flags |= CLONE_NEWPID | CLONE_NEWTIME;
    if (unshare(flags)) {
        int status = complain("unshare", "namespaces");
        return errno == EINVAL ? EXIT_SKIP : status; /* EINVAL: the kernel lacks one of them */
    }
    return h->login ? 0 : write_clock_offset(h->offset_ns);
}

static bool is_inside(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && path[len] == '/';
}

static bool is_hidden(const char *path)
{
    for (int i = 0; i < NPRIVATE; i++)
        if (is_inside(path, private_dirs[i]))
            return true;
    return false;
}

/* Like mkdir -p. An existing directory is no error; the mount that follows finds out the rest. */
static void make_dirs(const char *path)
{
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    for (char *p = part + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        mkdir(part, 0755);
        *p = '/';
    }
    mkdir(part, 0755);
}

static int mount_at(const char *source, const char *target, const char *type, unsigned long flags,
                    const char *data)
{
    return mount(source, target, type, flags, data) ? complain("mount", target) : 0;
}

/* Binds what fd refers to, which a later mount may have covered, to target. */
static int bind_fd(int fd, const char *target)
{
    char source[64];
    snprintf(source, sizeof source, "/proc/self/fd/%d", fd);
    return mount_at(source, target, NULL, MS_BIND | MS_REC, NULL);
}

static int open_shared(struct host *h)
{
    for (int i = 0; i < h->nshared; i++) {
        h->shared_fd[i] = open(h->shared[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (h->shared_fd[i] < 0)
            return complain("open", h->shared[i]);
    }
    return 0;
}

static int mount_private_dirs(const struct host *h)
{
    int status = 0;
    for (int i = 0; i < NPRIVATE && !status; i++)
        status = mount_at("tmpfs", private_dirs[i], "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
    for (int i = 0; i < h->nshared && !status; i++) {
        if (is_hidden(h->shared[i])) {
            make_dirs(h->shared[i]);
            status = bind_fd(h->shared_fd[i], h->shared[i]);
        }
        close(h->shared_fd[i]);
    }
    return status;
}

/* A sysfs of this network namespace, so that /sys/class/net lists the host's own devices; the
 * control groups stay where they were. */
static int mount_sysfs(void)
{
    int cgroups = open("/sys/fs/cgroup", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (cgroups < 0)
        return complain("open", "/sys/fs/cgroup");
    int status = mount_at("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
    if (!status)
        status = bind_fd(cgroups, "/sys/fs/cgroup");
    close(cgroups);
    return status;
}

static int furnish(struct host *h)
{
    if (sethostname(h->name, strlen(h->name)))
        return complain("set hostname", h->name);

    int status = mount_at(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    if (!status && !h->login)
        status = mount_at("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
    if (!status)
        status = mount_at(h->hosts_file, "/etc/hosts", NULL, MS_BIND, NULL);
    if (!status)
        status = open_shared(h);
    if (!status)
        status = mount_private_dirs(h);
    return status ? status : mount_sysfs();
}

static void detach(void)
{
    setsid();
    if (chdir("/"))
        _exit(EXIT_FAILURE);
    int null = open("/dev/null", O_RDWR);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    syscall(SYS_close_range, 3u, ~0u, 0u);
}

/* The host's pid 1: reports its status, then only waits. It never returns. */
static _Noreturn void run_init(struct host *h, int report_fd)
{
    char status = (char)furnish(h);
    if (write(report_fd, &status, 1) != 1 || status)
        _exit(EXIT_FAILURE);
    detach();
    signal(SIGCHLD, SIG_IGN); /* the kernel then reaps the orphans of this host */

    unsigned left_s = h->life_s;
    while (left_s)
        left_s = sleep(left_s);
    _exit(0);
}

/* Prints the pid of the host's init once the host is furnished. */
static int boot(struct host *h)
{
    syscall(SYS_close_range, 3u, ~0u, 0u);
    int status = unshare_namespaces(h);
    int report[2];
    if (!status && pipe2(report, O_CLOEXEC))
        status = complain("make", "pipe");
    if (status)
        return status;

    pid_t pid = fork();
    if (pid < 0)
        return complain("fork", h->name);
    if (pid == 0)
        run_init(h, report[1]);

    close(report[1]);
    char byte = EXIT_FAILURE;
    if (read(report[0], &byte, 1) == 1 && byte == 0)
        printf("%d\n", (int)pid);
    return byte;
}

static int boot_option(struct host *h, const char *name, char *value)
{
    if (strcmp(name, "--name") == 0)
        h->name = value;
    else if (strcmp(name, "--hosts") == 0)
        h->hosts_file = value;
    else if (strcmp(name, "--offset-ns") == 0)
        h->offset_ns = strtoll(value, NULL, 10);
    else if (strcmp(name, "--life-s") == 0)
        h->life_s = (unsigned)strtoul(value, NULL, 10);
    else if (strcmp(name, "--login") == 0)
        h->login = strcmp(value, "yes") == 0;
    else if (strcmp(name, "--share") == 0 && h->nshared < SHARED_MAX)
        h->shared[h->nshared++] = value;
    else
        return -EINVAL;
    return 0;
}

static int boot_main(char **argv)
{
    struct host h = {.life_s = 3600};
    for (; argv[0] && argv[1]; argv += 2)
        if (boot_option(&h, argv[0], argv[1]))
            break;
    if (argv[0] || !h.name || !h.hosts_file) {
        fprintf(stderr, "vcluster_host: bad boot option %s\n", argv[0] ? argv[0] : "(missing)");
        return EXIT_FAILURE;
    }
    return boot(&h);
}

static int join_namespaces(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0u);
    if (fd < 0)
        return complain("find", "the host's init");
    int flags =
        CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWTIME;
    int status = setns(fd, flags) ? complain("enter", "the host's namespaces") : 0;
    close(fd);
    return status;
}

/* Waits for the command and passes on the signals sent to this process. What the terminal sends
 * (SI_KERNEL) is left alone: the command is in the same process group and has it already. */
static int tend(pid_t child, const sigset_t *watched)
{
    for (;;) {
        siginfo_t info;
        int sig = sigwaitinfo(watched, &info);
        if (sig > 0 && sig != SIGCHLD && info.si_code != SI_KERNEL)
            kill(child, sig);

        int status;
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
}

static _Noreturn void exec_command(char **argv, const sigset_t *mask)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* the command must not outlive a killed `vcluster exec` */
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    complain("run", argv[0]);
    _exit(127);
}

static int enter_main(pid_t pid, char **argv)
{
    char cwd[PATH_MAX];
    if (!getcwd(cwd, sizeof cwd))
        strcpy(cwd, "/");
    int status = join_namespaces(pid);
    if (status)
        return status;
    if (chdir(cwd) && chdir("/")) /* joining a mount namespace resets the directory */
        return complain("change to", "/");

    sigset_t watched, before;
    sigemptyset(&watched);
    for (const int *s = (const int[]){SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, 0}; *s; s++)
        sigaddset(&watched, *s);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_BLOCK, &watched, &before);

    pid_t child = fork(); /* a pid namespace holds only those born after joining it */
    if (child < 0)
        return complain("fork", argv[0]);
    if (child == 0)
        exec_command(argv, &before);
    return tend(child, &watched);
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "boot") == 0)
        return boot_main(argv + 2);
    if (argc > 3 && strcmp(argv[1], "enter") == 0)
        return enter_main((pid_t)strtol(argv[2], NULL, 10), argv + 3);
    fprintf(stderr, "usage: vcluster_host boot --name H --hosts FILE [--offset-ns NS] [--life-s S] "
                    "[--login yes] [--share DIR]...\n"
                    "       vcluster_host enter PID COMMAND...\n");
    return 2;
}
