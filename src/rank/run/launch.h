/* Starts the program under the probe, passes signals on to it, and follows it to its end.
 *
 * A rank is three processes: the guard, which the launcher (mpirun, srun) started and which waits;
 * the collector; and the program, the collector's child. They share a lifeline. */
#ifndef PW_RANK_RUN_LAUNCH_H
#define PW_RANK_RUN_LAUNCH_H

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "rank/ring/segment.h"
#include "rank/run/process.h"

/* What is known of the program's end. */
enum pw_ending { PW_NOT_ENDED = 0, PW_ENDED, PW_ENDED_UNSEEN };

/* Memory that guard and collectors share from the guard's start: what one of them must know when
 * another has been killed. */
struct pw_lifeline {
    pid_t guard_pid;
    _Atomic int32_t collector_pid;
    _Atomic int32_t program_pid; /* 0 before its start */
    _Atomic int32_t has_ended;   /* enum pw_ending */
    int32_t wait_status;         /* when it was seen to end */
    struct pw_process program;   /* for a collector that is not its parent; the guard's handle */
    _Atomic int32_t is_at_work;  /* this collector has started the program or emptied its rings */
    _Atomic int32_t has_said;    /* that another collector goes on */
    _Atomic int32_t is_profiled; /* the program was started under the probe, or was to be */
    _Atomic uint64_t early;      /* signals that are the program's, before its start: 1 << number */
    _Atomic int32_t signalled;   /* SIGUSR1 or SIGUSR2 that is for profwrap, 0 none; see launch.c */
    _Atomic int32_t is_recording; /* and there is a journal: another collector can take over */
    char segment[PW_SEGMENT_NAME_SIZE];
    /* As the guard was started, and the program is to be. */
    sigset_t blocked;
    int ignores_children;    /* SIGCHLD is ignored */
    int parent_death_signal; /* prctl(2) PR_SET_PDEATHSIG; 0: none */
};

/* NULL when memory is short. Never unmapped. */
struct pw_lifeline *pw_lifeline_create(void);

/* The variables that NVTX and CUDA find their tool by: each names one. */
#define PW_NVTX_VARIABLE "NVTX_INJECTION64_PATH"
#define PW_CUDA_VARIABLE "CUDA_INJECTION64_PATH"

/* The variable that NCCL finds its profiler plugin by, and how long a path it takes. */
#define PW_NCCL_VARIABLE "NCCL_PROFILER_PLUGIN"
/* What NCCL takes for STATIC_PLUGIN, in letters that nobody else writes: it is to look for a plugin
 * in the program's image, where the probe is. For paths that are too long for it. */
#define PW_NCCL_STATIC "Static_Plugin"
enum { PW_NCCL_LONGEST_PATH = 254 }; /* NCCL 2.26 and later cut off what is behind */

struct pw_launch {
    const char *probe;     /* path of the preloaded library, NULL to run unprofiled */
    const char *audit;     /* path of the library that the loader is to ask, NULL for none */
    const char *segment;   /* its name */
    const char *directory; /* where the run's files go: the program may want to know */
    int nvtx, cuda;        /* the probe is what they load, too */
    const char *nccl;      /* what NCCL is to load as its profiler plugin, NULL nothing */
    const char *python;    /* directory that Python searches first for modules, NULL for none */
    char **argv;           /* program and arguments, NULL-terminated */
    struct pw_lifeline *lifeline;
    mode_t umask; /* the program's: ours lets nobody else read what we write */
};

/* How it ended. */
struct pw_exit {
    int code;   /* -1 when a signal ended it, or nobody saw how it did */
    int signal; /* 0 when it exited */
};

/* In the guard, first of all: notes what it was started with. From now on signals that ask a
 * process to end or stop are passed on to the program; those that ask it to end, also before its
 * start. */
void pw_launch_relay_signals(struct pw_lifeline *lifeline);

/* In the collector: such signals have no effect on it any more, for it ends when the program does;
 * `wake` (a futex word) is changed when a child ends. NULL for no word. */
void pw_launch_outlive_signals(_Atomic uint32_t *wake);

/* In a collector, once there is a program: into a session of its own. Launchers that end a job kill
 * process groups, and not always as late as they mean to: mpirun's second between SIGTERM and
 * SIGKILL is over as soon as any other rank ends. Beyond that the collector sees the program's end
 * and closes the file. And in the same session, its end would send SIGHUP to a group that is
 * stopped and has no other parent outside (setpgid(2)). */
void pw_launch_leave_session(void);

/* Starts `path`. The pid, or -errno of what kept it from being executed: -ESRCH when the guard was
 * killed, whom the launcher takes for the program. */
pid_t pw_launch_start(const struct pw_launch *launch, const char *path);

/* In the guard, when not even a process can be had: executes the program in its own place. Returns
 * -errno only. */
int pw_launch_become(const struct pw_launch *launch, const char *path);

/* 1 once the program has ended, with *out set; else 0. For the program's parent and for a collector
 * that took over. */
int pw_launch_has_ended(struct pw_lifeline *lifeline, struct pw_exit *out);

/* The program has ended so. Written before anybody waits for the zombie: who is killed in between
 * leaves it to another parent. */
void pw_launch_note_end(struct pw_lifeline *lifeline, const siginfo_t *info);

/* The program was stopped by `signal` or continued (SIGCONT): a launcher or shell that watches the
 * guard is to see the same. */
void pw_launch_follow_stop(struct pw_lifeline *lifeline, int signal);

/* In the guard: ends by the signal, without a core file of its own. Returns where that is not
 * possible. */
void pw_launch_die_of(int signal);

/* In the guard: the signal that last asked profwrap itself to end, or 0. */
int pw_launch_end_requested(void);

/* Sleeps until `wake` differs from `seen` or `ns` have passed. */
void pw_launch_sleep(_Atomic uint32_t *wake, uint32_t seen, int64_t ns);

/* How a process ended whose wait status this is. */
struct pw_exit pw_exit_of(int wait_status);

/* A shell's exit status for it: the code, or 128 + signal. */
int pw_exit_status(const struct pw_exit *end);

/* ---- signals.c, for launch.c ---- */

/* In the program's process, before it executes: as its launcher wanted them. What came before it
 * was there now ends it. */
void pw_launch_restore_signals(struct pw_lifeline *lifeline);

/* Stops this process by `signal`, whatever it is handled by, until it is continued. */
void pw_launch_stop_self(int signal);

#endif
