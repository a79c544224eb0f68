/* A process that need not be our child: whether it has ended, and how, as far as that can be known.
 * Called by launch.c, recovery and the sweep. Tool code.
 *
 * A pidfd says so where kernel and sandbox have them (Linux 5.3); otherwise /proc, whose start time
 * tells a process from a later one with its pid. */
#ifndef PW_RANK_RUN_PROCESS_H
#define PW_RANK_RUN_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

struct pw_process {
    pid_t pid;
    int fd;         /* pidfd; -1: none */
    uint64_t start; /* clock ticks since boot; 0: not known */
};

/* What /proc/PID/stat says. */
struct pw_process_stat {
    char state;  /* R, S, T, Z, ... */
    int threads; /* a Z beside other threads has not ended: its main thread has */
    uint64_t start;
    int wait_status; /* of a zombie */
};

/* 0, or -errno: there is no such process, or no /proc. */
int pw_process_stat(pid_t pid, struct pw_process_stat *out);

/* Whether all its threads have ended. */
int pw_process_is_over(const struct pw_process_stat *stat);

/* Takes hold of the process that has `pid` now: call it while the pid cannot be another's, as
 * before its parent has waited for it. */
void pw_process_open(pid_t pid, struct pw_process *out);

/* 1 once it has ended, else 0; *wait_status is set when it still waits for its parent, and left
 * alone when it can no longer be known how it ended. */
int pw_process_has_ended(const struct pw_process *process, int *wait_status);

#endif
