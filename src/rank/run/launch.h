/* Starts the program under the probe, passes signals on to it, and follows it to its end.
 *
 * A rank is three processes: the guard, which the launcher (mpirun, srun) started and which waits;
 * the collector; and the program, the collector's child. They share a lifeline. */
#ifndef PW_RANK_RUN_LAUNCH_H
#define PW_RANK_RUN_LAUNCH_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "rank/ring/segment.h"

/* Memory that guard and collectors share from the guard's start: what one of them must know when
 * another has been killed. */
struct pw_lifeline {
    _Atomic int32_t program_pid; /* 0 before its start */
    _Atomic int32_t has_ended;   /* and `wait_status` says how */
    int32_t wait_status;
    _Atomic int32_t is_profiled; /* the program was started under the probe, or was to be */
    _Atomic int32_t signalled;   /* SIGUSR1 or SIGUSR2 that is for profwrap, 0 none; see launch.c */
    _Atomic int32_t is_recording; /* and there is a journal: another collector can take over */
    char segment[PW_SEGMENT_NAME_SIZE];
};

/* NULL when memory is short. Never unmapped. */
struct pw_lifeline *pw_lifeline_create(void);

/* The variables that NVTX and CUDA find their tool by: each names one. */
#define PW_NVTX_VARIABLE "NVTX_INJECTION64_PATH"
#define PW_CUDA_VARIABLE "CUDA_INJECTION64_PATH"

/* The variable that NCCL finds its profiler plugin by, and how long a path it takes. */
#define PW_NCCL_VARIABLE "NCCL_PROFILER_PLUGIN"
enum { PW_NCCL_LONGEST_PATH = 255 };

struct pw_launch {
    const char *probe;     /* path of the preloaded library, NULL to run unprofiled */
    const char *audit;     /* path of the library that the loader is to ask, NULL for none */
    const char *segment;   /* its name */
    const char *directory; /* where the run's files go: the program may want to know */
    int nvtx, cuda, nccl;  /* the probe is what they load, too */
    char **argv;           /* program and arguments, NULL-terminated */
    pid_t group;           /* process group that the program is to be in */
    struct pw_lifeline *lifeline;
    mode_t umask; /* the program's: ours lets nobody else read what we write */
};

/* How it ended. */
struct pw_exit {
    int code;   /* -1 when a signal ended it */
    int signal; /* 0 when it exited */
};

/* In the guard: from now on signals that ask a process to end or stop are passed on to the program.
 */
void pw_launch_relay_signals(struct pw_lifeline *lifeline);

/* In the collector: such signals have no effect on it any more, for it ends when the program does;
 * `wake` (a futex word) is changed when a child ends. NULL for no word. */
void pw_launch_outlive_signals(_Atomic uint32_t *wake);

/* Starts `path`. The pid, or -errno of what kept it from being executed. */
pid_t pw_launch_start(const struct pw_launch *launch, const char *path);

/* 1 once the program has ended, with *out set; else 0. Of the program's parent, or of a collector
 * that took over: then it is the guard that sees it. */
int pw_launch_has_ended(struct pw_lifeline *lifeline, struct pw_exit *out);

/* In the guard: the signal that last asked profwrap itself to end, or 0. */
int pw_launch_end_requested(void);

/* Sleeps until `wake` differs from `seen` or `ns` have passed. */
void pw_launch_sleep(_Atomic uint32_t *wake, uint32_t seen, int64_t ns);

/* How a process ended whose wait status this is. */
struct pw_exit pw_exit_of(int wait_status);

/* A shell's exit status for it: the code, or 128 + signal. */
int pw_exit_status(const struct pw_exit *end);

#endif
