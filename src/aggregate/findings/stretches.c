/* Adds stretches to the stragglers, and drops stragglers that another finding explains; see
 * stretches.h. */
#include "aggregate/findings/stretches.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/findings/evidence.h"
#include "aggregate/match/instances.h"
#include "analysis/cause.h"
#include "analysis/excess.h"
#include "analysis/parts.h"
#include "analysis/statistics.h"
#include "analysis/stretch.h"
#include "analysis/taskfarm.h"
#include "analysis/thresholds.h"
#include "core/log.h"
#include "core/sort.h"
#include "core/text.h"

/* Writes the rows of ranks that held the job back outside the steps. No MPI, no I/O. */

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

/* Writes what the own time of a rank in a part is: "before it entered MPI_Init". Returns `out`. */
static const char *say_where(const struct pw_world *world, enum pw_part part, char *out,
                             size_t size)
{
    static const char *const after[] = {[PW_PART_TAIL] =
                                            "from its last step to MPI_Finalize, not waiting",
                                        [PW_PART_FINALIZE] = "in MPI_Finalize, not asleep",
                                        [PW_PART_END] = "after it left MPI_Finalize"};
    static const struct {
        const char *before, *after;
    } around[] = {[PW_PART_START] = {"before it entered ", ""},
                  [PW_PART_INIT] = {"in ", ", not asleep"},
                  [PW_PART_SETUP] = {"from ", " to its first step, not waiting"}};
    if (is_cut_by_run(&world->bins, part))
        snprintf(out, size, "%s its %s step, not waiting",
                 part == PW_PART_TAIL ? "after" : "before",
                 part == PW_PART_TAIL ? "last" : "first");
    else if (part <= PW_PART_SETUP)
        snprintf(out, size, "%s%s%s", around[part].before, pw_source_init(world->bins.init_source),
                 around[part].after);
    else
        snprintf(out, size, "%s", after[part]);
    return out;
}

/* A row for a part of the run outside the steps; `start` and `end` are those of the part. */
static struct pw_row_c_straggler row_of(const struct pw_world *world, const struct pw_matrix *m,
                                        const struct pw_partloss *found)
{
    const char *const call_of[PW_PART_END + 1] = {[PW_PART_INIT] =
                                                      pw_source_init(world->bins.init_source),
                                                  [PW_PART_FINALIZE] = "MPI_Finalize"};
    const double next = (double)found->next_ns / (double)found->lost_ns;
    char mine[32], others[32], most[32], in_part[80], spent[64] = "";
    const char *doing = found->part == PW_PART_START ? pw_cause_doing(found->spent) : "";
    struct pw_row_c_straggler row = pw_findings_straggler(world, found->rank, found->lost_ns);
    /* Without this loss the job would wait for the next slowest rank instead. In MPI_Init and
     * MPI_Finalize it is not known how long the job waits for a rank that is busy. */
    if (!call_of[found->part] || found->evidence != PW_PART_OWN_TIME)
        row.gain_ns = found->lost_ns - found->next_ns;
    row.cause = (uint8_t)found->cause;
    row.confidence = 1 - next * next;
    row.part = (uint8_t)found->part;
    for (int part = PW_PART_START; part <= (int)found->part; part++) {
        const int64_t total_ns =
            m->parts[(size_t)(part - PW_PART_START) * m->nranks + found->rank].total_ns;
        row.start = part == PW_PART_START ? row.start : row.end;
        row.end = row.start + (total_ns > 0 ? total_ns : 0);
    }
    row.slowdown = row.end > row.start ? (double)row.lost_ns / (double)(row.end - row.start) : -1;
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
                 pw_text_ns(mine, sizeof(mine), found->lost_ns + found->usual_ns),
                 say_where(world, found->part, in_part, sizeof(in_part)), spent, others, most);
    }
    return row;
}

/* Fills *row with what analysis/parts.h has found. Returns 0 when the ranks cannot be compared in
 * that part, or the loss is too small for a part whose length is only known from samples. */
static int partrows_enter(const struct pw_world *world, const struct pw_matrix *m,
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

/* Finds causes of stragglers from the CPUs that they may use, and from the bins of the run near
 * their steps. No MPI, no I/O. */

/* ---- causes from bins, for stragglers with too few samples in their steps ---- */

enum { SAMPLES_NS = 100000000, MOST_ASKED = 32 };

static const struct kind {
    size_t offset; /* of the time in a row of bins */
    enum pw_cause cause;
} kinds[] = {
    {offsetof(struct pw_row_c_bin_trace, stopped_ns), PW_CAUSE_STOPPED},
    {offsetof(struct pw_row_c_bin_trace, throttled_ns), PW_CAUSE_CGROUP_THROTTLING},
    {offsetof(struct pw_row_c_bin_trace, ready_ns), PW_CAUSE_CPU_CONTENTION},
    {offsetof(struct pw_row_c_bin_trace, disk_ns), PW_CAUSE_FILE_IO},
    {offsetof(struct pw_row_c_bin_trace, asleep_ns), PW_CAUSE_BLOCKED_OFF_CPU},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), THROTTLED = 1, READY = 2 };

/* Sums of each kind of time over the bins from one time to another. */
struct near {
    int64_t from, to;
    double *sums;    /* [KINDS * nranks] */
    int64_t *others; /* [nranks] scratch */
};

/* Adds `part` of each rank's times in a bin. */
static void add_bin(const struct pw_matrix *m, size_t bin, double part, double *sums)
{
    for (size_t r = 0; r < m->nranks; r++) {
        const char *cell = (const char *)&m->bins[bin * m->nranks + r];
        for (size_t k = 0; k < KINDS; k++) {
            const int64_t value = *(const int64_t *)(cell + kinds[k].offset);
            if (value > 0)
                sums[k * m->nranks + r] += (double)value * part;
        }
    }
}

/* Sums up the bins near the row's steps; bins that overlap partly count partly. Rows near the same
 * times share the sums. */
static void sum_near(struct near *near, const struct pw_world *world, const struct pw_matrix *m,
                     const struct pw_row_c_straggler *row)
{
    const struct pw_binning *b = &world->bins;
    const int64_t from = row->start - SAMPLES_NS, to = row->end + SAMPLES_NS;
    const int64_t first = from > b->start_ns ? (from - b->start_ns) / b->bin_ns : 0;
    if (from == near->from && to == near->to)
        return;
    near->from = from;
    near->to = to;
    memset(near->sums, 0, sizeof(*near->sums) * KINDS * m->nranks);
    for (size_t i = (size_t)first; i < b->n; i++) {
        const int64_t start = b->start_ns + (int64_t)i * b->bin_ns, end = start + b->bin_ns;
        if (start >= to)
            break;
        const int64_t overlap = (to < end ? to : end) - (from > start ? from : start);
        if (overlap > 0)
            add_bin(m, i, (double)overlap / (double)b->bin_ns, near->sums);
    }
}

static double more_than_others(struct near *near, const struct pw_matrix *m, size_t rank,
                               size_t kind)
{
    const double *sums = near->sums + kind * m->nranks;
    size_t n = 0;
    for (size_t r = 0; r < m->nranks; r++)
        if (r != rank && m->bins[r].wait_ns >= 0)
            near->others[n++] = (int64_t)sums[r];
    return sums[rank] - (n ? (double)pw_median_i64(near->others, n) : 0);
}

/* Finds the cause of a row from the bins near its steps: a kind of time that explains half of its
 * loss. */
static void ask_bins(struct pw_row_c_straggler *row, struct near *near, const struct pw_matrix *m)
{
    for (size_t k = 0; k < KINDS; k++) {
        const double more = more_than_others(near, m, (size_t)row->rank, k);
        char text[32];
        if (more < PW_STRETCH_OF_CAUSE * (double)row->lost_ns)
            continue;
        row->cause = (uint8_t)kinds[k].cause;
        snprintf(row->evidence, sizeof(row->evidence),
                 "within 0.1 s of these steps %s more than the other ranks' median %s",
                 pw_text_ns(text, sizeof(text), (int64_t)more), pw_cause_doing(kinds[k].cause));
        return;
    }
}

static int allocate(struct near *near, size_t nranks)
{
    *near = (struct near){.sums = calloc(KINDS * nranks + 1, sizeof(*near->sums)),
                          .others = malloc(sizeof(*near->others) * (nranks + 1))};
    return near->sums && near->others ? 0 : -ENOMEM;
}

/* Sets the cause of rows that were found from steps and have no cause yet. The bins near the steps
 * (within the interval of samples) are searched for a kind of time of which the rank has more than
 * the median of the other ranks. It becomes the cause when the difference is at least half of the
 * loss. Only the first 32 rows are judged. Returns 0 or -ENOMEM. */
static int bincauses_find(struct pw_findings *f, const struct pw_world *world,
                          const struct pw_matrix *m)
{
    struct near near;
    const int err = allocate(&near, m->nranks);
    /* A run shorter than some tenths of a second has no bins. */
    for (size_t i = 0; !err && world->bins.n && i < f->nstragglers && i < MOST_ASKED; i++) {
        struct pw_row_c_straggler *row = &f->stragglers[i];
        if (row->cause != PW_CAUSE_UNKNOWN || row->kind == PW_STRAGGLER_STRETCH)
            continue;
        sum_near(&near, world, m, row);
        ask_bins(row, &near, m);
    }
    free(near.sums);
    free(near.others);
    return err;
}

/* Writes that a quota stopped the rank, if it did. */
static void ask_quota(struct pw_row_c_straggler *row, const struct near *near, size_t nranks,
                      const int64_t *host_of)
{
    const double *throttled = near->sums + THROTTLED * nranks;
    const size_t rank = (size_t)row->rank;
    const double ready = near->sums[READY * nranks + rank];
    int sharing = 0;
    for (size_t r = 0; r < nranks; r++)
        sharing += host_of[r] == host_of[rank] && throttled[r] > 0 &&
                   pw_cause_is_same_quota(throttled[r], throttled[rank]);
    if (sharing < 2 || throttled[rank] / sharing < ready / PW_QUOTA_PARTS)
        return;
    const size_t used = strnlen(row->evidence, sizeof(row->evidence) - 1);
    row->cause = PW_CAUSE_CGROUP_THROTTLING;
    snprintf(row->evidence + used, sizeof(row->evidence) - used,
             "%sthe CPU quota that %d ranks share was used up meanwhile", used ? "; " : "",
             sharing);
}

/* Turns CPU contention of a row into throttling where the quota of a cgroup that several ranks
 * share was used up for a third of the time that the rank was ready without a CPU. host_of[rank] is
 * the number of its host. Called last, since such a cause, unlike a quota of one rank, explains no
 * other row. Returns 0 or -ENOMEM. */
static int quotacauses_find(struct pw_findings *f, const struct pw_world *world,
                            const struct pw_matrix *m, const int64_t *host_of)
{
    struct near near;
    const int err = allocate(&near, m->nranks);
    for (size_t i = 0; !err && world->bins.n && i < f->nstragglers && i < MOST_ASKED; i++) {
        struct pw_row_c_straggler *row = &f->stragglers[i];
        if (row->cause != PW_CAUSE_CPU_CONTENTION)
            continue;
        sum_near(&near, world, m, row);
        ask_quota(row, &near, m->nranks, host_of);
    }
    free(near.sums);
    free(near.others);
    return err;
}

/* Compares the CPUs that each rank may use with those of the other ranks of its host, into *bound,
 * which boundrows_free() frees. Returns 0 or -ENOMEM. */
static int boundrows_measure(const struct pw_bound_input *in, struct pw_bound *bound)
{
    const size_t cells = in->nbins * in->nranks;
    void *scratch = malloc(pw_bound_scratch(in));
    *bound = (struct pw_bound){.others_ns = malloc(sizeof(int64_t) * (cells + 1)),
                               .kept_ns = malloc(sizeof(int64_t) * (cells + 1)),
                               .beside = malloc(cells + 1)};
    int err = scratch && bound->others_ns && bound->kept_ns && bound->beside ? 0 : -ENOMEM;
    if (!err)
        pw_bound_measure(in, scratch, bound);
    free(scratch);
    return err;
}

static void boundrows_free(struct pw_bound *bound)
{
    free(bound->others_ns);
    free(bound->kept_ns);
    free(bound->beside);
    *bound = (struct pw_bound){0};
}

/* 1 when the rank lacked a CPU because it is bound to CPUs that other processes use, too, while the
 * other ranks of its host may use at least twice as many CPUs. Those ranks can move to other CPUs;
 * this rank cannot. */
static int boundrows_is_narrow(const struct pw_row_c_straggler *row)
{
    return row->cause == PW_CAUSE_CPU_CONTENTION && row->cpus > 0 &&
           2 * (int64_t)row->cpus <= row->others_cpus;
}

/* Writes " since step 37"; when no step had begun by then, writes the time instead. */
static void say_since(const struct pw_findings *f, const struct pw_world *world, int64_t since_ns,
                      char *out, size_t size)
{
    const struct pw_row_c_step *step = NULL;
    for (size_t i = 0; i < f->nsteps && f->steps[i].start <= since_ns; i++)
        step = &f->steps[i];
    out[0] = '\0';
    if (since_ns >= 0 && step)
        snprintf(out, size, " since step %" PRId64, step->step);
    else if (since_ns >= 0)
        snprintf(out, size, " since %.1f s", (double)(since_ns - world->bins.start_ns) / 1e9);
}

/* "bound to CPU 1 since step 37, of which other processes used 67 %; other ranks may use 2". */
static void describe(const struct pw_bound_found *found, const char *since,
                     struct pw_row_c_straggler *row)
{
    char where[48], more[48] = "", text[160];
    if (found->cpus == 1)
        snprintf(where, sizeof(where), "CPU %d", found->lowest);
    else
        snprintf(where, sizeof(where), "%d CPUs (%d to %d)", found->cpus, found->lowest,
                 found->highest);
    if (found->others_cpus > found->cpus)
        snprintf(more, sizeof(more), "; other ranks of the host may use %d", found->others_cpus);
    snprintf(text, sizeof(text), "bound to %s%s, of which other processes used %.0f %%%s", where,
             since, 100 * found->share, more);
    const size_t used = strnlen(row->evidence, sizeof(row->evidence) - 1);
    snprintf(row->evidence + used, sizeof(row->evidence) - used, "%s%s", used ? "; " : "", text);
}

static size_t bin_at(const struct pw_world *world, int64_t time)
{
    const int64_t bin = (time - world->bins.start_ns) / world->bins.bin_ns;
    return bin < 0 ? 0 : (size_t)bin < world->bins.n ? (size_t)bin : world->bins.n - 1;
}

/* Fills cpus, others_share and bound_ns of all rows, and adds them to the evidence of rows whose
 * cause is CPU contention. */
static void boundrows_enter(struct pw_findings *f, const struct pw_world *world,
                            const struct pw_bound_input *in, const struct pw_bound *bound,
                            int64_t *scratch)
{
    for (size_t i = 0; i < f->nstragglers; i++) {
        struct pw_row_c_straggler *row = &f->stragglers[i];
        struct pw_bound_found found;
        char since[48];
        row->cpus = row->others_cpus = 0;
        row->others_share = -1;
        row->bound_ns = -1;
        if (!in->nbins || row->end <= row->start)
            continue;
        const struct pw_bound_where where = {(size_t)row->rank, bin_at(world, row->start),
                                             bin_at(world, row->end - 1)};
        if (!pw_bound_look(in, bound, where, scratch, &found))
            continue;
        row->cpus = found.cpus;
        row->others_cpus = found.others_cpus;
        row->others_share = found.share;
        if (found.since >= 0)
            row->bound_ns = world->bins.start_ns + found.since * world->bins.bin_ns;
        say_since(f, world, row->bound_ns, since, sizeof(since));
        if (row->cause == PW_CAUSE_CPU_CONTENTION)
            describe(&found, since, row);
    }
}

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

static void stretches_describe(const struct pw_stretch *f, char *out, size_t size)
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

static struct pw_row_c_straggler stretches_row_of(const struct pw_findings *f,
                                                  const struct pw_world *world,
                                                  const struct pw_blame *blame,
                                                  const struct pw_stretch *found)
{
    const struct pw_binning *bins = &world->bins;
    struct pw_row_c_straggler row = pw_findings_straggler(world, found->rank, found->lost_ns);
    row.cause = (uint8_t)found->cause;
    row.confidence = confidence_of(found);
    row.start = bins->start_ns + (int64_t)found->first * bins->bin_ns;
    row.end = bins->start_ns + (int64_t)(found->last + 1) * bins->bin_ns;
    row.slowdown = (double)row.lost_ns / (double)(row.end - row.start);
    stretches_describe(found, row.evidence, sizeof(row.evidence));
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
    return is_sure(row) || (boundrows_is_narrow(row) && !boundrows_is_narrow(other) &&
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
            boundrows_is_narrow(row))
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
        if (!partrows_enter(world, m, &found[i], &row))
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

/* The bins before the end of the job cut a step: what came then is no rank's delay. */
static size_t whole_bins(const struct pw_world *world, const struct pw_matrix *m)
{
    const struct pw_binning *bins = &world->bins;
    if (world->cut_ns == INT64_MAX || bins->bin_ns <= 0)
        return m->nbins;
    const int64_t whole = (world->cut_ns - bins->start_ns) / bins->bin_ns;
    return whole < 0 ? 0 : (size_t)whole < m->nbins ? (size_t)whole : m->nbins;
}

static void add_times(struct pw_row_c_part_trace *sum, const struct pw_row_c_part_trace *p)
{
    if (p->total_ns < 0)
        return;
    pw_usage_add(&sum->total_ns, p->total_ns);
    pw_usage_add(&sum->wait_ns, p->wait_ns);
    pw_usage_add(&sum->inside_ns, p->inside_ns);
    pw_usage_add(&sum->cpu_ns, p->cpu_ns);
    pw_usage_add(&sum->ready_ns, p->ready_ns);
    pw_usage_add(&sum->throttled_ns, p->throttled_ns);
    pw_usage_add(&sum->disk_ns, p->disk_ns);
    pw_usage_add(&sum->asleep_ns, p->asleep_ns);
}

/* From MPI_Init to MPI_Finalize. A part whose end is not known is in the part next to it. */
static struct pw_row_c_part_trace between_of(const struct pw_matrix *m, size_t rank)
{
    struct pw_row_c_part_trace sum = {0};
    for (int part = PW_PART_SETUP; part <= PW_PART_TAIL; part++)
        add_times(&sum, &m->parts[(size_t)(part - PW_PART_START) * m->nranks + rank]);
    return sum;
}

/* In some bins. */
static struct pw_row_c_part_trace within_of(const struct pw_world *world, const struct pw_matrix *m,
                                            const struct pw_farm_slow *slow)
{
    struct pw_row_c_part_trace sum = {0};
    for (size_t i = slow->first; i <= slow->last; i++) {
        const struct pw_row_c_bin_trace *b = &m->bins[i * m->nranks + slow->rank];
        const struct pw_row_c_part_trace one = {.total_ns = world->bins.bin_ns - b->outside_ns,
                                                .wait_ns = b->wait_ns,
                                                .inside_ns = b->inside_ns,
                                                .cpu_ns = b->cpu_ns,
                                                .ready_ns = b->ready_ns,
                                                .throttled_ns = b->throttled_ns,
                                                .disk_ns = b->disk_ns,
                                                .asleep_ns = b->asleep_ns};
        add_times(&sum, &one);
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
    const struct pw_row_c_part_trace mine =
        slow->is_part ? within_of(world, m, slow) : between_of(m, slow->rank);
    char task[32], others[32];
    struct pw_row_c_straggler row = pw_findings_straggler(world, slow->rank, slow->lost_ns);
    row.gain_ns = slow->lost_ns;
    row.cause = (uint8_t)farm_cause(&mine, slow->mine_ns * slow->tasks);
    row.confidence = 1;
    for (int part = PW_PART_START; part < PW_PART_SETUP; part++) {
        const int64_t ns =
            m->parts[(size_t)(part - PW_PART_START) * m->nranks + slow->rank].total_ns;
        row.start += ns > 0 ? ns : 0;
    }
    if (slow->is_part)
        row.start = world->bins.start_ns + (int64_t)slow->first * world->bins.bin_ns;
    row.end = row.start + mine.total_ns;
    row.slowdown = (double)row.lost_ns / (double)mine.total_ns;
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

/* Prepares what pw_farm_...() need. Returns the memory, which the caller frees; NULL: it is short.
 * The scratch is behind own_ns[nranks]. */
static int64_t *open_farm(const struct pw_findings *f, const struct pw_world *world,
                          const struct pw_matrix *m, struct pw_farm_input *in)
{
    *in = (struct pw_farm_input){.pairs = f->pairs.rows,
                                 .npairs = f->pairs.n,
                                 .nranks = m->nranks,
                                 .bins = m->bins,
                                 .received = m->received,
                                 .nbins = whole_bins(world, m),
                                 .bin_ns = world->bins.bin_ns};
    int64_t *own_ns = malloc(sizeof(*own_ns) * (m->nranks + 1) + pw_farm_scratch(in));
    in->own_ns = own_ns;
    for (size_t r = 0; own_ns && r < m->nranks; r++) {
        const struct pw_row_c_part_trace p = between_of(m, r);
        own_ns[r] = p.wait_ns < 0 || p.inside_ns < 0 ? -1 : p.total_ns - p.wait_ns - p.inside_ns;
    }
    return own_ns;
}

/* Adds slow workers of a task farm, in the place of what steps and stretches tell of them. */
static void take_farm(struct pw_findings *f, const struct pw_world *world,
                      const struct pw_matrix *m, const struct pw_farm_input *in, void *scratch)
{
    enum { MOST = 16 };
    struct pw_farm_slow slow[MOST];
    const size_t n = pw_farm_find(in, scratch, slow, MOST);
    drop_last_tasks(f, in, scratch);
    for (size_t i = 0; i < n; i++) {
        size_t kept = 0;
        for (size_t k = 0; k < f->nstragglers; k++)
            if (f->stragglers[k].rank != (int32_t)slow[i].rank ||
                f->stragglers[k].part != PW_PART_ANY)
                f->stragglers[kept++] = f->stragglers[k];
        if (kept < PW_MOST_STRAGGLERS)
            f->stragglers[kept++] = row_of_worker(f, world, m, &slow[i]);
        f->nstragglers = kept;
    }
}

/* In a farm, who is free gets the next task: amounts of work are no imbalance, and a replay with
 * equal work in each step is one of a master that does tasks. Returns 1 for such a farm: nobody
 * waits for its workers, so what one did for longer than the others delayed nobody. */
static int drop_of_farm(struct pw_findings *f, const struct pw_matrix *m,
                        const struct pw_farm_input *in, void *scratch)
{
    struct pw_whatif *w = &f->whatif;
    int64_t run_ns = 0;
    for (size_t r = 0; r < m->nranks; r++) {
        const int64_t between_ns = between_of(m, r).total_ns;
        run_ns = between_ns > run_ns ? between_ns : run_ns;
    }
    if (!pw_farm_is_balanced(in, scratch, run_ns))
        return 0;
    for (size_t i = f->imbalance.n; i-- > 0;)
        if (strcmp(f->imbalance.rows[i].kind, "amount") == 0)
            f->imbalance.rows[i] = f->imbalance.rows[--f->imbalance.n];
    size_t kept = 0;
    for (size_t i = 0; i < w->nrows; i++)
        if (strcmp(w->rows[i].scope, "job") != 0)
            w->rows[kept++] = w->rows[i];
    w->nrows = kept;
    return 1;
}

int pw_stretches_find(struct pw_findings *f, const struct pw_world *world,
                      const struct pw_matrix *m, const struct pw_instances *in)
{
    struct pw_stretch_input input = {.nbins = whole_bins(world, m),
                                     .nranks = m->nranks,
                                     .bin_ns = world->bins.bin_ns,
                                     .rows = m->bins};
    int64_t *host_of = malloc(sizeof(*host_of) * (m->nranks + 1));
    int64_t *contention = malloc(sizeof(*contention) * (m->nranks + 1));
    void *scratch = malloc(pw_stretch_scratch(&input) + 1);
    struct pw_stretch *found = malloc(sizeof(*found) * PW_MOST_STRAGGLERS);
    struct pw_bound_input cpus = {input.nbins, m->nranks, world->bins.bin_ns, m->bins, host_of};
    struct pw_bound bound = {0};
    struct pw_farm_input farm;
    int64_t *farm_memory = open_farm(f, world, m, &farm);
    size_t nhosts;
    int err = host_of && contention && scratch && found && farm_memory
                  ? pw_world_number_hosts(world, host_of, &nhosts)
                  : -ENOMEM;
    err = err ? err : boundrows_measure(&cpus, &bound);
    if (!err) {
        const int is_farm = drop_of_farm(f, m, &farm, farm_memory + m->nranks);
        input.host_of = host_of;
        input.is_unequal = is_farm || f->imbalance.n > 0;
        input.bound = &bound;
        size_t n = pw_stretch_find(&input, scratch, found, PW_MOST_STRAGGLERS);
        for (size_t i = 0; i < n; i++) {
            const struct pw_blame blame = blame_in(world, in, &found[i]);
            const struct pw_stretch_waits waits = {blame.all_ns, blame.longest_ns};
            const int held_back = pw_stretch_limit(&input, &waits, scratch, &found[i]);
            struct pw_row_c_straggler row = stretches_row_of(f, world, &blame, &found[i]);
            enter_phase(&row, pw_stretch_phase(&input, scratch, &found[i]));
            if (held_back)
                take(f, &row);
            else
                say_why(&row, 2, "not named: others waited for other ranks, or briefly");
        }
        take_parts(f, world, m, scratch);
        take_farm(f, world, m, &farm, farm_memory + m->nranks);
        err = bincauses_find(f, world, m);
        boundrows_enter(f, world, &cpus, &bound, scratch);
        pw_stretch_contention(&input, scratch, contention);
        drop_contended(f, contention, m->nranks);
        drop_followers(f);
        if (!f->imbalance.n) /* else removing one straggler alone may save nothing */
            drop_cheap(f);
        drop_replays(f);
        limit_confidence(f);
        err = err ? err : quotacauses_find(f, world, m, host_of);
        name_kinds(f, f->nsteps);
        pw_sort(f->stragglers, f->nstragglers, sizeof(*f->stragglers), by_cost);
        pw_frozenhosts_find(f, world, host_of, nhosts);
        for (size_t i = 0; i < f->nstragglers; i++)
            say_why(&f->stragglers[i], 1, "named");
    }
    boundrows_free(&bound);
    free(farm_memory);
    free(host_of);
    free(contention);
    free(scratch);
    free(found);
    return err;
}
