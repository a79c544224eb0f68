/* Functions that both the guard and the collectors of a run call; see run.h. */
#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/log.h"
#include "rank/clocks/rendezvous.h"
#include "rank/collect/recover.h"
#include "run/activities.h"

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
        pw_error("cannot run %s: %s", run->path, strerror(-pid));
        return 126;
    }
    while (!pw_launch_has_ended(run->lifeline, &end))
        pw_launch_sleep(&wake, 0, LOOK_NS);
    return pw_exit_status(&end);
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
    int err = pw_recover_rank(run->dir, run->id.rank, pw_cli_collectors());
    /* `profwrap recover` may be working on the journal. */
    for (int look = 0; err == -EBUSY && look < MOST_LOOKS; look++) {
        usleep(LOOK_US);
        err = pw_recover_rank(run->dir, run->id.rank, pw_cli_collectors());
    }
    if (err && err != -ENOENT)
        return err;
    shm_unlink(run->lifeline->segment);
    return 0;
}
