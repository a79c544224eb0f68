/* Makes the row of /ending; see endrow.h. */
#include "run/endrow.h"

#include "rank/run/launch.h"
#include "rank/run/memory.h"

void pw_endrow_begin(const struct pw_run *run)
{
    run->lifeline->oom_kills = pw_memory_oom_kills(run->options.text[PW_OPT_FSROOT]);
}

/* The local time of the rank's events, which tests may have changed. */
static int64_t event_time(const struct pw_testclock *clock, int64_t local_ns)
{
    return clock->on ? pw_testclock_warp(clock, local_ns) : local_ns;
}

void pw_endrow_append(const struct pw_run *run, struct pw_rankfile *file)
{
    const int64_t ended_ns = atomic_load(&run->lifeline->ended_ns);
    const int64_t before = run->lifeline->oom_kills;
    const int64_t kills = pw_memory_oom_kills(run->options.text[PW_OPT_FSROOT]);
    const struct pw_row_ending row = {
        .time = event_time(&run->clocks.test, ended_ns),
        .oom_kills = before < 0 || kills < before ? -1 : kills - before,
    };
    if (ended_ns)
        pw_rankfile_append_measured(file, PW_TABLE_ending, &row);
}
