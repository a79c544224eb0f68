/* Rows of /stragglers for ranks that held the job back outside the steps; see partrows.h. */
#include "aggregate/findings/partrows.h"

#include <stdio.h>
#include <string.h>

#include "analysis/thresholds.h"
#include "core/text.h"

static int is_comparable(const struct pw_binning *run, enum pw_part part)
{
    return part == PW_PART_START      ? run->is_start_known
           : part == PW_PART_INIT     ? run->is_start_known && run->is_setup_known
           : part == PW_PART_SETUP    ? run->is_setup_known
           : part == PW_PART_TAIL     ? run->is_tail_known
           : part == PW_PART_FINALIZE ? run->is_tail_known && run->is_end_known
                                      : run->is_end_known;
}

/* 1 when the part begins or ends with the run, since there is no MPI_Init or MPI_Finalize: then
 * samples, 10 times a second, tell how long it was. */
static int is_cut_by_run(const struct pw_binning *run, enum pw_part part)
{
    return (part == PW_PART_SETUP && !run->is_start_known) ||
           (part == PW_PART_TAIL && !run->is_end_known);
}

/* A row for a part of the run outside the steps; `start` and `end` are those of the part. */
static struct pw_row_c_straggler row_of(const struct pw_world *world, const struct pw_matrix *m,
                                        const struct pw_partloss *found)
{
    static const char *const where[] = {
        [PW_PART_START] = "before it entered MPI_Init",
        [PW_PART_INIT] = "in MPI_Init, not asleep",
        [PW_PART_SETUP] = "from MPI_Init to its first step, not waiting",
        [PW_PART_TAIL] = "from its last step to MPI_Finalize, not waiting",
        [PW_PART_FINALIZE] = "in MPI_Finalize, not asleep",
        [PW_PART_END] = "after it left MPI_Finalize"};
    static const char *const call_of[PW_PART_END + 1] = {
        [PW_PART_INIT] = "MPI_Init", [PW_PART_FINALIZE] = "MPI_Finalize"};
    const double next = (double)found->next_ns / (double)found->lost_ns;
    char mine[32], others[32], most[32], spent[64] = "";
    const char *doing = found->part == PW_PART_START ? pw_cause_doing(found->spent) : "";
    const char *in_part = !is_cut_by_run(&world->bins, found->part) ? where[found->part]
                          : found->part == PW_PART_TAIL ? "after its last step, not waiting"
                                                        : "before its first step, not waiting";
    struct pw_row_c_straggler row = {
        .rank = (int32_t)found->rank,
        .kind = PW_STRAGGLER_STRETCH,
        .first_step = -1,
        .last_step = -1,
        .excess_ns = found->lost_ns,
        .blame_ns = -1,
        .critical_ns = -1,
        /* Without this loss the job would wait for the next slowest rank instead. In MPI_Init and
         * MPI_Finalize it is not known how long the job waits for a rank that is busy. */
        .gain_ns = call_of[found->part] && found->evidence == PW_PART_OWN_TIME
                       ? -1
                       : found->lost_ns - found->next_ns,
        .phase = PW_PHASE_NONE,
        .cause = (uint8_t)found->cause,
        .confidence = 1 - next * next,
        .start = world->bins.start_ns,
        .lost_ns = found->lost_ns,
        .part = (uint8_t)found->part,
    };
    for (int part = PW_PART_START; part <= (int)found->part; part++) {
        const int64_t total_ns =
            m->parts[(size_t)(part - PW_PART_START) * m->nranks + found->rank].total_ns;
        row.start = part == PW_PART_START ? row.start : row.end;
        row.end = row.start + (total_ns > 0 ? total_ns : 0);
    }
    row.slowdown = row.end > row.start ? (double)row.lost_ns / (double)(row.end - row.start) : -1;
    memcpy(row.hostname, world->ranks[found->rank].hostname, sizeof(row.hostname));
    pw_text_ns(mine, sizeof(mine), found->lost_ns);
    pw_text_ns(others, sizeof(others), found->usual_ns);
    pw_text_ns(most, sizeof(most), found->next_ns);
    if (found->evidence == PW_PART_LEFT_LATE)
        snprintf(row.evidence, sizeof(row.evidence),
                 "left %s %s later than the other ranks' median, who were in it for %s",
                 call_of[found->part], mine, others);
    else if (found->evidence == PW_PART_ASLEEP)
        snprintf(row.evidence, sizeof(row.evidence),
                 "asleep in %s for %s, while each other rank polled there, on or ready for a CPU "
                 "for at least %s",
                 call_of[found->part], mine, others);
    else {
        if (*doing)
            snprintf(spent, sizeof(spent), ", most of it %s", doing);
        snprintf(row.evidence, sizeof(row.evidence),
                 "%s %s%s, the other ranks' median %s; no other rank lost more than %s",
                 pw_text_ns(mine, sizeof(mine), found->lost_ns + found->usual_ns), in_part, spent,
                 others, most);
    }
    return row;
}

int pw_partrows_enter(const struct pw_world *world, const struct pw_matrix *m,
                      const struct pw_partloss *found, struct pw_row_c_straggler *row)
{
    const double run_ns = (double)(world->bins.end_ns - world->bins.start_ns);
    if (!is_comparable(&world->bins, found->part) ||
        (is_cut_by_run(&world->bins, found->part) &&
         (double)found->lost_ns < PW_PARTS_SHARE * run_ns))
        return 0;
    *row = row_of(world, m, found);
    return 1;
}
