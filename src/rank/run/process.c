/* Follows processes by pidfd or /proc; see process.h. */
#include "rank/run/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int pw_process_stat(pid_t pid, struct pw_process_stat *out)
{
    char path[64], text[2048];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return -ESRCH;
    text[n] = '\0';
    /* proc(5): after the parenthesised name, field 3 is the state, 9 the flags, 20 the number of
     * threads, 22 the start in clock ticks, and the last, 52, the wait status. */
    const char *at = strrchr(text, ')'), *last = strrchr(text, ' ');
    struct pw_process_stat found = {.state = 'X'};
    if (!at || last < at ||
        sscanf(at + 1,
               " %c %*s %*s %*s %*s %*s %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d %*s "
               "%" SCNu64,
               &found.state, &found.flags, &found.threads, &found.start) != 4 ||
        sscanf(last, "%d", &found.wait_status) != 1)
        return -EPROTO;
    *out = found;
    return 0;
}

void pw_process_open(pid_t pid, struct pw_process *out)
{
    struct pw_process_stat stat = {.start = 0};
    pw_process_stat(pid, &stat);
    *out = (struct pw_process){.pid = pid, .fd = -1, .start = stat.start};
#ifdef SYS_pidfd_open
    out->fd = (int)syscall(SYS_pidfd_open, pid, 0);
#endif
}

static int has_no_process(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

int pw_process_is_over(const struct pw_process_stat *stat)
{
    return stat->state == 'X' || (stat->state == 'Z' && stat->threads <= 1);
}

bool pw_process_is_dying(pid_t pid)
{
    enum { EXITING = 4 }; /* PF_EXITING of the kernel's sched.h */
    struct pw_process_stat stat;
    char path[64], text[4096];
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return pw_process_has_signal(text, "SigPnd:", SIGKILL) ||
           (pw_process_stat(pid, &stat) == 0 &&
            (stat.flags & EXITING || pw_process_is_over(&stat)));
}

bool pw_process_has_signal(const char *status, const char *name, int signal)
{
    const char *at = strstr(status, name);
    return at && (strtoull(at + strlen(name), NULL, 16) >> (signal - 1) & 1);
}

static int looks_ended(const struct pw_process *process, int *wait_status)
{
    struct pw_process_stat stat;
    struct pollfd end = {.fd = process->fd, .events = POLLIN};
    if (process->fd >= 0 && poll(&end, 1, 0) <= 0)
        return 0;
    int err = pw_process_stat(process->pid, &stat);
    if (err)
        return process->fd >= 0 || has_no_process(process->pid);
    if (process->start && stat.start != process->start)
        return 1; /* ended: another process has its pid now */
    if (!pw_process_is_over(&stat))
        return 0;
    if (stat.state == 'Z')
        *wait_status = stat.wait_status;
    return 1;
}

int pw_process_has_ended(const struct pw_process *process, int *wait_status)
{
    enum { PAUSE_US = 1000 };
    if (!looks_ended(process, wait_status))
        return 0;
    /* While a thread calls exec(), the other threads end, and for a moment the process looks as if
     * it had ended: check twice. */
    usleep(PAUSE_US);
    return looks_ended(process, wait_status);
}
