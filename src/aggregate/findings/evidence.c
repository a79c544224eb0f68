/* Finds the causes of stragglers with analysis/cause.h, from the usage of the ranks in their steps;
 * see evidence.h. */
#include "aggregate/findings/evidence.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "core/h5/h5file.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/search.h"
#include "core/text.h"

/* Reads the samples of each rank of this process, and sums up its steps. */

/* The GPU time of a step. */
static struct pw_gpu_usage gpu_step(const struct pw_row_c_step_trace *trace,
                                    const struct pw_row_c_gpu_trace *gpu)
{
    const int known = gpu && gpu->busy_ns >= 0 && gpu->unrecorded_ns == 0;
    return (struct pw_gpu_usage){.own_ns = trace->own_ns,
                                 .compute_ns = known ? gpu->compute_ns : -1,
                                 .dry_ns = known ? gpu->idle_host_ns : -1,
                                 .copy_ns = known ? gpu->copy_ns : -1};
}

/* A sum becomes unknown (-1) with the first unknown value. */
static void add_gpu(struct pw_gpu_usage *u, const struct pw_gpu_usage *step)
{
    pw_usage_add(&u->own_ns, step->own_ns);
    pw_usage_add(&u->compute_ns, step->compute_ns);
    pw_usage_add(&u->dry_ns, step->dry_ns);
    pw_usage_add(&u->copy_ns, step->copy_ns);
}

/* The samples of one rank. */
struct samples {
    struct pw_row_process *process;
    struct pw_row_host *host;
    struct pw_row_gpu *gpu;
    size_t nprocess, nhost, ngpu;
};

static void read_samples(const struct pw_input *input, struct samples *out)
{
    void *rows;
    struct pw_h5_file *file;
    *out = (struct samples){0};
    if (pw_input_file(input, NULL, &file))
        return;
    if (pw_h5_file_read_all(file, PW_TABLE_process, &rows, &out->nprocess) == 0)
        out->process = rows;
    if (pw_h5_file_read_all(file, PW_TABLE_host, &rows, &out->nhost) == 0)
        out->host = rows;
    if (pw_h5_file_read_all(file, PW_TABLE_gpu, &rows, &out->ngpu) == 0)
        out->gpu = rows;
    pw_h5_file_close(file);
    out->ngpu = out->gpu ? out->ngpu : 0;
    out->nprocess = out->process ? out->nprocess : 0;
    out->nhost = out->host ? out->nhost : 0;
}

/* A cumulative counter in rows of samples. Rows begin with their time, and are sorted by it. */
struct counter {
    const void *rows;
    size_t n, row_size, offset; /* offset: of the counter in a row */
};

#define PROCESS_COUNTER(s, field)                                         \
    ((struct counter){(s)->process, (s)->nprocess, sizeof(*(s)->process), \
                      offsetof(struct pw_row_process, field)})
#define HOST_COUNTER(s, field)                                   \
    ((struct counter){(s)->host, (s)->nhost, sizeof(*(s)->host), \
                      offsetof(struct pw_row_host, field)})

/* The last row whose time is at or before `at`; -1 when there is none. */
static ptrdiff_t last_before(const struct counter *c, int64_t at)
{
    const struct pw_search_key by_time = {c->row_size, 0, sizeof(at)};
    return (ptrdiff_t)pw_search_until(c->rows, c->n, by_time, at) - 1;
}

/* The value of the counter at a time: interpolated between samples, and outside them that of the
 * nearest sample. -1 when a sample lacks the counter. */
static int64_t counter_at(const struct counter *c, int64_t at)
{
    ptrdiff_t i = last_before(c, at);
    size_t low = i < 0 ? 0 : (size_t)i, high = i < 0 ? 0 : low + 1 < c->n ? low + 1 : low;
    int64_t t[2], v[2];
    const char *row_low = (const char *)c->rows + low * c->row_size;
    const char *row_high = (const char *)c->rows + high * c->row_size;
    memcpy(&t[0], row_low, sizeof(t[0]));
    memcpy(&t[1], row_high, sizeof(t[1]));
    memcpy(&v[0], row_low + c->offset, sizeof(v[0]));
    memcpy(&v[1], row_high + c->offset, sizeof(v[1]));
    if (v[0] < 0 || v[1] < 0)
        return -1;
    if (t[1] <= t[0])
        return v[0];
    return v[0] + (int64_t)((double)(v[1] - v[0]) * ((double)(at - t[0]) / (double)(t[1] - t[0])));
}

/* How much the counter grew in the step; -1: not known. */
static int64_t grown(struct counter c, const struct pw_row_step *step)
{
    if (!c.n)
        return -1;
    int64_t before = counter_at(&c, step->start), after = counter_at(&c, step->end);
    return before < 0 || after < before ? -1 : after - before;
}

/* What the samples tell of a step. */
static struct pw_usage usage_of(const struct samples *s, const struct pw_row_step *step,
                                const struct pw_row_c_step_trace *trace)
{
    struct pw_usage u = {.own_ns = trace->own_ns, .total_ns = trace->total_ns};
    u.cpu_ns = grown(PROCESS_COUNTER(s, main_cpu_ns), step);
    u.runq_ns = grown(PROCESS_COUNTER(s, runq_wait_ns), step);
    u.major_faults = grown(PROCESS_COUNTER(s, main_major_faults), step);
    u.io_bytes = grown(PROCESS_COUNTER(s, main_read_bytes), step);
    pw_usage_add(&u.io_bytes, grown(PROCESS_COUNTER(s, main_write_bytes), step));
    u.child_faults = grown(PROCESS_COUNTER(s, child_faults), step);
    u.involuntary_cs = grown(PROCESS_COUNTER(s, involuntary_cs), step);
    u.throttled_ns = grown(HOST_COUNTER(s, throttled_ns), step);
    return u;
}

static void add_usage(struct pw_usage *u, const struct pw_usage *step)
{
    pw_usage_add(&u->own_ns, step->own_ns);
    pw_usage_add(&u->total_ns, step->total_ns);
    pw_usage_add(&u->cpu_ns, step->cpu_ns);
    pw_usage_add(&u->runq_ns, step->runq_ns);
    pw_usage_add(&u->major_faults, step->major_faults);
    pw_usage_add(&u->io_bytes, step->io_bytes);
    pw_usage_add(&u->child_faults, step->child_faults);
    pw_usage_add(&u->involuntary_cs, step->involuntary_cs);
    pw_usage_add(&u->throttled_ns, step->throttled_ns);
}

/* The number of samples of the process between the begin of the first and the end of the last step.
 */
static int64_t samples_within(const struct samples *s, int64_t start, int64_t end)
{
    const struct counter any = {s->process, s->nprocess, sizeof(*s->process), 0};
    return any.n && end > start ? last_before(&any, end) - last_before(&any, start) : 0;
}

/* The clocks sampled from `start` to `end`. */
static void add_clocks(struct pw_gpu_usage *u, const struct samples *s, int64_t start, int64_t end)
{
    for (size_t i = 0; i < s->ngpu; i++)
        if (s->gpu[i].time >= start && s->gpu[i].time < end)
            pw_gpu_clocks_add(&u->clocks, &s->gpu[i]);
}

/* The steps that windows have of which not all steps between the first and the last count. */
enum { MOST_LOST = 1 << 14 };

struct lost_steps {
    size_t n;
    int64_t numbers[MOST_LOST];
};

/* A rank whose file this process reads. */
struct reading {
    const struct pw_world *world;
    const struct pw_share *share;
    const struct pw_input *input;
    struct samples samples;
    struct pw_step_window all; /* from the first step of any window to the last one */
    const struct lost_steps *lost;
};

/* Steps are looked into by the block, for all stragglers at once. */
enum { BLOCK = 256 };

struct step_usage {
    const struct pw_row_step *step;
    struct pw_usage usage;
    struct pw_gpu_usage gpu;
};

/* Fills the usage in those of `count` steps of the input, from `first` on, that are known and may
 * be in a window. Returns how many there are. */
static size_t take_steps(const struct reading *of, size_t first, size_t count,
                         struct step_usage *out)
{
    const struct pw_share *share = of->share;
    const size_t column = (size_t)of->input->rank - share->first;
    struct pw_row_c_step_trace rows[BLOCK];
    size_t n = 0, begin = 0, end = 0; /* `rows` are those of the job's steps begin .. end - 1 */
    for (size_t i = first; i < first + count; i++) {
        const struct pw_row_step *step = &of->input->steps[i];
        const ptrdiff_t index = pw_world_step_index(of->world, step->step);
        const size_t at = (size_t)index;
        if (index < 0 || step->step < of->all.first || step->step > of->all.last)
            continue;
        if (at < begin || at >= end) {
            begin = at;
            end = of->world->nsteps - at < BLOCK ? of->world->nsteps : at + BLOCK;
            pw_share_rows(share, column, begin, end - begin, rows);
        }
        const struct pw_row_c_step_trace *trace = &rows[at - begin];
        if (trace->own_ns < 0 || trace->total_ns < 0)
            continue;
        out[n++] = (struct step_usage){
            step, usage_of(&of->samples, step, trace),
            gpu_step(trace, share->gpu ? &share->gpu[at * share->count + column] : NULL)};
    }
    return n;
}

/* The sums of a number of steps. */
struct step_sums {
    int64_t steps;
    struct pw_usage usage;
    struct pw_gpu_usage gpu;
    int64_t start, end;  /* the steps are between these times */
    int64_t first, last; /* and these numbers */
};

static void add_sums(struct step_sums *to, const struct step_sums *from)
{
    to->steps += from->steps;
    add_usage(&to->usage, &from->usage);
    add_gpu(&to->gpu, &from->gpu);
    to->start = from->start < to->start ? from->start : to->start;
    to->end = from->end > to->end ? from->end : to->end;
    to->first = from->first < to->first ? from->first : to->first;
    to->last = from->last > to->last ? from->last : to->last;
}

static struct step_sums no_steps(void)
{
    return (struct step_sums){
        .start = INT64_MAX, .end = INT64_MIN, .first = INT64_MAX, .last = INT64_MIN};
}

static int is_in(const struct reading *of, const struct pw_step_window *window, int64_t step)
{
    const int64_t *numbers = of->lost->numbers + window->from;
    const size_t at = pw_place_i64(numbers, window->n, step);
    return step >= window->first && step <= window->last &&
           (!window->n || (at < window->n && numbers[at] == step));
}

/* Adds those of n steps that are in the window. */
static void add_steps(const struct reading *of, const struct step_usage *steps, size_t n,
                      const struct pw_step_window *window, struct step_sums *sums)
{
    for (size_t i = 0; i < n; i++) {
        const struct pw_row_step *step = steps[i].step;
        if (is_in(of, window, step->step))
            add_sums(sums, &(struct step_sums){1, steps[i].usage, steps[i].gpu, step->start,
                                               step->end, step->step, step->step});
    }
}

/* Sums up the rank's steps in each of n windows. The sums of a block serve all windows that hold
 * the whole block. */
static void sum_steps(const struct reading *of, const struct pw_step_window *windows, size_t n,
                      struct step_sums *sums)
{
    const size_t nsteps = of->input->nsteps;
    struct step_usage steps[BLOCK];
    for (size_t i = 0; i < nsteps; i += BLOCK) {
        const size_t known = take_steps(of, i, nsteps - i < BLOCK ? nsteps - i : BLOCK, steps);
        struct step_sums block = no_steps();
        add_steps(of, steps, known, &of->all, &block);
        for (size_t w = 0; w < n && known; w++)
            if (!windows[w].n && windows[w].first <= block.first && windows[w].last >= block.last)
                add_sums(&sums[w], &block);
            else
                add_steps(of, steps, known, &windows[w], &sums[w]);
    }
}

/* The windows of all stragglers: of each one all its steps, then of some the steps that they lost.
 */
struct windows {
    size_t n;
    struct pw_step_window v[PW_USAGE_WINDOWS];
    struct lost_steps lost;
};

/* Fills the items of one rank, one for each of n windows. */
static void fill_rank(const struct reading *of, const struct pw_step_window *windows, size_t n,
                      struct pw_window_usage *items)
{
    struct step_sums sums[PW_USAGE_WINDOWS];
    for (size_t w = 0; w < n; w++)
        sums[w] = no_steps();
    if ((size_t)of->input->rank - of->share->first < of->share->count)
        sum_steps(of, windows, n, sums);
    for (size_t w = 0; w < n; w++) {
        const struct step_sums *s = &sums[w];
        struct pw_window_usage *item = &items[w];
        *item = (struct pw_window_usage){(int64_t)w, of->input->rank, s->steps, s->usage, s->gpu};
        item->usage.samples = samples_within(&of->samples, s->start, s->end);
        add_clocks(&item->gpu, &of->samples, s->start, s->end);
        if (!item->steps)
            item->usage.own_ns = item->usage.total_ns = item->gpu.own_ns = -1;
    }
}

static struct pw_window_usage *fill_items(const struct pw_job *job, const struct pw_share *share,
                                          const struct windows *windows, size_t *count)
{
    const size_t n = windows->n;
    struct pw_window_usage *items = calloc(n * job->ninputs + 1, sizeof(*items));
    struct pw_step_window all = {.first = INT64_MAX, .last = INT64_MIN};
    *count = 0;
    for (size_t w = 0; w < n; w++) {
        const struct pw_step_window *one = &windows->v[w];
        all.first = one->first < all.first ? one->first : all.first;
        all.last = one->last > all.last ? one->last : all.last;
    }
    for (size_t i = 0; i < job->ninputs && items; i++) {
        struct reading of = {.world = &job->world,
                             .share = share,
                             .input = &job->inputs[i],
                             .all = all,
                             .lost = &windows->lost};
        read_samples(of.input, &of.samples);
        fill_rank(&of, windows->v, n, &items[*count]);
        *count += n;
        free(of.samples.process);
        free(of.samples.host);
        free(of.samples.gpu);
    }
    return items;
}

/* Gathers on every process the usage of all ranks with a file in the windows, malloc'ed in *all.
 * The windows are the same on all processes. Returns how many there are, in any order; without
 * memory none. Collective. */
static size_t windowusage_gather(struct pw_window_usage **all, const struct pw_job *job,
                                 const struct pw_share *share, const struct windows *windows)
{
    size_t count;
    void *gathered;
    struct pw_window_usage *mine = fill_items(job, share, windows, &count);
    const size_t total = pw_procs_allgather(&job->procs, mine, count, sizeof(*mine), &gathered);
    *all = gathered;
    free(mine);
    return total;
}

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
enum { MOST_USAGES = 1 << 18, MOST_READ = 1 << 28 };

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

/* Writes the cause and the evidence of a straggler, if its usage shows a cause. */
static void enter(struct pw_row_c_straggler *row, const struct used *used, size_t nsteps)
{
    struct pw_cause_found found = pw_cause_find(used->usage, used->nranks, (size_t)row->rank,
                                                (enum pw_phase)row->phase, used->scratch);
    if (found.cause == PW_CAUSE_UNKNOWN || used->steps <= 0)
        return;
    if (is_rare(row, nsteps))
        pw_cause_refine_rare(used->usage, used->nranks, (size_t)row->rank, &found, used->scratch);
    row->cause = (uint8_t)found.cause;
    memset(row->evidence, 0, sizeof(row->evidence));
    describe(&found, &used->usage[row->rank], used->steps, row->evidence, sizeof(row->evidence));
}

/* Finds the cause of each straggler from the gathered items, on process 0. Returns 0 or -ENOMEM. */
static int enter_all(struct pw_findings *f, const struct pw_world *world,
                     const struct windows *windows, const struct pw_window_usage *items,
                     size_t count)
{
    const size_t nranks = (size_t)world->nranks;
    struct used used = {
        .usage = malloc(sizeof(*used.usage) * nranks),
        .gpu = malloc(sizeof(*used.gpu) * nranks),
        .nranks = nranks,
        .scratch = malloc(sizeof(*used.scratch) * nranks),
    };
    int err = used.usage && used.gpu && used.scratch ? 0 : -ENOMEM;
    for (size_t w = 0; w < windows->n && !err; w++) {
        struct pw_row_c_straggler *row = &f->stragglers[windows->v[w].straggler];
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
                if (items[i].rank == row->rank)
                    used.steps = items[i].steps;
            }
        const int has_gpu = find_rank(&f->kernels, (size_t)row->rank) != NULL;
        if (!windows->v[w].n || !has_gpu)
            enter(row, &used, f->nsteps);
        if (!windows->v[w].n)
            enter_gpu(row, &used, &f->kernels);
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

/* A straggler that lost few of its steps, so that the others say more about other things, and these
 * for so long that the samples in them tell what it did. */
static int is_told_by_lost_steps(const struct pw_row_c_straggler *row, size_t all)
{
    return row->kind == PW_STRAGGLER_INTERMITTENT && 2 * row->steps_hit <= (int64_t)all &&
           (double)row->excess_ns >= PW_EVIDENCE_LOST_NS * row->slowdown;
}

static size_t count_steps(const struct pw_findings *f, const struct pw_row_c_straggler *row)
{
    size_t n = 0;
    for (size_t s = 0; s < f->nsteps; s++)
        n += f->steps[s].step >= row->first_step && f->steps[s].step <= row->last_step;
    return n;
}

/* On process 0: lists the windows of as many stragglers as may be examined. The lost steps are
 * found for the worst of them, until MOST_READ own works have been compared. */
static void list_windows(const struct pw_findings *f, const struct pw_matrix *matrix,
                         struct windows *out)
{
    struct lost_steps *lost = &out->lost;
    size_t left = MOST_READ, most = MOST_USAGES / (matrix->nranks ? matrix->nranks : 1);
    most = most < PW_USAGE_WINDOWS ? most : PW_USAGE_WINDOWS;
    for (; out->n < f->nstragglers && out->n < most; out->n++)
        out->v[out->n] = (struct pw_step_window){f->stragglers[out->n].first_step,
                                                 f->stragglers[out->n].last_step, 0, 0, out->n};
    const size_t nstragglers = out->n;
    for (size_t i = 0; i < nstragglers && out->n < most; i++) {
        const struct pw_row_c_straggler *row = &f->stragglers[i];
        const size_t steps = count_steps(f, row), reads = steps * matrix->nranks;
        if (!is_told_by_lost_steps(row, steps) || reads > left)
            continue;
        left -= reads;
        const size_t n =
            pw_findings_lost_steps(f, matrix, row, lost->numbers + lost->n, MOST_LOST - lost->n);
        if (!n)
            continue;
        out->v[out->n++] = (struct pw_step_window){row->first_step, row->last_step, lost->n, n, i};
        lost->n += n;
    }
}

int pw_evidence_find(struct pw_findings *findings, const struct pw_job *job,
                     const struct pw_share *share, const struct pw_matrix *matrix)
{
    struct windows *windows = calloc(1, sizeof(*windows));
    int err = pw_procs_worst(&job->procs, windows ? 0 : -ENOMEM);
    if (!err && job->procs.process == 0)
        list_windows(findings, matrix, windows);
    if (!err)
        pw_ex_bcast(windows, sizeof(*windows), PW_EX_BYTE, 0, job->procs.comm);
    struct pw_window_usage *all = NULL;
    const size_t total = !err && windows->n ? windowusage_gather(&all, job, share, windows) : 0;
    /* Without windows there are too many ranks to examine any straggler. */
    if (!err && windows->n && job->procs.process == 0)
        err = enter_all(findings, &job->world, windows, all, total);
    if (job->procs.process == 0 && findings->nstragglers)
        drop_others(findings);
    free(all);
    free(windows);
    return err;
}
