/* A command that reads files of unknown origin gives up rights. Each test checks one in a child. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/confine.h"
#include "core/readlimit.h"

enum { INPUT_BYTES = 1 << 20 };
/* Calls that headers may not name yet. */
enum { OPEN_TREE = 428, FSOPEN = 430, LANDLOCK_CREATE_RULESET = 444, FCHMODAT2 = 452 };

/* The exit status of `act` in a child that has confined itself: 0, or the line that did not hold.
 */
static int in_child(int (*act)(const char *path), const char *path, unsigned needs)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        pw_confine(INPUT_BYTES, needs);
        _exit(act(path));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void need_filter(void)
{
#ifdef __SANITIZE_ADDRESS__
    print_message("skipped: nothing is confined in this build\n");
    skip();
#endif
    int err = pw_confine_probe();
    if (err) {
        print_message("skipped: no filter here: %s\n", strerror(-err));
        skip();
    }
}

#define HOLD(condition)                \
    do {                               \
        if (!(condition))              \
            return __LINE__ % 250 + 1; \
    } while (0)

static int run_programs(const char *path)
{
    char *const words[] = {(char *)(uintptr_t)path, NULL};
    HOLD(execv("/bin/true", words) == -1 && errno == EPERM);
    HOLD(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    return 0;
}

static int make_sockets(const char *path)
{
    int two[2];
    (void)path;
    HOLD(socket(AF_INET, SOCK_STREAM, 0) == -1 && errno == EPERM);
    HOLD(socket(AF_UNIX, SOCK_DGRAM, 0) == -1 && errno == EPERM);
    HOLD(socketpair(AF_UNIX, SOCK_STREAM, 0, two) == -1 && errno == EPERM);
    return 0;
}

static int disturb_others(const char *path)
{
    (void)path;
    HOLD(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == -1 && errno == EPERM);
    HOLD(kill(getppid(), 0) == -1 && errno == EPERM);
    HOLD(fork() == -1);
    return 0;
}

/* Whatever a command needs. */
static int disturb_by_other_ways(const char *path)
{
    const struct rlimit none = {0, 0};
    struct rlimit own;
    cpu_set_t cpus;
    const pid_t other = getppid();
    int fd = open(path, O_RDONLY);
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    HOLD(fd >= 0);
    HOLD(prlimit(other, RLIMIT_CPU, &none, NULL) == -1 && errno == EPERM);
    HOLD(prlimit(0, RLIMIT_CPU, NULL, &own) == 0 && getrlimit(RLIMIT_CPU, &own) == 0);
    HOLD(setpriority(PRIO_PROCESS, (id_t)other, 19) == -1 && errno == EPERM);
    HOLD(setpriority(PRIO_PGRP, 0, 19) == -1 && errno == EPERM);
    HOLD(sched_setaffinity(other, sizeof(cpus), &cpus) == -1 && errno == EPERM);
    HOLD(fcntl(fd, F_SETOWN, other) == -1 && errno == EACCES);
    HOLD(ioctl(fd, FIOSETOWN, &other) == -1 && errno == EACCES);
    HOLD(ioctl(fd, TIOCLINUX, "") == -1 && errno == EACCES);
    HOLD(syscall(SYS_mq_open, "profwrap-unit", O_CREAT | O_RDWR, 0600, NULL) == -1 &&
         errno == EPERM);
    HOLD(sethostname("other", 5) == -1 && errno == EPERM);
    HOLD(syscall(FSOPEN, "tmpfs", 0) == -1 && errno == EPERM);
    HOLD(syscall(OPEN_TREE, AT_FDCWD, path, 1) == -1 && errno == EPERM);
    HOLD(syscall(SYS_kexec_file_load, -1, -1, 0, NULL, 0) == -1 && errno == EPERM);
    return 0;
}

/* The parent's memory, as any file. */
static int reach_memory(const char *path)
{
    char name[64];
    (void)path;
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof(name), "/proc/%d/%s", (int)getppid(), i ? "mem" : "exe");
        HOLD(open(name, O_RDONLY) == -1 && errno == EACCES);
    }
    HOLD(open(name, O_RDWR) == -1 && errno == EACCES);
    HOLD(open("/proc/self/mem", O_RDONLY) >= 0);
    return 0;
}

static int signal_own_children(const char *path)
{
    int status;
    pid_t pid = fork();
    (void)path;
    if (pid == 0)
        pause();
    HOLD(pid > 0 && kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
    HOLD(kill(getppid(), 0) == -1 && errno == EPERM);
    return 0;
}

static int write_files(const char *path)
{
    char other[UNIT_PATH];
    snprintf(other, sizeof(other), "%s.other", path);
    HOLD(open(path, O_RDONLY) >= 0);
    HOLD(open(path, O_WRONLY) == -1 && errno == EACCES);
    HOLD(open(path, O_RDWR | O_APPEND) == -1 && errno == EACCES);
    HOLD(open(path, O_RDONLY | O_TRUNC) == -1 && errno == EACCES);
    HOLD(open(other, O_RDONLY | O_CREAT, 0600) == -1 && errno == EACCES);
    HOLD(!fopen(other, "w") && errno == EACCES);
    HOLD(rename(path, other) == -1 && unlink(path) == -1 && truncate(path, 0) == -1);
    HOLD(mkdir(other, 0700) == -1 && symlink(path, other) == -1 && link(path, other) == -1);
    HOLD(chmod(path, 0644) == -1 && fchmod(open(path, O_RDONLY), 0644) == -1);
    HOLD(syscall(FCHMODAT2, AT_FDCWD, path, 0644, 0) == -1 && errno == EPERM);
    HOLD(futimesat(AT_FDCWD, path, NULL) == -1 && errno == EPERM);
    return 0;
}

static int still_write(const char *path)
{
    int fd = open(path, O_WRONLY | O_APPEND);
    HOLD(fd >= 0 && write(fd, "x", 1) == 1);
    return run_programs(path) + make_sockets(path);
}

static int still_fork(const char *path)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(run_programs(path));
    HOLD(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    return make_sockets(path);
}

static int still_talk(const char *path)
{
    HOLD(socket(AF_INET, SOCK_STREAM, 0) >= 0);
    return run_programs(path);
}

static int still_abort(const char *path)
{
    (void)path;
    signal(SIGABRT, SIG_DFL);
    raise(SIGABRT);
    return 1;
}

static void test_calls(void **state)
{
    char path[UNIT_PATH];
    need_filter();
    unit_write(unit_path(path, state, "file"), "kept", 4, 0600);
    assert_int_equal(in_child(run_programs, path, 0), 0);
    assert_int_equal(in_child(make_sockets, path, 0), 0);
    assert_int_equal(in_child(disturb_others, path, 0), 0);
    assert_int_equal(in_child(write_files, path, 0), 0);
    assert_int_equal(access(path, F_OK), 0);
}

static void test_needs(void **state)
{
    char path[UNIT_PATH];
    need_filter();
    unit_write(unit_path(path, state, "file"), "kept", 4, 0600);
    assert_int_equal(in_child(still_write, path, PW_CONFINE_WRITES), 0);
    assert_int_equal(in_child(still_fork, path, PW_CONFINE_PROCESSES), 0);
    assert_int_equal(in_child(still_talk, path, PW_CONFINE_MPI | PW_CONFINE_WRITES), 0);
}

static void test_other_ways(void **state)
{
    char path[UNIT_PATH];
    need_filter();
    unit_write(unit_path(path, state, "file"), "kept", 4, 0600);
    for (unsigned needs = 0; needs < 8; needs++)
        assert_int_equal(in_child(disturb_by_other_ways, path, needs), 0);
}

static void test_memory_of_others(void **state)
{
    (void)state;
    need_filter();
    int err = pw_confine_probe_domain();
    if (err) {
        print_message("skipped: no Landlock here: %s\n", strerror(-err));
        skip();
    }
    assert_int_equal(in_child(reach_memory, "", 0), 0);
    assert_int_equal(in_child(reach_memory, "", PW_CONFINE_WRITES), 0);
    assert_int_equal(in_child(reach_memory, "", PW_CONFINE_WRITES | PW_CONFINE_PROCESSES), 0);
    if (syscall(LANDLOCK_CREATE_RULESET, NULL, 0, 1) >= 6) /* its version */
        assert_int_equal(in_child(signal_own_children, "", PW_CONFINE_PROCESSES), 0);
}

static void test_aborting(void **state)
{
    (void)state;
    int status;
    need_filter();
    pid_t pid = fork();
    if (pid == 0) {
        pw_confine(0, 0);
        _exit(still_abort(NULL));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static int take_memory(const char *path)
{
    struct rlimit core;
    (void)path;
    HOLD(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0);
    HOLD(malloc((size_t)300 << 20));
    HOLD(!malloc((size_t)300 << 20));
    HOLD(strstr(pw_readlimit_error(-ENOMEM), "more than 449 MiB"));
    HOLD(strstr(pw_readlimit_error(-ENOMEM), "PROFWRAP_READ_MEMORY"));
    HOLD(strcmp(pw_readlimit_error(-ENOENT), strerror(ENOENT)) == 0);
    return 0;
}

static int take_more_memory(const char *path)
{
    (void)path;
    HOLD(malloc((size_t)600 << 20));
    return 0;
}

/* A limit that no machine can reach is not why memory is short. */
static int reach_no_limit(const char *path)
{
    (void)path;
    HOLD(strcmp(pw_readlimit_error(-ENOMEM), strerror(ENOMEM)) == 0);
    return 0;
}

static void test_memory(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    print_message("skipped: nothing is confined in this build\n");
    skip();
#endif
    assert_int_equal(in_child(take_memory, NULL, 0), 0);
    setenv("PROFWRAP_READ_MEMORY", "2G", 1);
    assert_int_equal(in_child(take_more_memory, NULL, 0), 0);
    setenv("PROFWRAP_READ_MEMORY", "1000000G", 1);
    assert_int_equal(in_child(reach_no_limit, NULL, 0), 0);
    unsetenv("PROFWRAP_READ_MEMORY");
}

static int take_what_the_user_allows(const char *path)
{
    (void)path;
    HOLD(!malloc((size_t)200 << 20));
    HOLD(strstr(pw_readlimit_error(-ENOMEM), "more than 100 MiB"));
    HOLD(strstr(pw_readlimit_error(-ENOMEM), "ulimit -d"));
    /* A still lower limit of the address space is what counts. */
    const struct rlimit space = {(rlim_t)90 << 20, (rlim_t)90 << 20};
    HOLD(setrlimit(RLIMIT_AS, &space) == 0);
    HOLD(strstr(pw_readlimit_error(-ENOMEM), "more than 90 MiB"));
    HOLD(strstr(pw_readlimit_error(-ENOMEM), "ulimit -v"));
    return 0;
}

/* A limit that was there before and is lower stays, whatever is wished. */
static void test_lower_limit(void **state)
{
    struct rlimit before, lower;
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    print_message("skipped: nothing is confined in this build\n");
    skip();
#endif
    assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
    lower = (struct rlimit){(rlim_t)100 << 20, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_DATA, &lower), 0);
    const int limited = in_child(take_what_the_user_allows, NULL, 0);
    setenv("PROFWRAP_READ_MEMORY", "2G", 1);
    const int wished = in_child(take_what_the_user_allows, NULL, 0);
    unsetenv("PROFWRAP_READ_MEMORY");
    assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
    assert_int_equal(limited, 0);
    assert_int_equal(wished, 0);
}

static void test_sizes(void **state)
{
    char path[UNIT_PATH];
    unit_write(unit_path(path, state, "four"), "four", 4, 0600);
    assert_int_equal(pw_readlimit_size(path), 4);
    unit_write(unit_path(path, state, "six"), "letter", 6, 0600);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(pw_readlimit_size(path), 10);
    assert_int_equal(pw_readlimit_size("/dev/zero"), 0);
    assert_int_equal(pw_readlimit_size("/nowhere/at/all"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_IN_DIR(test_calls),
        UNIT_IN_DIR(test_needs),
        UNIT_IN_DIR(test_other_ways),
        cmocka_unit_test(test_memory_of_others),
        cmocka_unit_test(test_aborting),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_lower_limit),
        UNIT_IN_DIR(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
