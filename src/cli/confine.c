/* Limits and a filter of system calls; see confine.h. */
#include "cli/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#if PROFWRAP_HAVE_SECCOMP
#include <seccomp.h>
#endif

#include "core/log.h"
#include "core/readlimit.h"

/* Numbers of system calls that older headers lack; the same on all architectures. */
enum {
    CALL_OPEN_TREE = 428,
    CALL_MOVE_MOUNT,
    CALL_FSOPEN,
    CALL_FSCONFIG,
    CALL_FSMOUNT,
    CALL_FSPICK,
    CALL_MOUNT_SETATTR = 442,
    CALL_LANDLOCK_CREATE_RULESET = 444,
    CALL_LANDLOCK_RESTRICT_SELF = 446,
    CALL_FCHMODAT2 = 452,
};

#if PROFWRAP_HAVE_SECCOMP
/* A system call that is refused unless the command needs `unless`. With an `argument`, it is
 * refused only when (argument & mask) equals `bits`; with mask 0, when the argument differs from
 * `bits`. */
struct rule {
    int call, error;
    unsigned unless;
    int argument; /* number of the argument; -1: refused with any arguments */
    uint64_t mask, bits;
};

#define ALWAYS(name)                       \
    {                                      \
        SCMP_SYS(name), EPERM, 0, -1, 0, 0 \
    }
#define UNLESS(needs, name)                    \
    {                                          \
        SCMP_SYS(name), EPERM, needs, -1, 0, 0 \
    }
#define BITS(needs, name, n, mask, bits)             \
    {                                                \
        SCMP_SYS(name), EACCES, needs, n, mask, bits \
    }

#define NEWER(needs, number)           \
    {                                  \
        number, EPERM, needs, -1, 0, 0 \
    }
/* Refused for all processes except the caller (0). */
#define OTHERS(name)                      \
    {                                     \
        SCMP_SYS(name), EPERM, 0, 0, 0, 0 \
    }

enum { W = PW_CONFINE_WRITES, P = PW_CONFINE_PROCESSES, M = PW_CONFINE_MPI };

static const struct rule rules[] = {
    ALWAYS(execve),
    ALWAYS(execveat),
    ALWAYS(ptrace),
    ALWAYS(mount),
    ALWAYS(umount2),
    ALWAYS(pivot_root),
    ALWAYS(chroot),
    ALWAYS(setns),
    ALWAYS(unshare),
    ALWAYS(init_module),
    ALWAYS(finit_module),
    ALWAYS(delete_module),
    ALWAYS(kexec_load),
    ALWAYS(bpf),
    ALWAYS(perf_event_open),
    ALWAYS(userfaultfd),
    ALWAYS(keyctl),
    ALWAYS(add_key),
    ALWAYS(request_key),
    ALWAYS(open_by_handle_at),
    ALWAYS(io_uring_setup), /* can open files and sockets without the filter */
    ALWAYS(process_madvise),
    ALWAYS(pidfd_getfd),
    NEWER(0, CALL_OPEN_TREE),
    NEWER(0, CALL_MOVE_MOUNT),
    NEWER(0, CALL_FSOPEN),
    NEWER(0, CALL_FSCONFIG),
    NEWER(0, CALL_FSMOUNT),
    NEWER(0, CALL_FSPICK),
    NEWER(0, CALL_MOUNT_SETATTR),
    ALWAYS(kexec_file_load),
    ALWAYS(reboot),
    ALWAYS(swapon),
    ALWAYS(swapoff),
    ALWAYS(acct),
    ALWAYS(sethostname),
    ALWAYS(setdomainname),
    ALWAYS(settimeofday),
    ALWAYS(clock_settime),
    ALWAYS(mq_open),
    ALWAYS(mq_unlink),
    ALWAYS(setpriority), /* can change all of the user's processes */
    ALWAYS(ioprio_set),
    OTHERS(prlimit64),
    OTHERS(migrate_pages),
    OTHERS(move_pages),
    OTHERS(sched_setaffinity),
    OTHERS(sched_setscheduler),
    OTHERS(sched_setparam),
    OTHERS(sched_setattr),
    BITS(0, fcntl, 1, UINT32_MAX, F_SETOWN), /* lets the kernel send signals */
    BITS(0, fcntl, 1, UINT32_MAX, F_SETOWN_EX),
    BITS(0, ioctl, 1, UINT32_MAX, FIOSETOWN),
    BITS(0, ioctl, 1, UINT32_MAX, SIOCSPGRP),
    BITS(0, ioctl, 1, UINT32_MAX, TIOCSTI), /* writes input to the terminal, like the next one */
    BITS(0, ioctl, 1, UINT32_MAX, TIOCLINUX),
    BITS(0, ioctl, 1, UINT32_MAX, TIOCSIG),
    UNLESS(M, process_vm_readv),
    UNLESS(M, process_vm_writev),
    UNLESS(M, socket),
    UNLESS(M, socketpair),
    UNLESS(M, connect),
    UNLESS(M, bind),
    UNLESS(M, listen),
    UNLESS(P | M, kill),
    UNLESS(P | M, tkill),
    UNLESS(P | M, rt_sigqueueinfo),
    UNLESS(P | M, rt_tgsigqueueinfo),
    UNLESS(P | M, pidfd_send_signal),
    UNLESS(P | M, fork),
    UNLESS(P | M, vfork),
    BITS(P | M, clone, 0, CLONE_THREAD, 0),
    BITS(W, open, 1, O_WRONLY, O_WRONLY),
    BITS(W, open, 1, O_RDWR, O_RDWR),
    BITS(W, open, 1, O_CREAT, O_CREAT),
    BITS(W, open, 1, O_TRUNC, O_TRUNC),
    BITS(W, openat, 2, O_WRONLY, O_WRONLY),
    BITS(W, openat, 2, O_RDWR, O_RDWR),
    BITS(W, openat, 2, O_CREAT, O_CREAT),
    BITS(W, openat, 2, O_TRUNC, O_TRUNC),
    UNLESS(W, creat),
    UNLESS(W, truncate),
    UNLESS(W, rename),
    UNLESS(W, renameat),
    UNLESS(W, renameat2),
    UNLESS(W, unlink),
    UNLESS(W, unlinkat),
    UNLESS(W, rmdir),
    UNLESS(W, mkdir),
    UNLESS(W, mkdirat),
    UNLESS(W, link),
    UNLESS(W, linkat),
    UNLESS(W, symlink),
    UNLESS(W, symlinkat),
    UNLESS(W, mknod),
    UNLESS(W, mknodat),
    UNLESS(W, chmod),
    UNLESS(W, fchmod),
    UNLESS(W, fchmodat),
    NEWER(W, CALL_FCHMODAT2),
    UNLESS(W, chown),
    UNLESS(W, lchown),
    UNLESS(W, fchown),
    UNLESS(W, fchownat),
    UNLESS(W, setxattr),
    UNLESS(W, lsetxattr),
    UNLESS(W, fsetxattr),
    UNLESS(W, removexattr),
    UNLESS(W, lremovexattr),
    UNLESS(W, fremovexattr),
    BITS(W, ioctl, 1, UINT32_MAX, FS_IOC_SETFLAGS),
    BITS(W, ioctl, 1, UINT32_MAX, FS_IOC_FSSETXATTR),
    UNLESS(W, utime),
    UNLESS(W, utimes),
    UNLESS(W, futimesat),
    UNLESS(W, utimensat),
};

static int add_rule(scmp_filter_ctx filter, const struct rule *rule)
{
    uint32_t action = SCMP_ACT_ERRNO((uint32_t)rule->error);
    if (rule->argument < 0)
        return seccomp_rule_add(filter, action, rule->call, 0);
    const struct scmp_arg_cmp where =
        rule->mask ? (struct scmp_arg_cmp){(unsigned)rule->argument, SCMP_CMP_MASKED_EQ, rule->mask,
                                           rule->bits}
                   : (struct scmp_arg_cmp){(unsigned)rule->argument, SCMP_CMP_NE, rule->bits, 0};
    return seccomp_rule_add_array(filter, action, rule->call, 1, &where);
}

/* Answers ENOSYS for calls whose arguments the filter cannot read; the C library then uses other
 * calls. */
static int add_missing(scmp_filter_ctx filter, unsigned needs)
{
    uint32_t action = SCMP_ACT_ERRNO(ENOSYS);
    int err = needs & W ? 0 : seccomp_rule_add(filter, action, SCMP_SYS(openat2), 0);
    return err || needs & (P | M) ? err : seccomp_rule_add(filter, action, SCMP_SYS(clone3), 0);
}

/* Allows signals to the process itself, which abort() needs. */
static int add_signals(scmp_filter_ctx filter, unsigned needs)
{
    const struct scmp_arg_cmp others = {0, SCMP_CMP_NE, (uint64_t)getpid(), 0};
    return needs & (P | M) ? 0
                           : seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(tgkill),
                                                    1, &others);
}

static int filter_calls(unsigned needs)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter)
        return -ENOMEM;
    seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1); /* all threads: MPI has started some */
    int err = add_missing(filter, needs);
    err = err ? err : add_signals(filter, needs);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && !err; i++)
        err = rules[i].unless & needs ? 0 : add_rule(filter, &rules[i]);
    err = err ? err : seccomp_load(filter);
    seccomp_release(filter);
    return err;
}
#else
static int filter_calls(unsigned needs)
{
    (void)needs;
    return -ENOSYS;
}
#endif

/* Puts the process into a Landlock domain. A process in a domain cannot read the memory of
 * processes outside it, neither through /proc/PID/mem, which the filter cannot distinguish from
 * other files, nor by system calls. The domain's own rules are unimportant: they forbid to execute
 * programs, which the filter forbids too, and to send signals if the kernel supports that. Not used
 * for a merge of several processes, because MPI reads memory of the other processes. Returns 0 or
 * -errno. */
static int enter_domain(unsigned needs)
{
    struct {
        uint64_t fs, net, scoped;
    } rights = {.fs = 1 /* LANDLOCK_ACCESS_FS_EXECUTE */};
    enum { VERSION = 1, SIGNALS_SINCE = 6, SCOPE_SIGNAL = 2 };
    if (needs & PW_CONFINE_MPI)
        return -EBUSY;
    long version = syscall(CALL_LANDLOCK_CREATE_RULESET, NULL, 0, VERSION);
    if (version < 1)
        return version < 0 ? -errno : -ENOSYS;
    rights.scoped = version >= SIGNALS_SINCE ? SCOPE_SIGNAL : 0;
    size_t size = version >= SIGNALS_SINCE ? sizeof(rights) : sizeof(rights.fs);
    int rules_fd = (int)syscall(CALL_LANDLOCK_CREATE_RULESET, &rights, size, 0);
    if (rules_fd < 0)
        return -errno;
    int err = syscall(CALL_LANDLOCK_RESTRICT_SELF, rules_fd, 0) ? -errno : 0;
    close(rules_fd);
    return err;
}

void pw_confine(uint64_t input_bytes, unsigned needs)
{
#ifndef __SANITIZE_ADDRESS__ /* the sanitizer maps terabytes of addresses and traces its own \
                              * process */
    const struct rlimit none = {0, 0};
    if (!pw_log_wants(PW_LOG_CRASH, 1))
        setrlimit(RLIMIT_CORE, &none);
    int limited = pw_readlimit_set(input_bytes);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int domain = enter_domain(needs), filtered = filter_calls(needs);
    pw_debug(PW_LOG_CONFINE, 1, "memory limit: %d, filter: %d, domain: %d", limited, filtered,
             domain);
#else
    (void)input_bytes, (void)needs, (void)filter_calls, (void)enter_domain;
#endif
}

/* Tries it in a child process, because it cannot be undone. */
static int probe(int (*enter)(unsigned needs))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        _exit(-enter(0) & 127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -ECHILD;
    return -WEXITSTATUS(status);
}

int pw_confine_probe(void)
{
    return probe(filter_calls);
}

int pw_confine_probe_domain(void)
{
    return probe(enter_domain);
}
