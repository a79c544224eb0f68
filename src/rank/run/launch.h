/* Starts the program with the probe, passes signals on to it, and detects its end. Called by the
 * guard and by collectors, and by `profwrap LAUNCHER` for the launcher. Tool code; nothing else in
 * profwrap starts the program.
 *
 * A rank has three processes: the guard, which the launcher (mpirun, srun) started and which waits;
 * the collector, the guard's child; and the program, the collector's child. Guard and collectors
 * share a page of memory, the lifeline. */
#ifndef PW_RANK_RUN_LAUNCH_H
#define PW_RANK_RUN_LAUNCH_H

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "rank/ring/segment.h"
#include "rank/run/process.h"

/* Whether the program has ended; UNSEEN: it has, but its exit status is not known. */
enum pw_ending { PW_NOT_ENDED = 0, PW_ENDED, PW_ENDED_UNSEEN };

enum { PW_MOST_INHERITED = 64 };

/* Memory that guard and collectors share. It has all values that one of them needs after another
 * one was killed. */
struct pw_lifeline {
    pid_t guard_pid;
    _Atomic int32_t collector_pid;
    _Atomic int32_t program_pid; /* 0 before its start */
    _Atomic int32_t has_ended;   /* enum pw_ending */
    int32_t wait_status;         /* the program's, as of waitpid(), if has_ended is PW_ENDED */
    _Atomic int64_t ended_ns;    /* when its end was first seen, pw_local_ns(); 0: it was not */
    int64_t oom_kills;           /* pw_memory_oom_kills() before its start; -1 not known */
    struct pw_process program;   /* the guard's pidfd, for collectors that did not start it */
    _Atomic int32_t
        is_at_work; /* the collector has started the program, or a new one has emptied its rings */
    /* At the program's end: 1 + enum pw_mpi_phase, noted before the segment is removed. 0: not
     * noted. */
    _Atomic int32_t mpi_phase;
    _Atomic int32_t has_concluded; /* the guard has merged and reported, or nobody needs to */
    _Atomic int32_t is_profiled;   /* the program was started with the probe, or should have been */
    _Atomic uint64_t early;    /* signals for the program that came before its start: 1 << number */
    _Atomic int32_t signalled; /* SIGUSR1 or SIGUSR2 that is for profwrap, 0: none */
    _Atomic int32_t is_recording; /* there is a journal, so another collector can take over */
    char segment[PW_SEGMENT_NAME_SIZE];
    /* Descriptors with which the guard was started, except those of standard input, output and
     * error: sockets of the launcher, for instance. They are the program's. */
    int inherited[PW_MOST_INHERITED];
    int ninherited;
    /* Signal settings with which the guard was started; the program is started with the same. */
    sigset_t blocked;
    int ignores_children;    /* SIGCHLD is ignored */
    int parent_death_signal; /* prctl(2) PR_SET_PDEATHSIG; 0: none */
};

/* Creates the lifeline, which is never unmapped. NULL when memory is short. */
struct pw_lifeline *pw_lifeline_create(void);

/* Environment variables with the path of the tool's library that NVTX or CUDA loads. */
#define PW_NVTX_VARIABLE "NVTX_INJECTION64_PATH"
#define PW_CUDA_VARIABLE "CUDA_INJECTION64_PATH"

/* Environment variable with the path of the profiler plugin that NCCL loads. */
#define PW_NCCL_VARIABLE "NCCL_PROFILER_PLUGIN"
/* The value that makes NCCL look for a plugin in the program's image, where the probe is. Used when
 * the plugin's path is too long. NCCL compares it with STATIC_PLUGIN without
 * regard to case; this spelling shows that profwrap has set the variable. */
#define PW_NCCL_STATIC "Static_Plugin"
enum { PW_NCCL_LONGEST_PATH = 254 }; /* NCCL 2.26 and later truncate longer paths */

struct pw_launch {
    const char *probe;     /* path of the preloaded library, NULL to run unprofiled */
    const char *mpi4;      /* path of another library that is preloaded with it, NULL: none */
    const char *audit;     /* path of the library for LD_AUDIT, NULL: none */
    const char *segment;   /* name of the shared memory */
    const char *directory; /* the run's directory, for PROFWRAP_DIRECTORY in the program */
    int nvtx, cuda;        /* NVTX or CUDA load the probe as their tool */
    const char *nccl;      /* the profiler plugin that NCCL loads, NULL: none */
    const char *python;    /* directory in which Python searches for modules first, NULL: none */
    char **argv;           /* program and arguments, NULL-terminated */
    struct pw_lifeline *lifeline;
    mode_t umask; /* the program's; profwrap uses another one, so that its files are private */
};

/* How the program ended. */
struct pw_exit {
    int code;   /* exit code; -1 when a signal ended the program, or its status is not known */
    int signal; /* 0 when the program exited */
};

/* To be called first in the guard: saves the guard's signal settings in the lifeline. From now on,
 * signals that ask a process to end or stop are passed on to the program. A signal that asks it to
 * end is kept if it comes before the program's start. */
void pw_launch_relay_signals(struct pw_lifeline *lifeline);

/* In the collector: signals that ask a process to end have no effect from now on, because the
 * collector ends when the program has ended. When a child ends, the futex word `wake` is changed
 * (NULL: none). */
void pw_launch_outlive_signals(_Atomic uint32_t *wake);

/* In a collector: its messages go to the guard, by the pipe `messages`, which is closed. The
 * program is started with the standard error that this process had before. */
void pw_launch_divert_messages(int messages);

/* In a collector, when the program has started: leaves standard input and output, and closes the
 * inherited descriptors. Launchers and shells wait for the end of their pipes and sockets, and must
 * not wait for a collector. */
void pw_launch_leave_pipes(const struct pw_lifeline *lifeline);

/* In the guard, last of all: gives the inherited sockets numbers behind those of pipes, because
 * Linux releases the files of a process that ends from the highest number down. Hydra, the launcher
 * of MPICH, kills a job when it sees that a rank's socket was closed, but not if it has taken the
 * rank's exit status before, and it does that as soon as one of the rank's pipes is closed. */
void pw_launch_close_sockets_first(const struct pw_lifeline *lifeline);

/* In the guard, first of all: opens standard input and output, until the program is executed, where
 * they are closed. So no other file gets their numbers. */
void pw_launch_fill_descriptors(void);

/* In the guard, before it opens a descriptor: notes those that it has. */
void pw_launch_note_descriptors(struct pw_lifeline *lifeline);

/* Whether the guard has ended; false in the guard itself. */
int pw_launch_is_guard_gone(const struct pw_lifeline *lifeline);

/* In a collector, after the program's start: moves the collector into a new session, for two
 * reasons. First, launchers end a job by killing process groups, sometimes before the collector
 * could close the file: mpirun waits one second between SIGTERM and SIGKILL, but not when another
 * rank ends in that second. In its own session, the collector is not killed; it detects the
 * program's end and closes the file. Second, Linux could send SIGHUP to the collector when it is
 * stopped and the program ends: a stopped process group gets SIGHUP when it becomes orphaned, that
 * is, when no process of the group has a parent any more that is in the same session and outside
 * the group (setpgid(2)). */
void pw_launch_leave_session(void);

/* Starts `path`. Returns the pid, or the -errno because of which it could not be executed. -ESRCH
 * means that the guard was killed: the launcher then believes that the program has ended. */
pid_t pw_launch_start(const struct pw_launch *launch, const char *path);

/* In the guard, when no process can be created: executes the program in the guard's own process.
 * Returns only on failure, -errno. */
int pw_launch_become(const struct pw_launch *launch, const char *path);

/* Returns 1 and sets *out when the program has ended; else 0. For the program's parent and for a
 * collector that took over. */
int pw_launch_has_ended(struct pw_lifeline *lifeline, struct pw_exit *out);

/* Saves in the lifeline how the program has ended. To be called before the zombie is reaped: if the
 * parent is killed after reaping and before saving, the exit status is lost. */
void pw_launch_note_end(struct pw_lifeline *lifeline, const siginfo_t *info);

/* The program was stopped by `signal`, or continued (SIGCONT): makes the guard stop or continue as
 * well, so that a launcher or shell that watches the guard sees the program's state. */
void pw_launch_follow_stop(struct pw_lifeline *lifeline, int signal);

/* In the guard: ends it by `signal`, without a core file. Returns only if that is not possible. */
void pw_launch_die_of(int signal);

/* In the guard: the last signal that asked profwrap itself to end, or 0. */
int pw_launch_end_requested(void);

/* Sleeps until `wake` differs from `seen` or `ns` have passed. */
void pw_launch_sleep(_Atomic uint32_t *wake, uint32_t seen, int64_t ns);

/* Converts a wait status, as of waitpid(). */
struct pw_exit pw_exit_of(int wait_status);

/* The exit status that a shell would return: the code, or 128 + signal. */
int pw_exit_status(const struct pw_exit *end);

#endif
