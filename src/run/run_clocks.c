/* Ties the synchronisation over MPI and the clock probes to a run; see run_clocks.h. */
#include "run/run_clocks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "rank/clocks/rendezvous.h"

int pw_run_clocks_read(struct pw_run_clocks *c, struct pw_options *options, struct pw_identity *id)
{
    const char *text = options->text[PW_OPT_TEST_CLOCK];
    c->is_active = strcmp(options->text[PW_OPT_CLOCK_SYNC], "active") == 0;
    c->interval_ns = pw_option_int(options, PW_OPT_CLOCK_INTERVAL);
    if (c->interval_ns > 86400)
        return pw_option_refuse(options, PW_OPT_CLOCK_INTERVAL, "0 to 86400");
    c->interval_ns *= 1000000000;
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
    pw_agree_init(&c->agreement, dir, id->rank, id->size);
}

void pw_run_clocks_begin(struct pw_run_clocks *c)
{
    int err =
        c->is_active ? pw_clockprobe_start(c->dir, c->id, &c->test, c->interval_ns, &c->probe) : 0;
    if (err)
        pw_debug(PW_LOG_CLOCK, 1, "no clock probes: %s", strerror(-err));
}

/* The option is the same on all ranks; one that differs decides for all of them. */
int pw_run_clocks_decide(struct pw_run_clocks *c, struct pw_segment_shared *segment)
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

static void take_knots(struct pw_run_clocks *c, struct pw_rankfile *file)
{
    struct pw_row_clock knot;
    while (pw_clockprobe_take(c->probe, &knot))
        pw_rankfile_append_measured(file, PW_TABLE_clock, &knot);
}

int pw_run_clocks_poll(struct pw_run_clocks *c, struct pw_segment_shared *segment,
                       struct pw_rankfile *file)
{
    if (c->probe)
        take_knots(c, file);
    return pw_run_clocks_decide(c, segment);
}

void pw_run_clocks_end(struct pw_run_clocks *c, struct pw_rankfile *file)
{
    struct pw_clockprobe_cost cost;
    take_knots(c, file);
    pw_clockprobe_stop(c->probe, &cost);
    c->probe = NULL;
    pw_rankfile_overhead(file, "clock_probe", (double)cost.cpu_ns, "ns");
    pw_rankfile_overhead(file, "clock_probes", (double)cost.exchanges, "probes");
    if (cost.refused)
        pw_rankfile_overhead(file, "clock_probes_refused", (double)cost.refused, "packets");
}

void pw_run_clocks_fini(struct pw_run_clocks *c)
{
    pw_agree_fini(&c->agreement, c->id->rank == 0);
    if (c->id->rank == 0)
        pw_rendezvous_remove(c->dir);
}
