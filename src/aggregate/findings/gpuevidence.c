/* Causes on GPUs, in words; see gpuevidence.h. */
#include "aggregate/findings/gpuevidence.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"

static void sum(int64_t *total, int64_t more)
{
    *total = *total < 0 || more < 0 ? -1 : *total + more;
}

void pw_gpuevidence_add(struct pw_gpu_usage *u, const struct pw_row_c_step_trace *trace,
                        const struct pw_row_c_gpu_trace *gpu)
{
    int known = gpu && gpu->busy_ns >= 0 && gpu->unrecorded_ns == 0;
    sum(&u->own_ns, trace->own_ns);
    sum(&u->compute_ns, known ? gpu->compute_ns : -1);
    sum(&u->dry_ns, known ? gpu->idle_host_ns : -1);
    sum(&u->copy_ns, known ? gpu->copy_ns : -1);
}

void pw_gpuevidence_clocks(struct pw_gpu_usage *u, const struct pw_row_gpu *samples, size_t n,
                           int64_t start, int64_t end)
{
    for (size_t i = 0; i < n; i++)
        if (samples[i].time >= start && samples[i].time < end)
            pw_gpu_clocks_add(&u->clocks, &samples[i]);
}

/* What /gpu_ranks says of the rank's kernels; NULL: nothing. */
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
    snprintf(out, size, "; the same kernels take %.3g times as long as there, most of it in %.64s",
             rank ? rank->slowdown : -1, name);
}

static const char *words_of(int cause)
{
    return cause == PW_CAUSE_HOST_BOUND        ? "with a dry GPU, as kernels were launched late,"
           : cause == PW_CAUSE_DATA_STARVATION ? "in which the GPU was dry or copied data,"
                                               : "of kernels";
}

static void describe(const struct pw_gpu_cause_found *found, const struct pw_gpu_usage *u,
                     const struct pw_row_c_gpu_rank *rank, const struct pw_kernels *kernels,
                     int64_t steps, char *out, size_t size)
{
    char mine[32], others[32], extra[192] = "";
    pw_text_ns(mine, sizeof(mine), found->part_ns / steps);
    pw_text_ns(others, sizeof(others), found->others_part_ns / steps);
    if (found->cause == PW_CAUSE_GPU_CLOCKS_THROTTLED)
        describe_clocks(found, u, extra, sizeof(extra));
    else if (found->cause == PW_CAUSE_SLOWER_KERNELS)
        describe_kernels(rank, kernels, extra, sizeof(extra));
    else if (found->cause == PW_CAUSE_MORE_GPU_WORK)
        snprintf(extra, sizeof(extra), "; the same kernels take no longer than there");
    snprintf(out, size, "%s %s a step, other ranks %s%s", mine, words_of(found->cause), others,
             extra);
}

/* The host's own troubles are told before their effect. */
static int is_hosts(int cause)
{
    return cause == PW_CAUSE_CPU_CONTENTION || cause == PW_CAUSE_CGROUP_THROTTLING ||
           cause == PW_CAUSE_PAGE_FAULTS || cause == PW_CAUSE_FILE_IO ||
           cause == PW_CAUSE_DATA_STARVATION;
}

void pw_gpuevidence_enter(struct pw_row_c_straggler *row, struct pw_gpu_usage *usage, size_t nranks,
                          int64_t steps, const struct pw_kernels *kernels, int64_t *scratch)
{
    struct pw_gpu_usage *u = &usage[row->rank];
    const struct pw_row_c_gpu_rank *rank = find_rank(kernels, (size_t)row->rank);
    if (!rank || steps <= 0)
        return;
    /* While data is got, the GPU is dry or only copies it. */
    for (size_t r = 0; r < nranks && row->phase == PW_PHASE_DATA; r++)
        sum(&usage[r].dry_ns, usage[r].copy_ns);
    u->slowdown = rank->slowdown;
    u->confidence = rank->confidence;
    struct pw_gpu_cause_found found = pw_gpu_cause_find(usage, nranks, (size_t)row->rank, scratch);
    if (found.cause == PW_CAUSE_HOST_BOUND && is_hosts(row->cause))
        return;
    /* The CPU of a rank that has a GPU waits for it, spinning or not: that is no cause. */
    row->cause = (uint8_t)found.cause;
    memset(row->evidence, 0, sizeof(row->evidence));
    if (found.cause == PW_CAUSE_UNKNOWN)
        return;
    if (found.cause == PW_CAUSE_HOST_BOUND && row->phase == PW_PHASE_DATA)
        row->cause = found.cause = PW_CAUSE_DATA_STARVATION;
    describe(&found, u, rank, kernels, steps, row->evidence, sizeof(row->evidence));
}
