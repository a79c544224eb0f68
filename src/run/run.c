/* Functions that both the guard and the collectors of a run call; see run.h. */
#include "run/run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/log.h"
#include "core/remedy.h"
#include "rank/clocks/rendezvous.h"
#include "rank/collect/recover.h"
#include "rank/ring/record.h"
#include "rank/run/launch.h"
#include "run/activities.h"
#include "run/paths.h"

int pw_run_clocks_read(struct pw_run_clocks *c, struct pw_options *options, struct pw_identity *id)
{
    const char *text = options->text[PW_OPT_TEST_CLOCK];
    c->is_active = strcmp(options->text[PW_OPT_CLOCK_SYNC], "active") == 0;
    c->interval_ns = pw_option_int(options, PW_OPT_CLOCK_INTERVAL);
    if (c->interval_ns > 86400)
        return pw_option_refuse(options, PW_OPT_CLOCK_INTERVAL, "0 to 86400");
    c->interval_ns *= 1000000000;
    /* In tests each rank can have a clock of its own. The variable is set, but empty, in those
     * ranks whose clock is right. */
    c->is_one = id->is_one_host && !getenv("PROFWRAP_TEST_CLOCK") && !*options->text[PW_OPT_FSROOT];
    if (!*text)
        return 0;
    if (pw_testclock_parse(text, &c->test))
        return pw_option_refuse(options, PW_OPT_TEST_CLOCK, "offset_ns:drift_ppm:wander_ppm");
    pw_identity_split_clock(id, text);
    return 0;
}

void pw_run_clocks_init(struct pw_run_clocks *c, const struct pw_identity *id, const char *dir)
{
    c->id = id;
    c->dir = dir;
    pw_agree_init(&c->agreement, dir, id->clock_domain_hash, id->rank, id->size);
    c->agreement.has_probes = c->is_active && c->interval_ns > 0;
    /* Where the launcher does not tell, local_size is the job's. */
    c->agreement.hosted = id->local_size < id->size ? id->local_size : 0;
}

void pw_run_clocks_set_up(const struct pw_run_clocks *c, struct pw_segment_shared *segment)
{
    if (c->is_one)
        atomic_store(&segment->sync_decision, PW_SYNC_NO);
}

void pw_run_clocks_begin(struct pw_run_clocks *c)
{
    int err = 0;
    /* Rank 0 tells which host is the reference; else only the host's leader measures. */
    if (c->is_active && (c->id->rank == 0 || pw_hostpage_lead(&c->agreement.page)))
        err = pw_clockprobe_start(c->dir, c->id, &c->test, c->interval_ns, &c->probe);
    if (err)
        pw_debug(PW_LOG_CLOCK, 1, "no clock probes: %s", strerror(-err));
    c->agreement.has_shown = c->probe != NULL;
}

/* Decides on the synchronisation. The option should be the same on all ranks; if one rank does not
 * synchronise, none does. */
static int decide(struct pw_run_clocks *c, struct pw_segment_shared *segment)
{
    if (!atomic_load(&segment->sync_requested) ||
        atomic_load(&segment->sync_decision) != PW_SYNC_UNDECIDED)
        return 0;
    if (!c->is_active)
        pw_agree_refuse(&c->agreement);
    enum pw_sync_decision decision = pw_agree_poll(&c->agreement);
    if (decision != PW_SYNC_UNDECIDED)
        atomic_store(&segment->sync_decision, decision);
    return decision == PW_SYNC_UNDECIDED;
}

void pw_run_clocks_stand_in(struct pw_run_clocks *c, struct pw_segment_shared *segment)
{
    decide(c, segment);
    pw_agree_serve(&c->agreement);
    pw_hostpage_resign(&c->agreement.page);
}

static void take_knots(struct pw_run_clocks *c, struct pw_rankfile *file)
{
    struct pw_row_clock knot;
    while (pw_clockprobe_take(c->probe, &knot))
        pw_rankfile_append_measured(file, PW_TABLE_clock, &knot);
}

/* Measures when all ranks are in MPI_Init or MPI_Finalize: then the collectors of all hosts run,
 * also in a job that is shorter than the interval of measurements. */
static void measure_at_ends(struct pw_run_clocks *c, const struct pw_segment_shared *segment)
{
    const uint32_t moments = (atomic_load(&segment->sync_requested) &&
                              atomic_load(&segment->sync_decision) != PW_SYNC_UNDECIDED) +
                             (atomic_load(&segment->mpi_phase) >= PW_MPI_FINALIZING);
    if (moments > c->asked)
        pw_clockprobe_ask(c->probe);
    c->asked = moments;
}

int pw_run_clocks_poll(struct pw_run_clocks *c, struct pw_segment_shared *segment,
                       struct pw_rankfile *file)
{
    if (c->probe)
        take_knots(c, file);
    const int waits = decide(c, segment);
    measure_at_ends(c, segment);
    return pw_agree_serve(&c->agreement) || waits;
}

void pw_run_clocks_end(struct pw_run_clocks *c, struct pw_rankfile *file)
{
    struct pw_clockprobe_cost cost;
    pw_clockprobe_stop(c->probe, &cost);
    take_knots(c, file);
    pw_clockprobe_destroy(c->probe);
    c->probe = NULL;
    pw_rankfile_overhead(file, "clock_probe", (double)cost.cpu_ns, "ns");
    pw_rankfile_overhead(file, "clock_probes", (double)cost.exchanges, "probes");
    if (cost.refused)
        pw_rankfile_overhead(file, "clock_probes_refused", (double)cost.refused, "packets");
}

void pw_run_clocks_leave(struct pw_run_clocks *c)
{
    pw_agree_end(&c->agreement);
}

void pw_run_clocks_fini(struct pw_run_clocks *c)
{
    pw_agree_fini(&c->agreement, c->id->rank == 0);
    if (c->id->rank == 0)
        pw_rendezvous_remove(c->dir);
}

int pw_run_is_host_leader(const struct pw_run *run)
{
    return run->id.local_rank == 0;
}

int pw_run_fail_after_leader(const struct pw_run *run, int status)
{
    enum { GO_FIRST_US = 500000 };
    if (!pw_run_is_host_leader(run))
        usleep(GO_FIRST_US);
    return status;
}

int pw_run_unprofiled(struct pw_run *run)
{
    enum { LOOK_NS = 50000000 };
    static _Atomic uint32_t wake;
    const struct pw_launch launch = {
        .argv = run->argv, .lifeline = run->lifeline, .umask = run->umask};
    struct pw_exit end;
    pw_agree_refuse(&run->clocks.agreement);
    pid_t pid = pw_launch_start(&launch, run->path);
    /* No process can be created: execute the program in the guard's process. */
    if ((pid == -EAGAIN || pid == -ENOMEM) && getpid() == run->lifeline->guard_pid)
        pid = pw_launch_become(&launch, run->path);
    if (pid < 0) {
        pw_error("cannot run %s: %s", run->path, pw_remedy(pid));
        return 126;
    }
    while (!pw_launch_has_ended(run->lifeline, &end))
        pw_launch_sleep(&wake, 0, LOOK_NS);
    return pw_exit_status(&end);
}

const char *pw_run_way_out(int err)
{
    return err == -EEXIST || err == -ENAMETOOLONG
               ? ""
               : "; --unprofiled-on-error runs the program all the same";
}

int pw_run_goes_on_after(const struct pw_run *run, int err)
{
    static const int shortages[] = {ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, EAGAIN, EIO};
    for (size_t i = 0; i < sizeof(shortages) / sizeof(shortages[0]); i++)
        if (err == -shortages[i])
            return 1;
    return pw_option_flag(&run->options, PW_OPT_UNPROFILED_ON_ERROR);
}

int pw_run_recover(const struct pw_run *run)
{
    enum { LOOK_US = 20000, MOST_LOOKS = 500 };
    int err = pw_recover_rank(run->dir, run->id.rank, pw_cli_modules());
    /* `profwrap recover` may be working on the journal. */
    for (int look = 0; err == -EBUSY && look < MOST_LOOKS; look++) {
        usleep(LOOK_US);
        err = pw_recover_rank(run->dir, run->id.rank, pw_cli_modules());
    }
    if (err && err != -ENOENT)
        return err;
    shm_unlink(run->lifeline->segment);
    return 0;
}

/* ---- other ways than LD_PRELOAD to load the probe ----
 *
 * Environment variables name the probe as the tool of NVTX, CUDA and NCCL. When a variable already
 * names another tool, it is kept, and one line is printed. */

/* Whether to set this variable; prints why not when the user might expect it. */
static int injects(const struct pw_run *run, const char *probe, uint32_t activity,
                   const char *variable, const char *what)
{
    const char *other = getenv(variable);
    if (!(run->activities & activity))
        return 0;
    if (!other || !*other || strcmp(other, probe) == 0)
        return 1;
    if (pw_run_is_host_leader(run))
        pw_say("%s is not recorded: %s names another tool, %s", what, variable, other);
    return 0;
}

static int can_inject_nvtx(const struct pw_run *run, const char *probe)
{
    return PROFWRAP_HAVE_NVTX && injects(run, probe, PW_ACTIVITY_NVTX, PW_NVTX_VARIABLE, "NVTX");
}

static int can_inject_cuda(const struct pw_run *run, const char *probe)
{
    return injects(run, probe, PW_ACTIVITY_CUDA, PW_CUDA_VARIABLE, "CUDA");
}

/* Returns the path of the auditor (in `out`) with --audit; NULL without the option, or when the
 * library is missing. */
static const char *audit_library(const struct pw_run *run, const char *probe, char *out,
                                 size_t size)
{
    const char *slash = strrchr(probe, '/');
    if (!pw_option_flag(&run->options, PW_OPT_AUDIT) || !(run->activities & PW_ACTIVITY_MPI))
        return NULL;
    snprintf(out, size, "%.*s/libprofwrap_audit.so", slash ? (int)(slash - probe) : 1,
             slash ? probe : ".");
    if (access(out, R_OK) == 0)
        return out;
    if (pw_run_is_host_leader(run))
        pw_say("--audit has no effect: %s is not there", out);
    return NULL;
}

/* Whether the value makes NCCL look for a plugin in the program's image, which includes the
 * probe. */
static int is_static(const char *plugin)
{
    return strncasecmp(plugin, "STATIC_PLUGIN", strlen(plugin)) == 0;
}

/* Returns the value of the variable with NCCL's plugin; NULL: do not set it. */
static const char *nccl_plugin(const struct pw_run *run, const char *probe)
{
    const char *other = getenv(PW_NCCL_VARIABLE);
    const int is_other = other && *other && strcmp(other, probe) != 0;
    if (!(run->activities & PW_ACTIVITY_NCCL))
        return NULL;
    if (is_other && !is_static(other) && pw_run_is_host_leader(run))
        pw_say("NCCL's profiler plugin is not used: " PW_NCCL_VARIABLE " names another plugin");
    if (is_other)
        return NULL;
    return strlen(probe) > PW_NCCL_LONGEST_PATH ? PW_NCCL_STATIC : probe;
}

/* Returns the option (I, E or S) by which a Python command line ignores PYTHONPATH or runs no
 * sitecustomize.py; 0 when there is none or the program is not Python. */
static char ignores_path(char *const *argv)
{
    const char *slash = strrchr(argv[0], '/');
    if (strncmp(slash ? slash + 1 : argv[0], "python", strlen("python")) != 0)
        return 0;
    for (int i = 1; argv[i] && argv[i][0] == '-' && argv[i][1] && argv[i][1] != '-'; i++)
        for (const char *letter = argv[i] + 1; *letter; letter++) {
            if (strchr("IES", *letter))
                return *letter;
            if (strchr("cm", *letter)) /* the rest belongs to the Python program */
                return 0;
            if (strchr("WX", *letter)) { /* the option has a value */
                if (!letter[1] && argv[i + 1])
                    i++;
                break;
            }
        }
    return 0;
}

/* Returns the directory (in `out`) whose sitecustomize.py instruments PyTorch; NULL: do not
 * instrument. */
static const char *python_hook(const struct pw_run *run, char *out)
{
    char path[4096];
    if (!(run->activities & PW_ACTIVITY_ANNOTATIONS) ||
        pw_option_flag(&run->options, PW_OPT_NO_PYTHON))
        return NULL;
    if (pw_cli_python_hook_dir(path, sizeof(path)) || !realpath(path, out))
        return NULL;
    const char option = ignores_path(run->argv);
    if (option && pw_run_is_host_leader(run))
        pw_say("%s -%c runs no sitecustomize.py of PYTHONPATH: if it uses PyTorch, no steps and "
               "phases "
               "are recorded",
               run->argv[0], option);
    if (!strchr(out, ':')) /* PYTHONPATH is split at ':' */
        return out;
    if (pw_run_is_host_leader(run))
        pw_say("PyTorch is not instrumented: the path %s has a colon in it", out);
    return NULL;
}

void pw_injection_choose(const struct pw_run *run, const char *probe, struct pw_injection *out)
{
    out->audit = audit_library(run, probe, out->audit_path, sizeof(out->audit_path));
    out->nvtx = can_inject_nvtx(run, probe);
    out->cuda = can_inject_cuda(run, probe);
    out->nccl = nccl_plugin(run, probe);
    out->python = python_hook(run, out->python_path);
}
