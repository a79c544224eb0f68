/* Detects whether a process has ended, and reads its exit status if possible. The process need not
 * be a child of the caller. Called by launch.c, recovery and the sweep. Tool code.
 *
 * Uses a pidfd where the kernel (Linux 5.3) and the sandbox allow it. Otherwise it uses /proc: the
 * start time there distinguishes the process from a later one with the same pid. */
#ifndef PW_RANK_RUN_PROCESS_H
#define PW_RANK_RUN_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pw_process {
    pid_t pid;
    int fd;         /* pidfd; -1: none */
    uint64_t start; /* clock ticks since boot; 0: not known */
};

/* What /proc/PID/stat says. */
struct pw_process_stat {
    char state;     /* R, S, T, Z, ... */
    unsigned flags; /* PF_ of the kernel's sched.h */
    int threads;    /* state Z with other threads: only the main thread has ended */
    uint64_t start;
    int wait_status; /* of a zombie */
};

/* Returns 0, or -errno when there is no such process or no /proc. */
int pw_process_stat(pid_t pid, struct pw_process_stat *out);

/* Whether all its threads have ended. */
int pw_process_is_over(const struct pw_process_stat *stat);

/* Whether the process has ended, or is about to end by SIGKILL, which a busy machine may delay. */
bool pw_process_is_dying(pid_t pid);

/* Whether the line "NAME:\thexadecimal mask" of the text of /proc/PID/status has the signal. May be
 * called by a signal handler. */
bool pw_process_has_signal(const char *status, const char *name, int signal);

/* Opens the process that has `pid` now. Call it while the pid cannot be reused, for example before
 * the parent has waited for the process. */
void pw_process_open(pid_t pid, struct pw_process *out);

/* Returns 1 when the process has ended, else 0. Sets *wait_status when the process is a zombie;
 * leaves it unchanged when the status can no longer be known. */
int pw_process_has_ended(const struct pw_process *process, int *wait_status);

#endif
