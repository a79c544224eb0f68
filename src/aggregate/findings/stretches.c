/* Adds stretches to the stragglers, and drops stragglers that another finding explains; see
 * stretches.h. */
#include "aggregate/findings/stretches.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/findings/findings.h"
#include "aggregate/findings/partrows.h"
#include "aggregate/findings/stretchcauses.h"
#include "aggregate/findings/windowusage.h"
#include "aggregate/match/instances.h"
#include "analysis/excess.h"
#include "analysis/parts.h"
#include "analysis/stretch.h"
#include "analysis/taskfarm.h"
#include "analysis/thresholds.h"
#include "core/log.h"
#include "core/sort.h"
#include "core/text.h"

/* ---- hosts whose ranks were frozen together: rows of /hosts ---- */

static int is_frozen_on(const struct pw_row_c_straggler *row, const char *hostname)
{
    return row->cause == PW_CAUSE_HOST_FROZEN &&
           strncmp(row->hostname, hostname, sizeof(row->hostname)) == 0;
}

static struct pw_row_c_host *host_row(struct pw_findings *f, const char *hostname)
{
    for (size_t i = 0; i < f->whatif.nhosts; i++)
        if (strncmp(f->whatif.hosts[i].hostname, hostname, sizeof(f->whatif.hosts[i].hostname)) ==
            0)
            return &f->whatif.hosts[i];
    return &f->whatif.hosts[f->whatif.nhosts++];
}

/* Time that the job would have saved without this host's loss, from the replay, ns; -1: the replay
 * has no row for the host. */
static int64_t gain_of(const struct pw_whatif *whatif, const char *hostname)
{
    for (size_t i = 0; i < whatif->nrows; i++)
        if (strcmp(whatif->rows[i].scope, "host") == 0 &&
            strncmp(whatif->rows[i].hostname, hostname, sizeof(whatif->rows[i].hostname)) == 0)
            return whatif->rows[i].gain_ns;
    return -1;
}

/* One row for the frozen ranks of a host. Its loss is the smallest loss of these ranks, which all
 * of them lost. */
static struct pw_row_c_host sum_frozen(const struct pw_findings *f, const char *hostname)
{
    struct pw_row_c_host row = {.lost_ns = INT64_MAX, .gain_ns = -1, .confidence = 1};
    memcpy(row.hostname, hostname, sizeof(row.hostname));
    row.cause = PW_CAUSE_HOST_FROZEN;
    row.first_step = row.last_step = -1;
    for (size_t i = 0; i < f->nstragglers; i++) {
        const struct pw_row_c_straggler *of = &f->stragglers[i];
        if (!is_frozen_on(of, hostname))
            continue;
        row.slow_ranks++;
        row.lost_ns = of->lost_ns < row.lost_ns ? of->lost_ns : row.lost_ns;
        row.confidence = of->confidence < row.confidence ? of->confidence : row.confidence;
        if (row.first_step < 0 || (of->first_step >= 0 && of->first_step < row.first_step))
            row.first_step = of->first_step;
        row.last_step = of->last_step > row.last_step ? of->last_step : row.last_step;
    }
    row.excess_ns = row.lost_ns;
    /* The replay keeps a loss inside calls as transfer time: then its gain is too small to use. */
    row.gain_ns = gain_of(&f->whatif, hostname);
    row.gain_ns = row.gain_ns < row.lost_ns / 2 ? -1 : row.gain_ns;
    return row;
}

/* Adds each host on which at least two ranks, and at least two thirds of all ranks, are stragglers
 * whose host was frozen. numbers[rank] is the number of the rank's host; whatif.hosts has room for
 * all hosts. */
static void pw_frozenhosts_find(struct pw_findings *f, const struct pw_world *world,
                                const int64_t *numbers, size_t nhosts)
{
    for (size_t h = 0; h < nhosts && nhosts > 1; h++) {
        const char *hostname = NULL;
        int32_t nranks = 0;
        for (int64_t r = 0; r < world->nranks; r++)
            if ((size_t)numbers[r] == h) {
                hostname = world->ranks[r].hostname;
                nranks++;
            }
        struct pw_row_c_host row = hostname ? sum_frozen(f, hostname) : (struct pw_row_c_host){0};
        row.nranks = nranks;
        if (row.slow_ranks > 1 && 3 * row.slow_ranks >= 2 * row.nranks)
            *host_row(f, hostname) = row;
    }
}

/* ---- which stragglers are named ---- */

/* Share of correct verdicts on real programs with known faults (docs/accuracy.md). */
#define RIGHT_ON_REAL_RUNS 0.98
#define RIGHT_ON_CONTENTION 0.85

static void say_why(const struct pw_row_c_straggler *row, int level, const char *why)
{
    pw_debug(PW_LOG_VERDICT, level, "rank %d, %s, %s in %s, lost %.3f ms: %s", (int)row->rank,
             pw_enum_name(PW_F_STRAGGLER, row->kind), pw_enum_name(PW_F_CAUSE, row->cause),
             pw_enum_name(PW_F_PART, row->part), (double)row->lost_ns / 1e6, why);
}

/* What the rank cost the job: its gain or, where that is not known, what the rank lost. */
static int64_t cost_of(const struct pw_row_c_straggler *row)
{
    return row->gain_ns >= 0 ? row->gain_ns : row->lost_ns;
}

static int by_cost(const void *a, const void *b)
{
    const struct pw_row_c_straggler *x = a, *y = b;
    if (cost_of(x) != cost_of(y))
        return cost_of(x) > cost_of(y) ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static void describe(const struct pw_stretch *f, char *out, size_t size)
{
    char mine[32], others[32], next[32], held[32];
    pw_text_ns(mine, sizeof(mine), f->lost_ns + f->unwaited_ns + f->usual_ns);
    pw_text_ns(others, sizeof(others), f->usual_ns);
    pw_text_ns(next, sizeof(next), f->next_ns);
    const char *doing = pw_cause_doing(f->cause);
    const char *what = f->is_written ? "outside communication, reading or writing files"
                       : f->is_bound ? "kept from its CPUs by other processes"
                       : *doing      ? doing
                                     : "outside communication";
    size_t used =
        (size_t)snprintf(out, size, "%s %s, the other ranks' median %s", mine, what, others);
    if (f->unwaited_ns && used < size)
        used += (size_t)snprintf(out + used, size - used, "; they waited for it for %s",
                                 pw_text_ns(held, sizeof(held), f->lost_ns));
    if (f->beside && used < size)
        snprintf(out + used, size - used,
                 "; %zu other rank%s lost half as much or more, the rest at most %s", f->beside,
                 f->beside == 1 ? "" : "s", next);
    else if ((!f->is_bound || f->next_ns > 0) && used < size) /* else none is bound like this */
        snprintf(out + used, size - used, "; no other %s lost more than %s",
                 f->is_host ? "host's rank" : "rank", next);
}

/* The larger the loss of the next rank, the lower the confidence. */
static double confidence_of(const struct pw_stretch *f)
{
    double next = (double)f->next_ns / (double)f->lost_ns;
    return 1 - next * next;
}

static void enter_steps(const struct pw_findings *f, struct pw_row_c_straggler *row)
{
    row->first_step = row->last_step = -1;
    for (size_t s = 0; s < f->nsteps; s++) {
        if (f->steps[s].end <= row->start || f->steps[s].start >= row->end)
            continue;
        row->first_step = row->first_step < 0 ? f->steps[s].step : row->first_step;
        row->last_step = f->steps[s].step;
        row->steps_hit++;
    }
}

/* The waits in the collectives that overlap the stretch. */
static struct pw_blame blame_in(const struct pw_world *world, const struct pw_instances *in,
                                const struct pw_stretch *found)
{
    const struct pw_binning *bins = &world->bins;
    const int64_t start = bins->start_ns - world->epoch_ns;
    return pw_collective_sum_blame(in, (int32_t)found->rank,
                                   start + (int64_t)found->first * bins->bin_ns,
                                   start + (int64_t)(found->last + 1) * bins->bin_ns);
}

/* The phase of a stretch, in the row. Off the CPU while it gets data, as in steps, is data
 * starvation. */
static void enter_phase(struct pw_row_c_straggler *row, enum pw_phase phase)
{
    row->phase = (uint8_t)phase;
    if (phase == PW_PHASE_DATA && row->cause == PW_CAUSE_BLOCKED_OFF_CPU)
        row->cause = PW_CAUSE_DATA_STARVATION;
}

static struct pw_row_c_straggler row_of(const struct pw_findings *f, const struct pw_world *world,
                                        const struct pw_blame *blame,
                                        const struct pw_stretch *found)
{
    const struct pw_binning *bins = &world->bins;
    struct pw_row_c_straggler row = {
        .rank = (int32_t)found->rank,
        .kind = PW_STRAGGLER_STRETCH,
        .excess_ns = found->lost_ns,
        .gain_ns = -1,
        .phase = PW_PHASE_NONE,
        .cause = (uint8_t)found->cause,
        .confidence = confidence_of(found),
        .start = bins->start_ns + (int64_t)found->first * bins->bin_ns,
        .end = bins->start_ns + (int64_t)(found->last + 1) * bins->bin_ns,
        .lost_ns = found->lost_ns,
    };
    row.slowdown = (double)row.lost_ns / (double)(row.end - row.start);
    memcpy(row.hostname, world->ranks[found->rank].hostname, sizeof(row.hostname));
    describe(found, row.evidence, sizeof(row.evidence));
    enter_steps(f, &row);
    row.blame_ns = blame->blame_ns;
    row.critical_ns = blame->critical_ns;
    return row;
}

/* 1 when the time lost to the cause is measured, not inferred, and only a fault of this rank or
 * host leads to the cause. All other losses may follow from another rank's fault. */
static int is_sure(const struct pw_row_c_straggler *row)
{
    return row->cause == PW_CAUSE_STOPPED || row->cause == PW_CAUSE_HOST_FROZEN ||
           row->cause == PW_CAUSE_CGROUP_THROTTLING || row->cause == PW_CAUSE_LATE_START;
}

/* 1 when the cause was not counted but inferred: from samples of the rank off the CPU, and from
 * what it did before. */
static int is_concluded(const struct pw_row_c_straggler *row)
{
    return row->cause == PW_CAUSE_UNKNOWN || row->cause == PW_CAUSE_BLOCKED_OFF_CPU ||
           row->cause == PW_CAUSE_CPU_CONTENTION || row->cause == PW_CAUSE_DATA_STARVATION;
}

/* Copies the cause of a stretch to a row of the same rank's steps, when counters show that cause,
 * the row's own cause is only inferred, and the stretch lost at least half of the row's loss. */
static void lend_cause(struct pw_row_c_straggler *row, const struct pw_row_c_straggler *stretch)
{
    if (!is_sure(stretch) || !is_concluded(row) || 2 * stretch->lost_ns < row->lost_ns)
        return;
    row->cause = stretch->cause;
    memcpy(row->evidence, stretch->evidence, sizeof(row->evidence));
}

/* Keeps either the stretch or the rows from the rank's steps, not both. */
static void take(struct pw_findings *f, const struct pw_row_c_straggler *stretch)
{
    const double enough = is_sure(stretch) ? PW_STRETCH_BY_STEPS_SURE : PW_STRETCH_BY_STEPS;
    size_t kept = 0;
    for (size_t i = 0; i < f->nstragglers; i++) {
        struct pw_row_c_straggler *row = &f->stragglers[i];
        if (row->rank == stretch->rank &&
            (double)row->lost_ns >= enough * (double)stretch->lost_ns) {
            lend_cause(row, stretch);
            return;
        }
    }
    for (size_t i = 0; i < f->nstragglers; i++)
        if (f->stragglers[i].rank != stretch->rank)
            f->stragglers[kept++] = f->stragglers[i];
    if (kept < PW_MOST_STRAGGLERS)
        f->stragglers[kept++] = *stretch;
    f->nstragglers = kept;
}

static int64_t shared_ns(const struct pw_row_c_straggler *a, const struct pw_row_c_straggler *b)
{
    int64_t start = a->start > b->start ? a->start : b->start;
    int64_t end = a->end < b->end ? a->end : b->end;
    return end > start ? end - start : 0;
}

/* 1 when the loss of `row` may be the reason for the loss of `other`: the cause of `row` is sure,
 * or its rank is bound to a CPU that other processes use. In the second case the scheduler moves
 * other ranks of the host to that CPU, where they wait, too. */
static int explains(const struct pw_row_c_straggler *row, const struct pw_row_c_straggler *other)
{
    if (row->rank == other->rank)
        return 0;
    return is_sure(row) || (pw_boundrows_is_narrow(row) && !pw_boundrows_is_narrow(other) &&
                            other->cause == PW_CAUSE_CPU_CONTENTION &&
                            memcmp(row->hostname, other->hostname, sizeof(row->hostname)) == 0);
}

/* 1 when counters of the rank's own process show the excess of its steps: what others did is no
 * reason for these. A single step may be one in which it polled for a rank that was stopped. */
static int is_counted(const struct pw_row_c_straggler *row)
{
    return row->kind != PW_STRAGGLER_STRETCH && row->kind != PW_STRAGGLER_ONE_OFF &&
           (row->cause == PW_CAUSE_MORE_CPU_WORK || row->cause == PW_CAUSE_PAGE_FAULTS ||
            row->cause == PW_CAUSE_FILE_IO || row->cause == PW_CAUSE_CHILD_PROCESS);
}

/* 1 when `other` was there for at least half of the row: of its steps, or else of its time. A stop
 * makes one step of many long, and so most of the time of a row that is about all of them. */
static int is_there(const struct pw_row_c_straggler *other, const struct pw_row_c_straggler *row)
{
    if (row->kind == PW_STRAGGLER_STRETCH || row->first_step < 0 || other->first_step < 0)
        return 2 * shared_ns(other, row) >= row->end - row->start;
    const int64_t first = other->first_step > row->first_step ? other->first_step : row->first_step;
    const int64_t last = other->last_step < row->last_step ? other->last_step : row->last_step;
    return 2 * (last - first + 1) >= row->last_step - row->first_step + 1;
}

/* 1 when `other` lost so much that the loss of `row` may follow from it. A stretch and a single
 * step also have what the rank lost while it polled for the other one. */
static int is_as_large(const struct pw_row_c_straggler *other, const struct pw_row_c_straggler *row)
{
    const int has_polled = row->kind == PW_STRAGGLER_STRETCH || row->kind == PW_STRAGGLER_ONE_OFF;
    return (has_polled ? 2 : 1.1) * (double)other->lost_ns >= (double)row->lost_ns;
}

/* Drops each row that follows from another rank's loss: the row's own cause is neither sure nor
 * counted in its steps, and a row that explains it was there and is as large. */
static void drop_followers(struct pw_findings *f)
{
    size_t kept = 0;
    uint8_t follows[PW_MOST_STRAGGLERS];
    for (size_t i = 0; i < f->nstragglers; i++) {
        const struct pw_row_c_straggler *row = &f->stragglers[i];
        follows[i] = 0;
        const int is_own = is_sure(row) || is_counted(row);
        for (size_t k = 0; k < f->nstragglers && !is_own && !follows[i]; k++)
            follows[i] = explains(&f->stragglers[k], row) && is_as_large(&f->stragglers[k], row) &&
                         is_there(&f->stragglers[k], row);
    }
    for (size_t i = 0; i < f->nstragglers; i++)
        if (!follows[i])
            f->stragglers[kept++] = f->stragglers[i];
        else
            say_why(&f->stragglers[i], 2, "not named: follows from another rank's loss");
    f->nstragglers = kept;
}

/* Drops a row whose cause is CPU contention when another rank waited for a CPU more than half as
 * long in its own worst stretch: then the host was busy, and this rank is not special. */
static void drop_contended(struct pw_findings *f, const int64_t *contention, size_t nranks)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->nstragglers; i++) {
        const struct pw_row_c_straggler *row = &f->stragglers[i];
        int64_t worst = 0;
        for (size_t r = 0; r < nranks; r++)
            if ((int32_t)r != row->rank && contention[r] > worst)
                worst = contention[r];
        if (row->cause != PW_CAUSE_CPU_CONTENTION || 2 * worst <= row->lost_ns ||
            pw_boundrows_is_narrow(row))
            f->stragglers[kept++] = *row;
        else
            say_why(row, 2, "not named: another rank waited for a CPU half as long or longer");
    }
    f->nstragglers = kept;
}

/* 1 when another row overlaps this row in time: removing only one of them might save nothing. */
static int has_company(const struct pw_findings *f, size_t mine)
{
    for (size_t i = 0; i < f->nstragglers; i++)
        if (i != mine && shared_ns(&f->stragglers[i], &f->stragglers[mine]) > 0)
            return 1;
    return 0;
}

/* Drops each persistent or intermittent row that costs the job less than 1 % of the steps. A row
 * stays when its gain is unknown, its cause is sure, or another row overlaps it. Called after the
 * other drop_...() functions, which remove overlapping rows. */
static void drop_cheap(struct pw_findings *f)
{
    const int64_t steps_ns = f->nsteps ? f->steps[f->nsteps - 1].end - f->steps[0].start : 0;
    size_t kept = 0;
    uint8_t keep[PW_MOST_STRAGGLERS];
    for (size_t i = 0; i < f->nstragglers; i++) {
        const struct pw_row_c_straggler *row = &f->stragglers[i];
        keep[i] = row->kind == PW_STRAGGLER_STRETCH || row->kind == PW_STRAGGLER_ONE_OFF ||
                  row->gain_ns < 0 || 100 * (double)row->gain_ns >= (double)steps_ns ||
                  is_sure(row) || has_company(f, i);
    }
    for (size_t i = 0; i < f->nstragglers; i++)
        if (keep[i])
            f->stragglers[kept++] = f->stragglers[i];
        else
            say_why(&f->stragglers[i], 2, "not named: costs the job less than 1 % of its steps");
    f->nstragglers = kept;
}

/* Noise is not the only reason for wrong verdicts. So the confidence of a row is at most the share
 * of such verdicts that was correct on real programs. */
static void limit_confidence(struct pw_findings *f)
{
    for (size_t i = 0; i < f->nstragglers; i++) {
        struct pw_row_c_straggler *row = &f->stragglers[i];
        const double most =
            row->cause == PW_CAUSE_CPU_CONTENTION ? RIGHT_ON_CONTENTION : RIGHT_ON_REAL_RUNS;
        row->confidence = row->confidence < most ? row->confidence : most;
    }
}

/* pw_oneoff_find() may find any number of extreme steps. Rows with more than PW_ONEOFF_STEPS of
 * them become persistent or intermittent here. */
static void name_kinds(struct pw_findings *f, size_t nsteps)
{
    for (size_t i = 0; i < f->nstragglers; i++) {
        struct pw_row_c_straggler *row = &f->stragglers[i];
        if (row->kind == PW_STRAGGLER_ONE_OFF && row->steps_hit > PW_ONEOFF_STEPS)
            row->kind = 2 * (size_t)row->steps_hit >= nsteps ? PW_STRAGGLER_PERSISTENT
                                                             : PW_STRAGGLER_INTERMITTENT;
    }
}

static int has_steps_row(const struct pw_findings *f, int32_t rank)
{
    for (size_t i = 0; i < f->nstragglers; i++)
        if (f->stragglers[i].rank == rank && f->stragglers[i].kind != PW_STRAGGLER_STRETCH)
            return 1;
    return 0;
}

/* Drops the replay of each rank whose rows from steps were dropped. */
static void drop_replays(struct pw_findings *f)
{
    struct pw_whatif *w = &f->whatif;
    size_t kept = 0;
    for (size_t i = 0; i < w->nrows; i++)
        if (!pw_whatif_is_of_straggler(&w->rows[i]) || has_steps_row(f, w->rows[i].rank))
            w->rows[kept++] = w->rows[i];
    const int is_less = kept < w->nrows;
    w->nrows = kept;
    if (is_less)
        pw_whatif_drop_together(w);
}

/* Adds the losses outside the steps. Such a row replaces the rank's rows that lie in it for at
 * least half of their time. */
static void take_parts(struct pw_findings *f, const struct pw_world *world,
                       const struct pw_matrix *m, int64_t *scratch)
{
    struct pw_partloss found[PW_PARTLOSSES];
    const int64_t run_ns = world->bins.end_ns - world->bins.start_ns;
    size_t n = pw_partloss_find(m->parts, m->nranks, run_ns, scratch, found);
    for (size_t i = 0; i < n; i++) {
        struct pw_row_c_straggler row;
        if (!pw_partrows_enter(world, m, &found[i], &row))
            continue;
        size_t kept = 0;
        for (size_t k = 0; k < f->nstragglers; k++) {
            const struct pw_row_c_straggler *old = &f->stragglers[k];
            if (old->rank != row.rank || 2 * shared_ns(old, &row) < old->end - old->start)
                f->stragglers[kept++] = *old;
        }
        if (kept < PW_MOST_STRAGGLERS)
            f->stragglers[kept++] = row;
        f->nstragglers = kept;
    }
}

/* ---- workers of a task farm ---- */

/* From MPI_Init to MPI_Finalize. A part whose end is not known is in the part next to it. */
static struct pw_row_c_part_trace between_of(const struct pw_matrix *m, size_t rank)
{
    struct pw_row_c_part_trace sum = {0};
    for (int part = PW_PART_SETUP; part <= PW_PART_TAIL; part++) {
        const struct pw_row_c_part_trace *p =
            &m->parts[(size_t)(part - PW_PART_START) * m->nranks + rank];
        if (p->total_ns < 0)
            continue;
        pw_usage_add(&sum.total_ns, p->total_ns);
        pw_usage_add(&sum.wait_ns, p->wait_ns);
        pw_usage_add(&sum.inside_ns, p->inside_ns);
        pw_usage_add(&sum.cpu_ns, p->cpu_ns);
        pw_usage_add(&sum.ready_ns, p->ready_ns);
        pw_usage_add(&sum.throttled_ns, p->throttled_ns);
        pw_usage_add(&sum.disk_ns, p->disk_ns);
        pw_usage_add(&sum.asleep_ns, p->asleep_ns);
    }
    return sum;
}

/* What the worker did for most of its own time. */
static enum pw_cause farm_cause(const struct pw_row_c_part_trace *p, int64_t own_ns)
{
    return 2 * p->cpu_ns >= own_ns         ? PW_CAUSE_MORE_CPU_WORK
           : 2 * p->throttled_ns >= own_ns ? PW_CAUSE_CGROUP_THROTTLING
           : 2 * p->ready_ns >= own_ns     ? PW_CAUSE_CPU_CONTENTION
           : 2 * p->disk_ns >= own_ns      ? PW_CAUSE_FILE_IO
           : 2 * p->asleep_ns >= own_ns    ? PW_CAUSE_BLOCKED_OFF_CPU
                                           : PW_CAUSE_UNKNOWN;
}

static struct pw_row_c_straggler row_of_worker(const struct pw_findings *f,
                                               const struct pw_world *world,
                                               const struct pw_matrix *m,
                                               const struct pw_farm_slow *slow)
{
    const struct pw_row_c_part_trace mine = between_of(m, slow->rank);
    char task[32], others[32];
    struct pw_row_c_straggler row = {
        .rank = (int32_t)slow->rank,
        .kind = PW_STRAGGLER_STRETCH,
        .excess_ns = slow->lost_ns,
        .blame_ns = -1,
        .critical_ns = -1,
        .gain_ns = slow->lost_ns,
        .phase = PW_PHASE_NONE,
        .cause = (uint8_t)farm_cause(&mine, slow->mine_ns * slow->tasks),
        .confidence = 1,
        .start = world->bins.start_ns,
        .lost_ns = slow->lost_ns,
    };
    for (int part = PW_PART_START; part < PW_PART_SETUP; part++) {
        const int64_t ns =
            m->parts[(size_t)(part - PW_PART_START) * m->nranks + slow->rank].total_ns;
        row.start += ns > 0 ? ns : 0;
    }
    row.end = row.start + mine.total_ns;
    row.slowdown = (double)row.lost_ns / (double)mine.total_ns;
    memcpy(row.hostname, world->ranks[slow->rank].hostname, sizeof(row.hostname));
    snprintf(row.evidence, sizeof(row.evidence),
             "%s of own time for each of the %" PRId64 " messages that it got, the other workers "
             "of rank %zu %s each (median of ranks; %" PRId64 " messages)",
             pw_text_ns(task, sizeof(task), slow->mine_ns), slow->tasks, slow->master,
             pw_text_ns(others, sizeof(others), slow->others_ns), slow->others_tasks);
    enter_steps(f, &row);
    return row;
}

/* Drops rows of workers that lost less than a few tasks: at the end of a farm all wait for the
 * last. */
static void drop_last_tasks(struct pw_findings *f, const struct pw_farm_input *in, void *scratch)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->nstragglers; i++) {
        const struct pw_row_c_straggler *row = &f->stragglers[i];
        const double task_ns = (double)pw_farm_task_ns(in, scratch, (size_t)row->rank);
        if (row->part != PW_PART_ANY || (double)row->lost_ns >= PW_FARM_LAST * task_ns)
            f->stragglers[kept++] = *row;
        else
            say_why(row, 2, "not named: it had the last tasks of a farm");
    }
    f->nstragglers = kept;
}

/* Adds slow workers of a task farm, in the place of what steps and stretches tell of them. What
 * they did less is no work that differs by design. Returns 0 or -ENOMEM. */
static int take_farm(struct pw_findings *f, const struct pw_world *world, const struct pw_matrix *m)
{
    enum { MOST = 16 };
    struct pw_farm_slow slow[MOST];
    int64_t *own_ns = malloc(sizeof(*own_ns) * (m->nranks + 1));
    void *scratch = malloc(pw_farm_scratch(m->nranks) + 1);
    const int err = own_ns && scratch ? 0 : -ENOMEM;
    for (size_t r = 0; !err && r < m->nranks; r++) {
        const struct pw_row_c_part_trace p = between_of(m, r);
        own_ns[r] = p.wait_ns < 0 || p.inside_ns < 0 ? -1 : p.total_ns - p.wait_ns - p.inside_ns;
    }
    const struct pw_farm_input in = {f->pairs.rows, f->pairs.n, own_ns, m->nranks};
    const size_t n = err ? 0 : pw_farm_find(&in, scratch, slow, MOST);
    if (!err)
        drop_last_tasks(f, &in, scratch);
    for (size_t i = 0; i < n; i++) {
        size_t kept = 0;
        for (size_t k = 0; k < f->nstragglers; k++)
            if (f->stragglers[k].rank != (int32_t)slow[i].rank)
                f->stragglers[kept++] = f->stragglers[k];
        if (kept < PW_MOST_STRAGGLERS)
            f->stragglers[kept++] = row_of_worker(f, world, m, &slow[i]);
        f->nstragglers = kept;
    }
    for (size_t i = f->imbalance.n; n && i-- > 0;)
        if (strcmp(f->imbalance.rows[i].kind, "amount") == 0)
            f->imbalance.rows[i] = f->imbalance.rows[--f->imbalance.n];
    free(own_ns);
    free(scratch);
    return err;
}

/* The bins before the end of the job cut a step: what came then is no rank's delay. */
static size_t whole_bins(const struct pw_world *world, const struct pw_matrix *m)
{
    const struct pw_binning *bins = &world->bins;
    if (world->cut_ns == INT64_MAX || bins->bin_ns <= 0)
        return m->nbins;
    const int64_t whole = (world->cut_ns - bins->start_ns) / bins->bin_ns;
    return whole < 0 ? 0 : (size_t)whole < m->nbins ? (size_t)whole : m->nbins;
}

int pw_stretches_find(struct pw_findings *f, const struct pw_world *world,
                      const struct pw_matrix *m, const struct pw_instances *in)
{
    struct pw_stretch_input input = {.nbins = whole_bins(world, m),
                                     .nranks = m->nranks,
                                     .bin_ns = world->bins.bin_ns,
                                     .rows = m->bins,
                                     .is_unequal = f->imbalance.n > 0};
    int64_t *host_of = malloc(sizeof(*host_of) * (m->nranks + 1));
    int64_t *contention = malloc(sizeof(*contention) * (m->nranks + 1));
    void *scratch = malloc(pw_stretch_scratch(&input) + 1);
    struct pw_stretch *found = malloc(sizeof(*found) * PW_MOST_STRAGGLERS);
    struct pw_bound_input cpus = {input.nbins, m->nranks, world->bins.bin_ns, m->bins, host_of};
    struct pw_bound bound = {0};
    size_t nhosts;
    int err = host_of && contention && scratch && found
                  ? pw_world_number_hosts(world, host_of, &nhosts)
                  : -ENOMEM;
    err = err ? err : pw_boundrows_measure(&cpus, &bound);
    if (!err) {
        input.host_of = host_of;
        input.bound = &bound;
        size_t n = pw_stretch_find(&input, scratch, found, PW_MOST_STRAGGLERS);
        for (size_t i = 0; i < n; i++) {
            const struct pw_blame blame = blame_in(world, in, &found[i]);
            const struct pw_stretch_waits waits = {blame.all_ns, blame.longest_ns};
            const int held_back = pw_stretch_limit(&input, &waits, scratch, &found[i]);
            struct pw_row_c_straggler row = row_of(f, world, &blame, &found[i]);
            enter_phase(&row, pw_stretch_phase(&input, scratch, &found[i]));
            if (held_back)
                take(f, &row);
            else
                say_why(&row, 2, "not named: others waited for other ranks, or briefly");
        }
        take_parts(f, world, m, scratch);
        err = take_farm(f, world, m);
        err = err ? err : pw_bincauses_find(f, world, m);
        pw_boundrows_enter(f, world, &cpus, &bound, scratch);
        pw_stretch_contention(&input, scratch, contention);
        drop_contended(f, contention, m->nranks);
        drop_followers(f);
        if (!f->imbalance.n) /* else removing one straggler alone may save nothing */
            drop_cheap(f);
        drop_replays(f);
        limit_confidence(f);
        err = err ? err : pw_quotacauses_find(f, world, m, host_of);
        name_kinds(f, f->nsteps);
        pw_sort(f->stragglers, f->nstragglers, sizeof(*f->stragglers), by_cost);
        pw_frozenhosts_find(f, world, host_of, nhosts);
        for (size_t i = 0; i < f->nstragglers; i++)
            say_why(&f->stragglers[i], 1, "named");
    }
    pw_boundrows_free(&bound);
    free(host_of);
    free(contention);
    free(scratch);
    free(found);
    return err;
}
