/* Starts the program under the probe and follows it to its end. */
#ifndef PW_RANK_LAUNCH_H
#define PW_RANK_LAUNCH_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

struct pw_launch {
    const char *probe;   /* path of the preloaded library, NULL to run unprofiled */
    const char *segment; /* its name */
    char **argv;         /* program and arguments, NULL-terminated */
};

/* How it ended, as waitpid() tells. */
struct pw_exit {
    int code;   /* -1 when a signal ended it */
    int signal; /* 0 when it exited */
};

/* From now on signals that ask a process to end or stop are passed on to the program, and `wake` (a
 * futex word, may be NULL) is changed when one arrives or the program ends. Call before the start.
 */
void pw_launch_catch_signals(_Atomic uint32_t *wake);

/* Starts `path`. The pid, or -errno of what kept it from being executed. */
pid_t pw_launch_start(const struct pw_launch *launch, const char *path);

/* 1 once the program has ended, with *out set; else 0. */
int pw_launch_has_ended(pid_t pid, struct pw_exit *out);

/* The signal that last asked profwrap itself to end, or 0. */
int pw_launch_end_requested(void);

/* Sleeps until `wake` differs from `seen` or `ns` have passed. */
void pw_launch_sleep(_Atomic uint32_t *wake, uint32_t seen, int64_t ns);

/* A shell's exit status for it: the code, or 128 + signal. */
int pw_exit_status(const struct pw_exit *end);

#endif
