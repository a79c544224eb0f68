/* Reads the samples of each rank of this process, and sums up its steps; see windowusage.h. */
#include "aggregate/findings/windowusage.h"

#include <stdlib.h>
#include <string.h>

#include "core/h5/h5file.h"
#include "core/search.h"

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

/* A rank whose file this process reads. */
struct reading {
    const struct pw_world *world;
    const struct pw_share *share;
    const struct pw_input *input;
    struct samples samples;
    struct pw_step_window all; /* from the first step of any window to the last one */
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

/* Adds those of n steps that are in the window. */
static void add_steps(const struct step_usage *steps, size_t n, const struct pw_step_window *window,
                      struct step_sums *sums)
{
    for (size_t i = 0; i < n; i++) {
        const struct pw_row_step *step = steps[i].step;
        if (step->step >= window->first && step->step <= window->last)
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
        add_steps(steps, known, &of->all, &block);
        for (size_t w = 0; w < n && known; w++)
            if (windows[w].first <= block.first && windows[w].last >= block.last)
                add_sums(&sums[w], &block);
            else
                add_steps(steps, known, &windows[w], &sums[w]);
    }
}

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
                                          const struct pw_step_window *windows, size_t n,
                                          size_t *count)
{
    struct pw_window_usage *items = calloc(n * job->ninputs + 1, sizeof(*items));
    struct pw_step_window all = {INT64_MAX, INT64_MIN};
    *count = 0;
    for (size_t w = 0; w < n; w++) {
        all.first = windows[w].first < all.first ? windows[w].first : all.first;
        all.last = windows[w].last > all.last ? windows[w].last : all.last;
    }
    for (size_t i = 0; i < job->ninputs && items; i++) {
        struct reading of = {
            .world = &job->world, .share = share, .input = &job->inputs[i], .all = all};
        read_samples(of.input, &of.samples);
        fill_rank(&of, windows, n, &items[*count]);
        *count += n;
        free(of.samples.process);
        free(of.samples.host);
        free(of.samples.gpu);
    }
    return items;
}

size_t pw_windowusage_gather(struct pw_window_usage **all, const struct pw_job *job,
                             const struct pw_share *share, const struct pw_step_window *windows,
                             size_t n)
{
    size_t count;
    void *gathered;
    struct pw_window_usage *mine = fill_items(job, share, windows, n, &count);
    const size_t total = pw_procs_allgather(&job->procs, mine, count, sizeof(*mine), &gathered);
    *all = gathered;
    free(mine);
    return total;
}
