/* One run of one rank: what its three processes (see rank/run/launch.h) share from the command line
 * on. cli/cmd_run.c fills it before it forks; the guard and the collectors only read it. Tool code.
 */
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
#include "run/launched.h"

/* The clocks of a run, for `profwrap run`: the agreement to synchronise over MPI, and the
 * measurements beside the program. */

struct pw_run_clocks {
    const struct pw_identity *id;
    const char *dir;
    int is_active; /* clocks are measured, not only inferred in the merge */
    int64_t interval_ns;
    struct pw_testclock test;
    struct pw_agreement agreement;
    struct pw_clockprobe *probe; /* NULL when this rank measures none itself */
};

/* Reads the options; a wrong PROFWRAP_TEST_CLOCK is -EINVAL and a sentence in options->problem. A
 * rank with such a clock gets a clock domain of its own. */
int pw_run_clocks_read(struct pw_run_clocks *clocks, struct pw_options *options,
                       struct pw_identity *id);

/* The output directory is there. `id` and `dir` must outlive the clocks. */
void pw_run_clocks_init(struct pw_run_clocks *clocks, const struct pw_identity *id,
                        const char *dir);

/* The program was started. */
void pw_run_clocks_begin(struct pw_run_clocks *clocks);

/* One look: decides on the synchronisation when the program asks for it, and writes what was
 * measured. 1 while the program stands in MPI_Init and waits for the decision. */
int pw_run_clocks_poll(struct pw_run_clocks *clocks, struct pw_segment_shared *segment,
                       struct pw_rankfile *file);

/* The deciding alone. */
int pw_run_clocks_decide(struct pw_run_clocks *clocks, struct pw_segment_shared *segment);

/* The program has ended. */
void pw_run_clocks_end(struct pw_run_clocks *clocks, struct pw_rankfile *file);

/* Removes what the clocks left in the output directory. */
void pw_run_clocks_fini(struct pw_run_clocks *clocks);

struct pw_run {
    struct pw_options options;
    struct pw_identity id;
    struct pw_launched launched; /* by whom */
    struct pw_run_clocks clocks;
    uint32_t activities; /* PW_ACTIVITY_* */
    int compression;     /* level of deflate */
    int refused;         /* options that cannot be, of a program that is to run all the same */
    struct pw_schedule schedule;
    char **argv;
    char path[4096]; /* of the program */
    char dir[4096];  /* output */
    mode_t umask;    /* that we were started with */
    struct pw_lifeline *lifeline;
};

/* A failure that every rank of a host meets alike is said once per host. */
int pw_run_is_host_leader(const struct pw_run *run);

/* Ends with `status` after such a failure. The launcher kills all ranks when the first has ended:
 * those that say nothing let the one that does go first. */
int pw_run_fail_after_leader(const struct pw_run *run, int status);

/* Whether the program runs although its profile cannot begin for the reason `err` (-errno): when
 * something has run out or is broken, which is not its user's fault, or when it was asked for. */
int pw_run_goes_on_after(const struct pw_run *run, int err);

/* Runs the program without a probe, in any of the processes; its exit status. */
int pw_run_unprofiled(struct pw_run *run);

/* Makes the rank's file from its journal, after the program's end. 0 or -errno. */
int pw_run_recover(const struct pw_run *run);

/* The lives of collectors: see rank/run/guard.h. */
int pw_collect(void *run, int attempt);
int pw_collect_on(void *run, int attempt);

/* What makes the program load the probe besides LD_PRELOAD; see struct pw_launch. */
struct pw_injection {
    const char *audit, *nccl, *python; /* NULL: not that way */
    int nvtx, cuda;
    char audit_path[PATH_MAX], python_path[PATH_MAX]; /* what the pointers point to */
};

/* Chooses it by --activities and by what the environment names already; prints what is not recorded
 * for that. `probe` must outlive *out. */
void pw_injection_choose(const struct pw_run *run, const char *probe, struct pw_injection *out);

#endif
