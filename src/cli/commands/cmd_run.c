/* `profwrap [run] PROGRAM`: reads the options, becomes the guard of one rank, and concludes the
 * job. When recording is not possible, the program still runs, unprofiled, after a message of one
 * line. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/conclude/conclude.h"
#include "cli/conclude/latereport.h"
#include "cli/conclude/standby.h"
#include "core/log.h"
#include "core/options.h"
#include "core/remedy.h"
#include "rank/collect/sparecore.h"
#include "rank/run/guard.h"
#include "rank/run/identity.h"
#include "rank/run/launch.h"
#include "rank/run/outdir.h"
#include "rank/run/program.h"
#include "rank/run/rankenv.h"
#include "run/activities.h"
#include "run/run.h"

/* Checks the options that are lists; their parsers set the message. */
static int check_lists(struct pw_run *run)
{
    struct pw_options *o = &run->options;
    run->activities =
        pw_cli_parse_activities(o->text[PW_OPT_ACTIVITIES], o->problem, sizeof(o->problem));
    if (!run->activities)
        return pw_option_blame(o, PW_OPT_ACTIVITIES);
    if (pw_schedule_parse(o->text[PW_OPT_SCHEDULE], &run->schedule, o->problem, sizeof(o->problem)))
        return pw_option_blame(o, PW_OPT_SCHEDULE);
    return 0;
}

static int check_options(struct pw_run *run)
{
    struct pw_options *o = &run->options;
    int64_t ring = pw_option_size(o, PW_OPT_RING_SIZE);
    int64_t file = pw_option_size(o, PW_OPT_MAX_FILE_SIZE);
    char frames[32];
    int err = check_lists(run);
    run->compression = pw_option_compression(o, PW_OPT_COMPRESS);
    snprintf(frames, sizeof(frames), "0 to %d", PW_MAX_STACK);
    if (err)
        return err;
    if (!o->text[PW_OPT_OUTPUT][0])
        return pw_option_refuse(o, PW_OPT_OUTPUT, "a directory");
    if (run->compression < 0)
        return pw_option_refuse(o, PW_OPT_COMPRESS, "none or deflate:1 to deflate:9");
    if (ring < 64 << 10 || ring > 1 << 30)
        return pw_option_refuse(o, PW_OPT_RING_SIZE, "64K to 1G");
    if (file && file < 1 << 20)
        return pw_option_refuse(o, PW_OPT_MAX_FILE_SIZE, "1M or more, or 0 for no limit");
    if (pw_option_size(o, PW_OPT_MAX_MEMORY) < 1 << 20)
        return pw_option_refuse(o, PW_OPT_MAX_MEMORY, "1M or more");
    if (pw_option_int(o, PW_OPT_SAMPLE_HZ) > 1000)
        return pw_option_refuse(o, PW_OPT_SAMPLE_HZ, "0 to 1000");
    if (pw_option_int(o, PW_OPT_CALL_STACKS) > PW_MAX_STACK)
        return pw_option_refuse(o, PW_OPT_CALL_STACKS, frames);
    if (pw_option_number(o, PW_OPT_STEP_FLOPS) < 0)
        return pw_option_refuse(o, PW_OPT_STEP_FLOPS, "a number above 0, such as 4.2e15");
    if (pw_option_number(o, PW_OPT_PEAK_FLOPS) < 0)
        return pw_option_refuse(o, PW_OPT_PEAK_FLOPS, "a number above 0, such as 989e12");
    double rate;
    if (o->origin[PW_OPT_FALSE_ALARMS] == PW_OPTION_COMMAND_LINE)
        return pw_option_per_day(o, PW_OPT_FALSE_ALARMS, &rate);
    return 0;
}

/* Whether to run the program although an option is wrong: when the wrong value is from the
 * environment, or with --unprofiled-on-error. The command line may not have been read to its end,
 * so the program is what follows "--". */
static int goes_on(const struct pw_options *options, int argc, char **argv, int *next)
{
    if (options->in_environment)
        return *next < argc;
    int at = 1, asked = pw_option_flag(options, PW_OPT_UNPROFILED_ON_ERROR);
    for (; at < argc && strcmp(argv[at], "--") != 0; at++)
        asked |= strcmp(argv[at], "--unprofiled-on-error") == 0;
    *next = at + 1;
    return asked && at + 1 < argc;
}

/* Reads the environment: the rank's identity, and the options that `profwrap LAUNCHER` has set for
 * its ranks. Options of the command line are applied later. */
static void begin(struct pw_run *run)
{
    struct pw_options_end end;
    pw_options_init(&run->options);
    pw_launchenv_read(&run->launchenv);
    const struct pw_identity_hints hints = {
        .root = run->options.text[PW_OPT_FSROOT],
        .hostname = run->options.text[PW_OPT_HOSTNAME],
        .launch = run->launchenv.name,
        .had = run->launchenv.had,
    };
    pw_identity_find(&run->id, &hints);
    if (run->launchenv.name) /* `profwrap LAUNCHER` has checked them */
        pw_options_parse(&run->options, PW_CMD_RUN, run->launchenv.argc, run->launchenv.argv, &end);
    run->launchenv.output = run->options.text[PW_OPT_OUTPUT];
}

/* Whether `profwrap LAUNCHER` does the merge. False when a profwrap inside it has a directory of
 * its own. */
static int is_merged_by_launch(const struct pw_run *run)
{
    return run->launchenv.name &&
           strcmp(run->launchenv.output, run->options.text[PW_OPT_OUTPUT]) == 0;
}

/* Prints once when the ranks' variables contradict each other; the job still runs. */
static void check_identity(struct pw_run *run)
{
    const char *problem = run->id.contradiction;
    if (!problem[0])
        return;
    if (!run->id.launched) {
        if (pw_run_is_host_leader(run))
            pw_error("%s; running %s unprofiled", problem, run->argv[0]);
        run->refused = 1;
    } else if (run->id.rank == 0 && !run->launchenv.name) {
        pw_say("%s: the latter is used", problem);
    }
}

/* Why a program cannot be run, and what to do. */
static const char *why_not(const char *name, int err, char *text, size_t size)
{
    struct stat status;
    const int is_there = strchr(name, '/') && stat(name, &status) == 0;
    const char *dot = strrchr(name, '.');
    if (err == -ENOENT)
        return "no such program";
    if (!is_there || (!S_ISDIR(status.st_mode) && access(name, X_OK) == 0))
        return pw_remedy(err);
    if (S_ISDIR(status.st_mode))
        return "it is a directory; give a program";
    snprintf(text, size, "it is not executable; allow it by 'chmod +x %.200s'%s%.200s%s", name,
             dot && strcmp(dot, ".py") == 0 ? ", or run 'profwrap python3 " : "",
             dot && strcmp(dot, ".py") == 0 ? name : "", dot && strcmp(dot, ".py") == 0 ? "'" : "");
    return text;
}

static int find_program(struct pw_run *run)
{
    char why[600];
    int err = pw_program_find(run->argv[0], run->path, sizeof(run->path));
    if (err && pw_run_is_host_leader(run)) {
        const char *command = err == -ENOENT ? pw_cli_nearest_command(run->argv[0]) : NULL;
        pw_error("cannot run %s: %s%s%s%s", run->argv[0],
                 why_not(run->argv[0], err, why, sizeof(why)),
                 command          ? "; did you mean 'profwrap "
                 : err == -ENOENT ? "; check its name and PATH"
                                  : "",
                 command ? command : "", command ? "'?" : "");
    }
    return err ? pw_run_fail_after_leader(run, err == -ENOENT ? 127 : 126) : -1;
}

static int print_help(void)
{
    printf("Usage: profwrap [run] [OPTIONS] [--] PROGRAM [ARGS...]\n"
           "       profwrap [run] [OPTIONS] [--] LAUNCHER [ARGS...]\n\n"
           "A LAUNCHER (mpirun, srun, torchrun, accelerate launch, ...) runs unprofiled, and each "
           "rank that it\nstarts is profiled, as in 'profwrap torchrun --nproc-per-node 4 "
           "train.py'.\n\n");
    pw_options_print_help(stdout, PW_CMD_RUN);
    return 0;
}

/* Reads options, identity and program; *next is the program's index in argv. Returns -1 to
 * continue, else the exit status. */
static int understand(struct pw_run *run, int argc, char **argv, int *next)
{
    struct pw_options_end end = {.next = 1};
    begin(run);
    int err = pw_options_parse(&run->options, PW_CMD_RUN, argc, argv, &end);
    *next = end.next;
    if (!err && end.help)
        return print_help();
    if (!err && end.version) {
        printf("profwrap %s\n", PROFWRAP_VERSION);
        return 0;
    }
    err = err ? err : check_options(run);
    err = err ? err : pw_run_clocks_read(&run->clocks, &run->options, &run->id);
    if (err && goes_on(&run->options, argc, argv, next)) {
        if (pw_run_is_host_leader(run))
            pw_error("%s; running %s unprofiled", run->options.problem, argv[*next]);
        run->refused = 1;
    } else if (err || *next >= argc) {
        if (pw_run_is_host_leader(run))
            pw_error("%s", err ? run->options.problem
                               : "no program given; usage: profwrap [OPTIONS] PROGRAM [ARGS...]");
        return pw_run_fail_after_leader(run, 2);
    }
    pw_log_set_quiet(pw_option_flag(&run->options, PW_OPT_QUIET));
    run->argv = argv + *next;
    return find_program(run);
}

/* Whether the probe can record this program; prints why not. */
static int can_profile(struct pw_run *run)
{
    char problem[256] = "";
    switch (pw_program_inspect(run->path)) {
    case PW_PROGRAM_STATIC:
        snprintf(problem, sizeof(problem),
                 "is statically linked and cannot be profiled; link it dynamically");
        break;
    case PW_PROGRAM_OTHER_ARCH:
        snprintf(problem, sizeof(problem),
                 "is a program for another machine or word size and cannot be profiled; build it "
                 "for this one");
        break;
    default:
        break;
    }
    if (problem[0] && pw_run_is_host_leader(run))
        pw_say("%s %s; running it unprofiled", run->argv[0], problem);
    return !problem[0];
}

/* Joins the job's directory with this name. Returns 0, or an error of pw_outdir_prepare() or
 * pw_claim_take(). */
static int join(struct pw_run *run, const char *dir, char *problem, int size)
{
    int other = 0;
    int err = pw_outdir_prepare(
        dir, run->id.job, pw_option_flag(&run->options, PW_OPT_TRUST_DIRECTORY), problem, size);
    if (err || !run->id.job_may_repeat)
        return err;
    err = pw_claim_take(dir, &run->id, &other);
    if (err == -EEXIST)
        snprintf(problem, (size_t)size,
                 "output directory %s holds the profile of another job; choose another with -o, or "
                 "remove it",
                 dir);
    else if (err == -EPROTO && !other)
        problem[0] = '\0';
    else if (err == -EPROTO)
        snprintf(problem, (size_t)size,
                 "rank %d is one of %d ranks, but other ranks of the job in %s say %d: choose "
                 "another directory for each job with -o",
                 run->id.rank, run->id.size, dir, other);
    else if (err)
        snprintf(problem, (size_t)size, "output directory %s: %s", dir, pw_remedy(err));
    return err;
}

static int expand_output(struct pw_run *run)
{
    enum { ROOM = 96 }; /* bytes for the names of files and of an epoch */
    return pw_identity_expand(&run->id, run->options.text[PW_OPT_OUTPUT], run->dir,
                              (int)sizeof(run->dir) - ROOM);
}

/* Joins the directory of an epoch, when the launcher has restarted the job's ranks. */
static int join_epoch(struct pw_run *run, char *problem, int size)
{
    const size_t used = strlen(run->dir);
    int err =
        pw_outdir_prepare(run->dir, run->id.job,
                          pw_option_flag(&run->options, PW_OPT_TRUST_DIRECTORY), problem, size);
    snprintf(run->dir + used, sizeof(run->dir) - used, "/epoch-%d", run->id.restart);
    return err ? err : join(run, run->dir, problem, size);
}

static void name_job(struct pw_run *run, const char *first, int number)
{
    if (number > 1)
        snprintf(run->id.job, sizeof(run->id.job), "%.50s-%d", first, number);
}

/* Finds the job that was restarted: the last one with its name. */
static void find_restarted(struct pw_run *run, const char *first, int most)
{
    char next[sizeof(run->dir)];
    for (int number = 1; number < most; number++) {
        name_job(run, first, number + 1);
        if (expand_output(run))
            return;
        snprintf(next, sizeof(next), "%s", run->dir);
        if (access(next, F_OK)) {
            snprintf(run->id.job, sizeof(run->id.job), "%s", first);
            name_job(run, first, number);
            return;
        }
    }
}

/* Finds the directory. If another job may have the same name, tries NAME, NAME-2, ... until this
 * rank's place is free. */
static int find_directory(struct pw_run *run, char *problem, int size)
{
    enum { MOST_JOBS = 1000 };
    char first[sizeof(run->id.job)];
    const int has_choice = run->id.job_may_repeat && strstr(run->options.text[PW_OPT_OUTPUT], "%j");
    snprintf(first, sizeof(first), "%s", run->id.job);
    if (has_choice && run->id.restart)
        find_restarted(run, first, MOST_JOBS);
    for (int number = 1;; number++) {
        int err = expand_output(run);
        if (err) {
            snprintf(problem, (size_t)size, "--output is too long: choose a shorter path");
            return err;
        }
        if (run->id.restart)
            return join_epoch(run, problem, size);
        err = join(run, run->dir, problem, size);
        if (err != -EEXIST || !has_choice || number == MOST_JOBS)
            return err;
        name_job(run, first, number + 1);
    }
}

/* Prepares the directory. Returns -1 to continue, else the exit status. */
static int prepare_directory(struct pw_run *run)
{
    char problem[4400];
    int err = find_directory(run, problem, sizeof(problem));
    if (!err && is_merged_by_launch(run))
        pw_launchenv_mark(run->dir, run->launchenv.name, &run->id);
    int unprofiled = err == PW_OUTDIR_SHARED || err == -EPROTO ||
                     (err && pw_run_goes_on_after(run, err)) ||
                     (err && run->options.origin[PW_OPT_OUTPUT] == PW_OPTION_ENVIRONMENT);
    if (err && problem[0] && (pw_run_is_host_leader(run) || err == -EPROTO))
        pw_error("%s%s%s%s", problem, unprofiled ? "; running " : "",
                 unprofiled ? run->argv[0] : "", unprofiled ? " unprofiled" : pw_run_way_out(err));
    if (unprofiled)
        return pw_run_unprofiled(run);
    return err ? pw_run_fail_after_leader(run, err == -EEXIST || err == -ENAMETOOLONG ? 2 : 1) : -1;
}

/* Called while no collector runs. */
static void stand_in(void *arg)
{
    struct pw_run *run = arg;
    struct pw_segment_shared *segment;
    if (!atomic_load(&run->lifeline->is_recording) ||
        pw_segment_attach(run->lifeline->segment, &segment))
        return;
    pw_run_clocks_stand_in(&run->clocks, segment);
    pw_segment_detach(segment);
}

static void say_replaced(void *arg)
{
    const struct pw_run *run = arg;
    pw_say("the collector of rank %d was killed; another one continues its work", run->id.rank);
}

/* How far the program was with MPI when it ended: as its collector has noted, or as the segment
 * shows while the collector has not. */
static enum pw_mpi_phase find_mpi_phase(const struct pw_run *run)
{
    struct pw_segment_shared *segment;
    int32_t noted = atomic_load(&run->lifeline->mpi_phase);
    if (!noted && run->lifeline->segment[0] &&
        pw_segment_attach(run->lifeline->segment, &segment) == 0) {
        noted = 1 + (int32_t)atomic_load(&segment->mpi_phase);
        pw_segment_detach(segment);
    }
    /* The collector may have noted it and removed the segment meanwhile. */
    noted = noted ? noted : atomic_load(&run->lifeline->mpi_phase);
    return noted ? (enum pw_mpi_phase)(noted - 1) : PW_MPI_UNSEEN;
}

/* Whether the program has failed in the eyes of a launcher: then that ends the other ranks.
 * Launchers of MPI programs also take an end between MPI_Init and MPI_Finalize for a failure. Where
 * nobody saw what the program did, it may have been one. */
static bool is_failure(const struct pw_run *run, const struct pw_exit *end)
{
    const enum pw_mpi_phase phase = find_mpi_phase(run);
    return end->code != 0 || (phase != PW_MPI_UNUSED && phase != PW_MPI_FINALIZED);
}

static bool is_urgent(void *arg, const struct pw_exit *end)
{
    const struct pw_run *run = arg;
    return run->id.launched && (pw_launch_end_requested() || is_failure(run, end));
}

static void give_up(void *arg)
{
    const struct pw_run *run = arg;
    pw_error("the collectors of rank %d crash when they start: %s continues without one; 'profwrap "
             "recover %s' makes its file later",
             run->id.rank, run->argv[0], run->dir);
}

/* Ends the guard as the program ended, by the same signal, because the launcher watches the
 * guard. */
static int end_alike(const struct pw_run *run, int status)
{
    struct pw_lifeline *line = run->lifeline;
    if (atomic_load(&line->has_ended) == PW_ENDED) {
        const struct pw_exit end = pw_exit_of(line->wait_status);
        fflush(NULL);
        pw_launch_close_sockets_first(line);
        if (end.signal)
            pw_launch_die_of(end.signal);
        return pw_exit_status(&end);
    }
    return status;
}

/* Runs the guard until the program has ended. Returns the exit status. *must_end: see guard.h. */
static int be_guard(struct pw_run *run, bool *must_end)
{
    const struct pw_guard guard = {
        .lifeline = run->lifeline,
        .arg = run,
        .collect = pw_collect,
        .take_over = pw_collect_on,
        .stand_in = stand_in,
        .give_up = give_up,
        .say_replaced = say_replaced,
        .is_urgent = is_urgent,
    };
    int status = pw_guard_run(&guard, must_end);
    if (status < 0) {
        pw_error("no collector of rank %d could start, see profwrap doctor: running %s unprofiled",
                 run->id.rank, run->argv[0]);
        status = pw_run_unprofiled(run);
    }
    return status;
}

/* Whether rank 0's profwrap concludes the job. */
static bool is_concluded_by_rank(const struct pw_run *run)
{
    return !is_merged_by_launch(run) && !pw_option_flag(&run->options, PW_OPT_NO_MERGE);
}

/* Merges and reports. Returns as pw_conclude(). */
static int conclude(const struct pw_run *run, bool is_launcher_waiting)
{
    if (!atomic_load(&run->lifeline->is_profiled))
        return 0;
    if (run->launcher) /* the launcher may have bound this rank to one core */
        pw_sparecore_leave(run->launcher, INT_MAX);
    if (run->id.restart) {
        char job[sizeof(run->dir)];
        snprintf(job, sizeof(job), "%s", run->dir);
        *strrchr(job, '/') = '\0';
        pw_conclude_epochs(job, run->id.restart);
    }
    return pw_conclude(run->dir, run->id.size, &run->options, is_launcher_waiting);
}

/* In the process that stands by. */
static void conclude_for_guard(void *arg)
{
    struct pw_run *run = arg;
    pw_latereport_lock(run->dir);
    conclude(run, false);
    pw_conclude_forget_later(run->dir);
    pw_run_clocks_fini(&run->clocks);
}

/* Starts the process that concludes the job if the launcher kills this one. Where there is no
 * launcher, it is started when it is needed. */
static pid_t start_standby(struct pw_run *run)
{
    if (run->id.rank != 0 || !run->launcher || !is_concluded_by_rank(run))
        return 0;
    return pw_standby_start(run->lifeline, run->launcher, run->dir, conclude_for_guard, run);
}

/* In rank 0: concludes the job, or leaves that to the process that stands by. `must_end`: the
 * launcher must not wait for this process. Returns whether another process concludes it. */
static bool finish_job(struct pw_run *run, bool must_end, pid_t standby)
{
    if (!must_end && conclude(run, run->id.launched) == 0) {
        atomic_store(&run->lifeline->has_concluded, 1);
        pw_standby_dismiss(standby);
        return false;
    }
    if (standby <= 0)
        pw_standby_start(run->lifeline, run->launcher, run->dir, conclude_for_guard, run);
    return true;
}

/* At the end of a rank. */
static void finish_rank(struct pw_run *run, bool must_end, pid_t standby)
{
    bool is_later = must_end;
    if (!must_end || run->id.rank != 0)
        pw_run_clocks_fini(&run->clocks);
    if (!is_concluded_by_rank(run))
        return;
    if (run->id.rank == 0)
        is_later = finish_job(run, must_end, standby);
    if (is_later && atomic_load(&run->lifeline->is_profiled))
        pw_conclude_say_later(run->dir);
}

/* Without `profwrap LAUNCHER` nobody is there to tell of slow ranks while the job runs. */
static void say_no_alerts(const struct pw_run *run)
{
    const struct pw_options *o = &run->options;
    if (run->id.rank == 0 && !run->launchenv.name &&
        (o->origin[PW_OPT_ALERTS] == PW_OPTION_COMMAND_LINE ||
         o->origin[PW_OPT_ON_ALERT] == PW_OPTION_COMMAND_LINE))
        pw_say("--alerts and --on-alert are for 'profwrap LAUNCHER', as in 'profwrap --alerts "
               "mpirun ...'; here, 'profwrap report --watch --alerts %s' tells of slow ranks",
               run->dir);
}

/* Runs the rank. Returns the exit status. */
static int run_rank(struct pw_run *run)
{
    check_identity(run);
    if (run->refused || !can_profile(run))
        return pw_run_unprofiled(run);
    int status = prepare_directory(run);
    if (status >= 0)
        return status;
    say_no_alerts(run);
    pw_run_clocks_init(&run->clocks, &run->id, run->dir);
    run->launcher = run->id.launched ? getppid() : 0;
    const pid_t standby = start_standby(run);
    bool must_end = false;
    status = be_guard(run, &must_end);
    finish_rank(run, must_end, standby);
    return status;
}

static int start(struct pw_run *run)
{
    pw_launch_fill_descriptors();
    run->lifeline = pw_lifeline_create();
    if (!run->lifeline) {
        pw_error("cannot run %s: %s", run->path, pw_remedy(ENOMEM));
        return 126;
    }
    pw_launch_note_descriptors(run->lifeline);
    pw_launch_relay_signals(run->lifeline);
    return -1;
}

/* Executes a launcher that was started by a launcher, unprofiled: its ranks belong to the same
 * launch. */
static int become_launcher(const struct pw_run *run)
{
    umask(run->umask);
    execv(run->path, run->argv);
    pw_error("cannot run %s: %s", run->path, pw_remedy(errno));
    return 126;
}

/* Returns the number of words that are options, without "--". */
static int count_options(char **argv, int next)
{
    return next > 1 && strcmp(argv[next - 1], "--") == 0 ? next - 2 : next - 1;
}

int pw_cli_run(int argc, char **argv)
{
    static struct pw_run run;
    int next;
    run.umask = umask(077); /* only the owner may read a profile; merge and report inherit this */
    int status = understand(&run, argc, argv, &next);
    if (status >= 0)
        return status;
    const int is_launcher = pw_rank_is_launcher(run.argv) ||
                            (pw_option_flag(&run.options, PW_OPT_LAUNCHER) && !run.launchenv.name);
    if (is_launcher && run.launchenv.name)
        return become_launcher(&run);
    pw_launchenv_forget();
    status = start(&run);
    if (status >= 0)
        return status;
    if (is_launcher && !run.refused)
        return end_alike(&run, pw_cli_launch(&run, argv + 1, count_options(argv, next)));
    return end_alike(&run, run_rank(&run));
}

/* The command that the launch library executes in a rank: "worker PATH PROGRAM ARGS...". */
int pw_cli_worker(int argc, char **argv)
{
    static struct pw_run run;
    if (argc < 3) {
        pw_error(
            "'worker' is for processes that 'profwrap LAUNCHER' starts; see profwrap help run");
        return 2;
    }
    run.umask = umask(077);
    begin(&run);
    pw_launchenv_forget();
    run.refused =
        check_options(&run) != 0 || pw_run_clocks_read(&run.clocks, &run.options, &run.id) != 0;
    pw_log_set_quiet(pw_option_flag(&run.options, PW_OPT_QUIET));
    snprintf(run.path, sizeof(run.path), "%s", argv[1]);
    run.argv = argv + 2;
    const int status = start(&run);
    return status >= 0 ? status : end_alike(&run, run_rank(&run));
}
