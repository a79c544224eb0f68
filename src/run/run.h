/* One run of one rank: the settings that its processes (rank/run/launch.h) share.
 * cli/commands/cmd_run.c fills struct pw_run before it forks; the guard and the collectors only
 * read it. Tool code. */
#ifndef PW_RUN_RUN_H
#define PW_RUN_RUN_H

#include <limits.h>

#include "core/options.h"
#include "core/schedule.h"
#include "rank/clocks/agree.h"
#include "rank/clocks/clockprobe.h"
#include "rank/file/rankfile.h"
#include "rank/ring/segment.h"
#include "rank/run/identity.h"
#include "rank/run/launch.h"
#include "run/launchenv.h"

/* The clocks of a run, for `profwrap run`: the measurements beside the program, and the agreement
 * to synchronise over MPI where these do not work. */

struct pw_run_clocks {
    const struct pw_identity *id;
    const char *dir;
    int is_active; /* 1: clocks are measured; 0: only inferred by the merge */
    int is_one;    /* 1: the launcher tells that all ranks have one clock */
    int64_t interval_ns;
    struct pw_testclock test;
    struct pw_agreement agreement;
    struct pw_clockprobe *probe; /* NULL when this rank measures none itself */
    uint32_t asked;              /* how often it was asked to measure */
};

/* Reads the options. Returns 0; -EINVAL with a sentence in options->problem when
 * PROFWRAP_TEST_CLOCK is invalid. A rank with a test clock gets a clock domain of its own. */
int pw_run_clocks_read(struct pw_run_clocks *clocks, struct pw_options *options,
                       struct pw_identity *id);

/* To be called when the output directory exists. `id` and `dir` must outlive the clocks. */
void pw_run_clocks_init(struct pw_run_clocks *clocks, const struct pw_identity *id,
                        const char *dir);

/* To be called before the program's start: where all ranks have one clock, nothing is left to
 * decide, so the program does not wait in MPI_Init. */
void pw_run_clocks_set_up(const struct pw_run_clocks *clocks, struct pw_segment_shared *segment);

/* To be called after the program's start. */
void pw_run_clocks_begin(struct pw_run_clocks *clocks);

/* To be called regularly: decides on the synchronisation when the program asks for it, and writes
 * measured knots. Returns 1 while a program on this host waits in MPI_Init for
 * the decision. */
int pw_run_clocks_poll(struct pw_run_clocks *clocks, struct pw_segment_shared *segment,
                       struct pw_rankfile *file);

/* As pw_run_clocks_poll(), but only decides; for the guard while no collector runs. */
void pw_run_clocks_stand_in(struct pw_run_clocks *clocks, struct pw_segment_shared *segment);

/* To be called after the program's end. */
void pw_run_clocks_end(struct pw_run_clocks *clocks, struct pw_rankfile *file);

/* To be called at the end of a collector. */
void pw_run_clocks_leave(struct pw_run_clocks *clocks);

/* For the guard: removes the files of the clocks in the output directory. */
void pw_run_clocks_fini(struct pw_run_clocks *clocks);

struct pw_run {
    struct pw_options options;
    struct pw_identity id;
    struct pw_launchenv launchenv; /* the `profwrap LAUNCHER`, if any */
    struct pw_run_clocks clocks;
    uint32_t activities; /* PW_ACTIVITY_* */
    int compression;     /* level of deflate */
    int refused;         /* 1: options are invalid, and the program runs unprofiled */
    struct pw_schedule schedule;
    char **argv;
    char path[4096]; /* of the program */
    char dir[4096];  /* output */
    mode_t umask;    /* that we were started with */
    pid_t launcher;  /* the process that started this rank; 0: started without a launcher */
    struct pw_lifeline *lifeline;
};

/* Whether this rank prints failures that all ranks of the host have: they are printed once per
 * host. */
int pw_run_is_host_leader(const struct pw_run *run);

/* Returns `status` after such a failure. A launcher kills all ranks when the first has ended, so
 * the ranks that print nothing wait for the one that prints. */
int pw_run_fail_after_leader(const struct pw_run *run, int status);

/* Whether the program runs unprofiled when recording cannot begin because of `err` (-errno): when a
 * resource has run out, or with --unprofiled-on-error. */
int pw_run_goes_on_after(const struct pw_run *run, int err);

/* When it does not: the words for a message about the output directory that say how to run the
 * program without it; "" when another directory is the remedy. */
const char *pw_run_way_out(int err);

/* Runs the program without a probe. May be called in any of the processes. Returns the exit
 * status. */
int pw_run_unprofiled(struct pw_run *run);

/* Makes the rank's file from its journal, after the program's end. Returns 0 or -errno. */
int pw_run_recover(const struct pw_run *run);

/* The functions of a collector's process; see rank/run/guard.h. */
int pw_collect(void *run, int attempt);
int pw_collect_on(void *run, int attempt);

/* The ways besides LD_PRELOAD by which the program loads the probe; see struct pw_launch. */
struct pw_injection {
    const char *audit, *nccl, *python; /* NULL: not used */
    int nvtx, cuda;
    char audit_path[PATH_MAX], python_path[PATH_MAX]; /* storage of the paths */
};

/* Chooses the ways by --activities, and by the tools that the environment already names; prints
 * what is not recorded because of these. `probe` must outlive *out. */
void pw_injection_choose(const struct pw_run *run, const char *probe, struct pw_injection *out);

#endif
