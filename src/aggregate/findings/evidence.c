/* Finds the causes of stragglers with analysis/cause.h, from the usage of the ranks in their steps;
 * see evidence.h. */
#include "aggregate/findings/evidence.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/findings/windowusage.h"
#include "analysis/cause.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/text.h"

/* ---- the GPU of a rank in the steps of a straggler, as a cause ---- */

/* The row of /gpu_ranks of the rank; NULL: there is none. */
static const struct pw_row_c_gpu_rank *find_rank(const struct pw_kernels *kernels, size_t rank)
{
    for (size_t i = 0; i < kernels->nranks; i++)
        if (kernels->ranks[i].rank == (int32_t)rank)
            return &kernels->ranks[i];
    return NULL;
}

static void describe_clocks(const struct pw_gpu_cause_found *found, const struct pw_gpu_usage *u,
                            char *out, size_t size)
{
    double slowed = 100.0 * (double)u->clocks.slowed / (double)u->clocks.samples;
    snprintf(out, size, "; SM clock %.0f MHz, others %.0f MHz; slowed by %s in %.0f %% of samples",
             pw_gpu_clocks_mean(&u->clocks), found->others_mhz,
             pw_gpu_clocks_word(pw_gpu_clocks_reasons(&u->clocks)), slowed);
}

static void describe_kernels(const struct pw_row_c_gpu_rank *rank, const struct pw_kernels *kernels,
                             char *out, size_t size)
{
    const char *name = rank && rank->kernel_row >= 0 ? kernels->kernels[rank->kernel_row].name : "";
    snprintf(out, size,
             "; the same kernels take %.3g times as long as on other ranks, most of it in %.64s",
             rank ? rank->slowdown : -1, name);
}

static const char *words_of(int cause)
{
    return cause == PW_CAUSE_HOST_BOUND        ? "with a dry GPU, as kernels were launched late,"
           : cause == PW_CAUSE_DATA_STARVATION ? "in which the GPU was dry or copied data,"
                                               : "of kernels";
}

/* The usage of all ranks in the steps of one straggler, on process 0. */
struct used {
    struct pw_usage *usage;   /* [nranks] */
    struct pw_gpu_usage *gpu; /* [nranks] */
    size_t nranks;
    int64_t steps;    /* number of steps of the straggler */
    int64_t *scratch; /* [nranks] */
};

static void describe_gpu(struct pw_row_c_straggler *row, const struct used *used,
                         const struct pw_gpu_cause_found *found, const struct pw_kernels *kernels)
{
    const struct pw_row_c_gpu_rank *rank = find_rank(kernels, (size_t)row->rank);
    char mine[32], others[32], extra[192] = "";
    pw_text_ns(mine, sizeof(mine), found->part_ns / used->steps);
    pw_text_ns(others, sizeof(others), found->others_part_ns / used->steps);
    if (found->cause == PW_CAUSE_GPU_CLOCKS_THROTTLED)
        describe_clocks(found, &used->gpu[row->rank], extra, sizeof(extra));
    else if (found->cause == PW_CAUSE_SLOWER_KERNELS)
        describe_kernels(rank, kernels, extra, sizeof(extra));
    else if (found->cause == PW_CAUSE_MORE_GPU_WORK)
        snprintf(extra, sizeof(extra), "; the same kernels take no longer than on other ranks");
    snprintf(row->evidence, sizeof(row->evidence), "%s %s a step, other ranks %s%s", mine,
             words_of(found->cause), others, extra);
}

/* Causes on the host come before their effect on the GPU. */
static int is_hosts(int cause)
{
    return cause == PW_CAUSE_CPU_CONTENTION || cause == PW_CAUSE_CGROUP_THROTTLING ||
           cause == PW_CAUSE_PAGE_FAULTS || cause == PW_CAUSE_FILE_IO ||
           cause == PW_CAUSE_CHILD_PROCESS || cause == PW_CAUSE_DATA_STARVATION;
}

/* Writes the cause and the evidence of a straggler when its GPU shows them. */
static void enter_gpu(struct pw_row_c_straggler *row, const struct used *used,
                      const struct pw_kernels *kernels)
{
    struct pw_gpu_usage *u = &used->gpu[row->rank];
    const struct pw_row_c_gpu_rank *rank = find_rank(kernels, (size_t)row->rank);
    if (!rank || used->steps <= 0)
        return;
    /* While the rank waits for its data, its GPU is dry (docs/method.md) or only copies data. */
    for (size_t r = 0; r < used->nranks && row->phase == PW_PHASE_DATA; r++)
        pw_usage_add(&used->gpu[r].dry_ns, used->gpu[r].copy_ns);
    u->slowdown = rank->slowdown;
    u->confidence = rank->confidence;
    struct pw_gpu_cause_found found =
        pw_gpu_cause_find(used->gpu, used->nranks, (size_t)row->rank, used->scratch);
    if (found.cause == PW_CAUSE_HOST_BOUND && is_hosts(row->cause))
        return;
    /* The CPU of a rank with a GPU waits for the GPU, spinning or asleep: its time is no cause. */
    row->cause = (uint8_t)found.cause;
    memset(row->evidence, 0, sizeof(row->evidence));
    if (found.cause == PW_CAUSE_UNKNOWN)
        return;
    if (found.cause == PW_CAUSE_HOST_BOUND && row->phase == PW_PHASE_DATA)
        row->cause = found.cause = PW_CAUSE_DATA_STARVATION;
    describe_gpu(row, used, &found, kernels);
}

/* Limit: stragglers are examined worst first, as long as their usages fit. */
enum { MOST_USAGES = 1 << 18 };

/* Writes the evidence in words, with values per step. */
static void describe(const struct pw_cause_found *found, const struct pw_usage *usage,
                     int64_t steps, char *out, size_t size)
{
    char mine[32], others[32], extra[96] = "";
    pw_text_ns(mine, sizeof(mine), found->part_ns / steps);
    pw_text_ns(others, sizeof(others), found->others_part_ns / steps);
    const char *what = "off the CPU";
    if (found->is_on_cpu)
        what = "on the CPU";
    else if (found->cause == PW_CAUSE_CPU_CONTENTION || found->cause == PW_CAUSE_CGROUP_THROTTLING)
        what = "ready to run but without a CPU";
    if (found->cause == PW_CAUSE_CPU_CONTENTION)
        snprintf(extra, sizeof(extra), "; %.1f involuntary context switches a step",
                 (double)usage->involuntary_cs / (double)steps);
    else if (found->cause == PW_CAUSE_CGROUP_THROTTLING)
        snprintf(extra, sizeof(extra),
                 "; its cgroup's CPU quota was used up for %.0f %% of the time",
                 100.0 * (double)usage->throttled_ns / (double)usage->total_ns);
    else if (found->cause == PW_CAUSE_PAGE_FAULTS)
        snprintf(extra, sizeof(extra), "; %.1f major page faults a step",
                 (double)usage->major_faults / (double)steps);
    else if (found->cause == PW_CAUSE_FILE_IO)
        snprintf(extra, sizeof(extra), "; %.3g MB read and written a step",
                 (double)usage->io_bytes / (double)steps / 1e6);
    else if (found->cause == PW_CAUSE_CHILD_PROCESS)
        snprintf(extra, sizeof(extra), "; %.3g page faults of child processes a step",
                 (double)usage->child_faults / (double)steps);
    snprintf(out, size, "%s %s a step, other ranks %s%s", mine, what, others, extra);
}

/* Whether the rank was slow in few of the run's steps. */
static int is_rare(const struct pw_row_c_straggler *row, size_t nsteps)
{
    return row->kind != PW_STRAGGLER_PERSISTENT && 4 * (double)row->steps_hit <= (double)nsteps;
}

static void enter(struct pw_row_c_straggler *row, const struct used *used, size_t nsteps)
{
    struct pw_cause_found found = pw_cause_find(used->usage, used->nranks, (size_t)row->rank,
                                                (enum pw_phase)row->phase, used->scratch);
    if (found.cause == PW_CAUSE_UNKNOWN || used->steps <= 0)
        return;
    if (is_rare(row, nsteps))
        pw_cause_refine_rare(used->usage, used->nranks, (size_t)row->rank, &found, used->scratch);
    row->cause = (uint8_t)found.cause;
    describe(&found, &used->usage[row->rank], used->steps, row->evidence, sizeof(row->evidence));
}

/* Finds the cause of each straggler from the gathered items, on process 0. Returns 0 or -ENOMEM. */
static int enter_all(struct pw_findings *f, const struct pw_world *world, size_t windows,
                     const struct pw_window_usage *items, size_t count)
{
    const size_t nranks = (size_t)world->nranks;
    struct used used = {
        .usage = malloc(sizeof(*used.usage) * nranks),
        .gpu = malloc(sizeof(*used.gpu) * nranks),
        .nranks = nranks,
        .scratch = malloc(sizeof(*used.scratch) * nranks),
    };
    int err = used.usage && used.gpu && used.scratch ? 0 : -ENOMEM;
    for (size_t w = 0; w < windows && !err; w++) {
        used.steps = 0;
        for (size_t r = 0; r < nranks; r++) {
            used.usage[r] = (struct pw_usage){.own_ns = -1, .total_ns = -1, .cpu_ns = -1};
            used.gpu[r] = (struct pw_gpu_usage){.own_ns = -1, .slowdown = -1, .confidence = -1};
        }
        for (size_t i = 0; i < count; i++)
            if (items[i].window == (int64_t)w && items[i].rank >= 0 &&
                items[i].rank < world->nranks) {
                used.usage[items[i].rank] = items[i].usage;
                used.gpu[items[i].rank] = items[i].gpu;
                if (items[i].rank == f->stragglers[w].rank)
                    used.steps = items[i].steps;
            }
        enter(&f->stragglers[w], &used, f->nsteps);
        enter_gpu(&f->stragglers[w], &used, &f->kernels);
    }
    free(used.usage);
    free(used.gpu);
    free(used.scratch);
    return err;
}

/* 1 when the cause means that the rank did not run. */
static int has_stood_still(const struct pw_row_c_straggler *row)
{
    return row->cause == PW_CAUSE_CPU_CONTENTION || row->cause == PW_CAUSE_CGROUP_THROTTLING ||
           row->cause == PW_CAUSE_BLOCKED_OFF_CPU || row->cause == PW_CAUSE_PAGE_FAULTS ||
           row->cause == PW_CAUSE_FILE_IO || row->cause == PW_CAUSE_CHILD_PROCESS;
}

static int64_t measured_ns(const struct pw_findings *f)
{
    int64_t sum = 0;
    for (size_t s = 0; s < f->nsteps; s++)
        if (f->steps[s].recorded == PW_RECORDED_ACTIVE && f->steps[s].duration_ns > 0)
            sum += f->steps[s].duration_ns;
    return sum;
}

/* 1 for a straggler; 0 when the rank's excess is inside communication and the rank did not stand
 * still there. */
static int is_explained(const struct pw_findings *f, size_t i)
{
    return !f->inside[f->stragglers[i].rank] || has_stood_still(&f->stragglers[i]);
}

/* 1 when another straggler overlaps in steps, or an imbalance is at least half of the excess. Then
 * removing only one of them might save nothing. */
static int has_company(const struct pw_findings *f, size_t mine)
{
    const struct pw_row_c_straggler *a = &f->stragglers[mine];
    for (size_t i = 0; i < f->nstragglers; i++)
        if (i != mine && is_explained(f, i) && f->stragglers[i].first_step <= a->last_step &&
            f->stragglers[i].last_step >= a->first_step)
            return 1;
    for (size_t i = 0; i < f->imbalance.n; i++) {
        const struct pw_row_c_imbalance *b = &f->imbalance.rows[i];
        if (b->others_ns >= 0 && 2 * (b->work_ns - b->others_ns) >= a->excess_ns)
            return 1;
    }
    return 0;
}

/* 1 when the row is kept. Excess inside communication and one-off losses are kept whatever the
 * replay says, because it does not contain all of them. Other stragglers must cost the job at least
 * 1 % of the steps' time. */
static int is_straggler(const struct pw_findings *f, size_t i, int64_t elapsed_ns)
{
    const struct pw_row_c_straggler *row = &f->stragglers[i];
    if (f->inside[row->rank])
        return is_explained(f, i);
    return row->kind == PW_STRAGGLER_ONE_OFF || 100 * (double)row->gain_ns >= (double)elapsed_ns ||
           has_company(f, i);
}

/* Sets the gain to unknown (-1) when the replay contains less than half of the loss. */
static void forget_gain(struct pw_row_c_straggler *row, int inside)
{
    if ((inside || row->kind == PW_STRAGGLER_ONE_OFF) && 2 * row->gain_ns < row->lost_ns)
        row->gain_ns = -1;
}

/* Drops the rows that are no stragglers, and their replays. */
static void drop_others(struct pw_findings *f)
{
    struct pw_whatif *w = &f->whatif;
    const int64_t elapsed_ns = measured_ns(f);
    size_t kept = 0, rows = 0;
    int64_t dropped_ns = 0;
    uint8_t keep[PW_MOST_STRAGGLERS];
    for (size_t i = 0; i < f->nstragglers; i++) {
        const struct pw_row_c_straggler *row = &f->stragglers[i];
        keep[i] = is_straggler(f, i, elapsed_ns) != 0;
        if (!keep[i])
            pw_debug(PW_LOG_VERDICT, 2,
                     "rank %d, steps %lld to %lld, lost %.3f ms: not named: %s, the replay gains "
                     "%.3f ms of %.3f ms",
                     (int)row->rank, (long long)row->first_step, (long long)row->last_step,
                     (double)row->lost_ns / 1e6,
                     f->inside[row->rank] ? "inside communication, and it did not stand still"
                                          : "it costs the job too little",
                     (double)row->gain_ns / 1e6, (double)elapsed_ns / 1e6);
    }
    for (size_t i = 0; i < f->nstragglers; i++) {
        const int inside = f->inside[f->stragglers[i].rank];
        f->inside[f->stragglers[i].rank] = !keep[i];
        dropped_ns = pw_sum(dropped_ns, keep[i] ? 0 : f->stragglers[i].lost_ns);
        if (!keep[i])
            continue;
        f->stragglers[kept] = f->stragglers[i];
        forget_gain(&f->stragglers[kept++], inside);
    }
    for (size_t i = 0; i < w->nrows; i++)
        if (!pw_whatif_is_of_straggler(&w->rows[i]) || !f->inside[w->rows[i].rank])
            w->rows[rows++] = w->rows[i];
    f->nstragglers = kept;
    w->nrows = rows;
    pw_whatif_keep_together(w, dropped_ns);
}

int pw_evidence_find(struct pw_findings *findings, const struct pw_job *job,
                     const struct pw_share *share)
{
    struct pw_step_window windows[PW_USAGE_WINDOWS] = {0};
    unsigned long n = job->procs.process == 0 ? findings->nstragglers : 0;
    n = n < PW_USAGE_WINDOWS ? n : PW_USAGE_WINDOWS;
    while (n && n * (unsigned long)job->world.nranks > MOST_USAGES)
        n--;
    for (size_t w = 0; w < n; w++)
        windows[w] = (struct pw_step_window){findings->stragglers[w].first_step,
                                             findings->stragglers[w].last_step};
    MPI_Bcast(&n, 1, MPI_UNSIGNED_LONG, 0, job->procs.comm);
    MPI_Bcast(windows, sizeof(windows), MPI_BYTE, 0, job->procs.comm);
    if (!n) {
        if (job->procs.process == 0 && findings->nstragglers)
            drop_others(findings); /* there are too many ranks to examine any straggler */
        return 0;
    }
    struct pw_window_usage *all;
    const size_t total = pw_windowusage_gather(&all, job, share, windows, n);
    int err = job->procs.process == 0 ? enter_all(findings, &job->world, n, all, total) : 0;
    if (job->procs.process == 0)
        drop_others(findings);
    free(all);
    return err;
}
