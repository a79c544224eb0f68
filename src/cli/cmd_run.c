/* `profwrap [run] PROGRAM`: reads the options, becomes the guard of one rank, and concludes the
 * job. Capture that cannot work never stops the program: it then runs unprofiled, and one line says
 * so.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cmd_recover.h"
#include "cli/cmd_report.h"
#include "cli/commands.h"
#include "core/h5/h5types.h"
#include "core/log.h"
#include "core/options.h"
#include "rank/run/guard.h"
#include "rank/run/launch.h"
#include "rank/run/outdir.h"
#include "rank/run/program.h"
#include "run/activities.h"
#include "run/paths.h"
#include "run/run.h"

/* What rank 0 does when its program has ended: waits for the other ranks' files, merges, reports.
 *
 * The end of a job, on rank 0; see cmd_run.c. The merge is an MPI job of its own: an MPI that the
 * application has finalised cannot be started again in this process tree. */

/* How long nothing may change while a rank is still being written, and how long to wait for ranks
 * that have shown no file at all. */
enum { PATIENCE_MS = 30000, PATIENCE_UNSEEN_MS = 3000, LOOK_MS = 20 };

enum { MAX_MERGE_PROCESSES = 8 };

static const char ANY_SIZE[] = "1000000G";

/* What mpirun, srun and PMIx gave this process to know its own job by: a new mpirun would take them
 * for its own. The user's settings (OMPI_ALLOW_RUN_AS_ROOT, OMPI_MCA_btl, ...) have none of these
 * names. */
static const char *const launcher_variables[] = {
    "PMIX_",
    "PMI_",
    "SLURM_",
    "OMPI_COMM_WORLD_",
    "OMPI_APP_CTX_NUM_PROCS=",
    "OMPI_COMMAND=",
    "OMPI_ARGV=",
    "OMPI_FILE_LOCATION=",
    "OMPI_FIRST_RANKS=",
    "OMPI_NUM_APP_CTX=",
    "OMPI_UNIVERSE_SIZE=",
    "OMPI_MCA_ess",
    "OMPI_MCA_initial_wdir=",
    "OMPI_MCA_mpi_oversubscribe=",
    "OMPI_MCA_pmix=",
    "OMPI_MCA_shmem_RUNTIME_QUERY_hint=",
    "OMPI_MCA_orte_app_num=",
    "OMPI_MCA_orte_fork_agent=", /* that is profwrap: the merge is not to be profiled */
    "OMPI_MCA_orte_bound_at_launch=",
    "OMPI_MCA_orte_ess_",
    "OMPI_MCA_orte_hnp_uri=",
    "OMPI_MCA_orte_jobfam_session_dir=",
    "OMPI_MCA_orte_launch=",
    "OMPI_MCA_orte_local_daemon_uri=",
    "OMPI_MCA_orte_num_nodes=",
    "OMPI_MCA_orte_precondition_transports=",
    "OMPI_MCA_orte_tmpdir_base=",
    "PRTE_MCA_prte_fork_agent=",
    "OMPI_MCA_orte_top_session_dir=",
};

extern char **environ;

static int belongs_to_launcher(const char *variable)
{
    for (size_t i = 0; i < sizeof(launcher_variables) / sizeof(launcher_variables[0]); i++)
        if (strncmp(variable, launcher_variables[i], strlen(launcher_variables[i])) == 0)
            return 1;
    return 0;
}

static void remove_launcher_variables(void)
{
    char **keep = environ;
    for (char **at = environ; *at; at++)
        if (!belongs_to_launcher(*at))
            *keep++ = *at;
    *keep = NULL;
}

static int exists(const char *dir, int rank, const char *suffix)
{
    char path[4200];
    snprintf(path, sizeof(path), "%s/rank-%05d%s", dir, rank, suffix);
    return access(path, F_OK) == 0;
}

/* Waits until every rank's file has its final name; the number of those that have. A rank whose
 * collector is alive or can be replaced has a journal. */
static int await_files(const char *dir, int ranks)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
    int ready = 0, last_ready = -1, quiet_ms = 0;
    while (!pw_launch_end_requested()) {
        int writing = 0;
        ready = 0;
        for (int r = 0; r < ranks; r++) {
            ready += exists(dir, r, ".h5");
            writing += exists(dir, r, ".h5.part") || exists(dir, r, ".journal");
        }
        quiet_ms = ready == last_ready ? quiet_ms + LOOK_MS : 0;
        last_ready = ready;
        if (ready == ranks || quiet_ms > (writing ? PATIENCE_MS : PATIENCE_UNSEEN_MS))
            break;
        nanosleep(&pause, NULL);
    }
    return ready;
}

static int merge_processes(int ranks)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int n = cores > 0 && cores < MAX_MERGE_PROCESSES ? (int)cores : MAX_MERGE_PROCESSES;
    return ranks < n ? ranks : n;
}

/* As options of the merge. */
static void pass_flops(const struct pw_options *options)
{
    setenv("PROFWRAP_MERGE_STEP_FLOPS", options->text[PW_OPT_STEP_FLOPS], 1);
    setenv("PROFWRAP_MERGE_PEAK_FLOPS", options->text[PW_OPT_PEAK_FLOPS], 1);
    setenv("PROFWRAP_MERGE_FLOPS_TYPE", options->text[PW_OPT_FLOPS_TYPE], 1);
}

/* In the child. Standard output belongs to the application. */
__attribute__((noreturn)) static void become_merge(const char *dir, int processes,
                                                   const struct pw_options *options)
{
    char self[4096], count[16], host[32];
    dup2(STDERR_FILENO, STDOUT_FILENO);
    remove_launcher_variables();
    setenv("PROFWRAP_READ_MEMORY", ANY_SIZE, 0); /* the job's own files are no stranger's */
    if (pw_option_flag(options, PW_OPT_QUIET))
        setenv("PROFWRAP_MERGE_QUIET", "1", 1);
    pass_flops(options);
    snprintf(count, sizeof(count), "%d", processes);
    snprintf(host, sizeof(host), "localhost:%d", processes);
    if (pw_cli_self(self, sizeof(self)) == 0) {
        if (processes > 1)
            execlp("mpirun", "mpirun", "--host", host, "--oversubscribe", "--bind-to", "none",
                   "-np", count, self, "merge", dir, (char *)NULL);
        execl(self, self, "merge", dir, (char *)NULL);
    }
    _exit(127);
}

static int run_merge(const char *dir, int processes, const struct pw_options *options)
{
    pid_t pid = fork();
    if (pid == 0)
        become_merge(dir, processes, options);
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* Never fails the run: what cannot be done is said in one line, with the command that does it
 * later. */
static void pw_conclude(const char *dir, int ranks, const struct pw_options *options)
{
    int ready = await_files(dir, ranks);
    if (pw_launch_end_requested()) {
        pw_say("the job was asked to end; 'profwrap merge %s' and 'profwrap report %s' make its "
               "report",
               dir, dir);
        return;
    }
    if (ready < ranks) {
        struct pw_recovery found;
        pw_h5_quiet();
        if (pw_cli_recover_all(dir, 0, &found) == 0)
            ready += found.recovered;
    }
    if (ready < ranks)
        pw_say("only %d of %d rank files are complete; merging what is there", ready, ranks);
    if (ready == 0)
        return;
    if (run_merge(dir, merge_processes(ranks), options)) {
        pw_error("the merge failed; try 'profwrap merge %s'", dir);
        return;
    }
    int show = !pw_option_flag(options, PW_OPT_NO_REPORT) && !pw_option_flag(options, PW_OPT_QUIET);
    pw_cli_report_write(dir, show ? stderr : NULL, pw_option_flag(options, PW_OPT_SUMMARY));
}

/* Lists, whose parsers say what is wrong. */
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
    return 0;
}

/* Whether the program is to run although the options are wrong: it was not its command line that
 * was mistyped, or that was asked for. Of the command line any may not have been read then: the
 * program is what follows "--". */
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

/* Options, identity and program; -1 to go on, else the exit status. */
static int understand(struct pw_run *run, int argc, char **argv)
{
    struct pw_options_end end;
    pw_options_init(&run->options);
    pw_identity_find(&run->id, run->options.text[PW_OPT_FSROOT],
                     run->options.text[PW_OPT_HOSTNAME]);
    int err = pw_options_parse(&run->options, PW_CMD_RUN, argc, argv, &end);
    if (!err && end.help) {
        printf("Usage: profwrap [run] [OPTIONS] [--] PROGRAM [ARGS...]\n\n");
        pw_options_print_help(stdout, PW_CMD_RUN);
        return 0;
    }
    if (!err && end.version) {
        printf("profwrap %s\n", PROFWRAP_VERSION);
        return 0;
    }
    err = err ? err : check_options(run);
    err = err ? err : pw_run_clocks_read(&run->clocks, &run->options, &run->id);
    if (err && goes_on(&run->options, argc, argv, &end.next)) {
        if (pw_run_is_host_leader(run))
            pw_error("%s; running %s unprofiled", run->options.problem, argv[end.next]);
        run->refused = 1;
    } else if (err || end.next >= argc) {
        if (pw_run_is_host_leader(run))
            pw_error("%s", err ? run->options.problem
                               : "no program given; usage: profwrap [OPTIONS] PROGRAM [ARGS...]");
        return pw_run_fail_after_leader(run, 2);
    }
    pw_log_set_quiet(pw_option_flag(&run->options, PW_OPT_QUIET));
    run->argv = argv + end.next;
    err = pw_program_find(run->argv[0], run->path, sizeof(run->path));
    if (err && pw_run_is_host_leader(run))
        pw_error("cannot run %s: %s", run->argv[0],
                 err == -ENOENT ? "no such program" : strerror(-err));
    return err ? pw_run_fail_after_leader(run, err == -ENOENT ? 127 : 126) : -1;
}

/* Whether the probe can do anything for this program; says why not. */
static int can_profile(struct pw_run *run)
{
    char library[128], problem[256] = "";
    switch (pw_program_inspect(run->path, library, sizeof(library))) {
    case PW_PROGRAM_STATIC:
        snprintf(problem, sizeof(problem),
                 "is statically linked and cannot be profiled; link it dynamically");
        break;
    case PW_PROGRAM_OTHER_MPI:
        snprintf(problem, sizeof(problem),
                 "is built against %.100s, not Open MPI, and cannot be profiled", library);
        break;
    case PW_PROGRAM_OTHER_ARCH:
        snprintf(problem, sizeof(problem),
                 "is a program for another machine or word size and cannot be profiled");
        break;
    default:
        break;
    }
    if (problem[0] && pw_run_is_host_leader(run))
        pw_say("%s %s; running it unprofiled", run->argv[0], problem);
    return !problem[0];
}

/* The directory; -1 to go on, else the exit status. */
static int prepare_directory(struct pw_run *run)
{
    char problem[4300];
    int err = pw_identity_expand(&run->id, run->options.text[PW_OPT_OUTPUT], run->dir,
                                 sizeof(run->dir) - 64);
    if (err)
        snprintf(problem, sizeof(problem), "--output is too long");
    else
        err = pw_outdir_prepare(run->dir, run->id.job,
                                pw_option_flag(&run->options, PW_OPT_TRUST_DIRECTORY), problem,
                                sizeof(problem));
    int unprofiled = err && (err == PW_OUTDIR_SHARED || pw_run_goes_on_after(run, err) ||
                             run->options.origin[PW_OPT_OUTPUT] == PW_OPTION_ENVIRONMENT);
    if (err && pw_run_is_host_leader(run))
        pw_error("%s%s%s%s", problem, unprofiled ? "; running " : "",
                 unprofiled ? run->argv[0] : "", unprofiled ? " unprofiled" : "");
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
    pw_run_clocks_decide(&run->clocks, segment);
    pw_segment_detach(segment);
}

static void give_up(void *arg)
{
    const struct pw_run *run = arg;
    pw_error("the collectors of rank %d crash when they start: %s continues without one; 'profwrap "
             "recover %s' makes its file later",
             run->id.rank, run->argv[0], run->dir);
}

/* As the program ended, so does what the launcher takes for it: by the same signal. */
static int end_alike(const struct pw_run *run, int status)
{
    struct pw_lifeline *line = run->lifeline;
    if (atomic_load(&line->has_ended) == PW_ENDED) {
        const struct pw_exit end = pw_exit_of(line->wait_status);
        fflush(NULL);
        if (end.signal)
            pw_launch_die_of(end.signal);
        return pw_exit_status(&end);
    }
    return status;
}

/* Guard of a collector, to the end. */
static int be_guard(struct pw_run *run)
{
    const struct pw_guard guard = {
        .lifeline = run->lifeline,
        .arg = run,
        .collect = pw_collect,
        .take_over = pw_collect_on,
        .stand_in = stand_in,
        .give_up = give_up,
    };
    int status = pw_guard_run(&guard);
    if (status < 0) {
        pw_error("no collector of rank %d could start: running %s unprofiled", run->id.rank,
                 run->argv[0]);
        status = pw_run_unprofiled(run);
    }
    return status;
}

int pw_cli_run(int argc, char **argv)
{
    static struct pw_run run;
    run.umask = umask(077); /* a profile is its owner's; merge and report inherit this */
    int status = understand(&run, argc, argv);
    if (status >= 0)
        return status;
    run.lifeline = pw_lifeline_create();
    if (!run.lifeline) {
        pw_error("cannot run %s: %s", run.path, strerror(ENOMEM));
        return 126;
    }
    pw_launch_relay_signals(run.lifeline);
    if (run.refused || !can_profile(&run))
        return end_alike(&run, pw_run_unprofiled(&run));
    status = prepare_directory(&run);
    if (status >= 0)
        return end_alike(&run, status);
    pw_run_clocks_init(&run.clocks, &run.id, run.dir);
    status = be_guard(&run);
    pw_run_clocks_fini(&run.clocks);
    if (run.id.rank == 0 && !pw_option_flag(&run.options, PW_OPT_NO_MERGE) &&
        atomic_load(&run.lifeline->is_profiled)) {
        if (pw_option_flag(&run.options, PW_OPT_TRUST_DIRECTORY))
            setenv("PROFWRAP_TRUST_DIRECTORY", "1", 1); /* the merge writes there, too */
        pw_conclude(run.dir, run.id.size, &run.options);
    }
    return end_alike(&run, status);
}
