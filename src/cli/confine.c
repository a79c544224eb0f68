/* Limits and a filter of system calls; see confine.h. */
#include "cli/confine.h"

#include <errno.h>
#include <fcntl.h>
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

#if PROFWRAP_HAVE_SECCOMP
/* A call that is refused unless the command needs `unless`. Those with an argument are refused
 * where it has all the bits of `bits` under `mask`. */
struct rule {
    int call, error;
    unsigned unless;
    int argument; /* -1: whatever they are */
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
    ALWAYS(io_uring_setup), /* opens files and sockets past the filter */
    ALWAYS(process_madvise),
    ALWAYS(pidfd_getfd),
    BITS(0, ioctl, 1, UINT32_MAX, TIOCSTI), /* types into the terminal */
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
    UNLESS(W, fchmodat),
    UNLESS(W, chown),
    UNLESS(W, lchown),
    UNLESS(W, fchownat),
    UNLESS(W, setxattr),
    UNLESS(W, lsetxattr),
    UNLESS(W, removexattr),
    UNLESS(W, lremovexattr),
    UNLESS(W, utime),
    UNLESS(W, utimes),
    UNLESS(W, utimensat),
};

static int add_rule(scmp_filter_ctx filter, const struct rule *rule)
{
    uint32_t action = SCMP_ACT_ERRNO((uint32_t)rule->error);
    if (rule->argument < 0)
        return seccomp_rule_add(filter, action, rule->call, 0);
    const struct scmp_arg_cmp where = {(unsigned)rule->argument, SCMP_CMP_MASKED_EQ, rule->mask,
                                       rule->bits};
    return seccomp_rule_add_array(filter, action, rule->call, 1, &where);
}

/* What the filter cannot look into is said to be missing: the C library does without. */
static int add_missing(scmp_filter_ctx filter, unsigned needs)
{
    uint32_t action = SCMP_ACT_ERRNO(ENOSYS);
    int err = needs & W ? 0 : seccomp_rule_add(filter, action, SCMP_SYS(openat2), 0);
    return err || needs & (P | M) ? err : seccomp_rule_add(filter, action, SCMP_SYS(clone3), 0);
}

/* Signals to itself are how a program aborts. */
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
    seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1); /* MPI has threads already */
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

void pw_confine(uint64_t input_bytes, unsigned needs)
{
#ifndef __SANITIZE_ADDRESS__ /* takes terabytes of addresses, and looks into its own process */
    const struct rlimit none = {0, 0};
    if (!pw_log_wants("crash", 1))
        setrlimit(RLIMIT_CORE, &none);
    int limited = pw_readlimit_set(input_bytes);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int filtered = filter_calls(needs);
    pw_debug("confine", 1, "memory limit: %d, filter: %d", limited, filtered);
#else
    (void)input_bytes, (void)needs, (void)filter_calls;
#endif
}

/* In a child, for a filter is for ever. */
int pw_confine_probe(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        _exit(-filter_calls(0) & 127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -ECHILD;
    return -WEXITSTATUS(status);
}
