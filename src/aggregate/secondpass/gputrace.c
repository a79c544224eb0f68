/* Follows a rank's GPU activities in the order of their starts, and divides their time among steps
 * and phases; see gputrace.h and the definitions in docs/metrics.md. */
#include "aggregate/secondpass/gputrace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/gpu/gpudevices.h"
#include "aggregate/gpu/gpuevents.h"
#include "aggregate/gpu/kernelrows.h"
#include "aggregate/input/cursor.h"
#include "core/limits.h"

enum { NONE = PW_PHASE_NONE, PHASE_END = PW_PHASE_OPTIMIZER + 1 };

/* The GPU work of the phases in a step. */
struct step_phases {
    int64_t ns[PHASE_END]; /* computing and copies that the phase launched, and the GPU's idle time
                              in the phase */
    /* start and end on the GPU of the work that these phases launched */
    int64_t forward_start, backward_end;
};

struct pass {
    const struct pw_input *input;
    struct pw_ranktrace *trace;
    struct pw_kernelread *kernels;
    struct pw_gputime time;
    struct step_phases *phases; /* [input->nsteps] */
    ptrdiff_t near;
    struct pw_row_c_gpu_rank *rank;
    struct pw_gpudevices *devices;
    int has_phases;
    int has_launches; /* 0: of no activity it is known when it was launched, and so in which phase
                       */
};

static int take_kernel(void *context, const struct pw_row_kernel *kernel)
{
    struct pass *p = context;
    p->rank->kernels++;
    pw_points_add_kernel(&p->trace->points, kernel);
    pw_gpudevices_kernel(p->devices, kernel);
    return pw_kernelread_add(p->kernels, kernel);
}

static void take_copy(void *context, const struct pw_row_memcpy *copy)
{
    struct pass *p = context;
    p->rank->copies++;
    pw_gpudevices_copy(p->devices, copy);
    if (copy->bytes > 0 && pw_is_possible(copy->bytes))
        p->rank->copied_bytes = pw_sum(p->rank->copied_bytes, copy->bytes);
}

/* 1 when v[at] is the first of the joined spans that ends after `time`. Usually v[at] is right,
 * because successive kernels have the same span. */
static int is_first_after(const struct pw_spans *s, size_t at, int64_t time)
{
    return (at >= s->n || s->v[at].end > time) && (at == 0 || s->v[at - 1].end <= time);
}

/* Returns the phase that the program was in at a time. */
static int phase_at(struct pass *p, int64_t time)
{
    for (int phase = PW_PHASE_DATA; phase < PHASE_END; phase++) {
        struct pw_spans *s = &p->trace->phase_spans[phase];
        if (!s->n)
            continue;
        if (!is_first_after(s, s->near, time))
            s->near = pw_intervals_first(s->v, s->n, time, s->near);
        if (s->near < s->n && s->v[s->near].start <= time)
            return phase;
    }
    return NONE;
}

/* Returns the time in a gap in which the host was in the phase, and did not wait for other
 * ranks. */
static int64_t own_in_gap(struct pass *p, int phase, struct pw_interval gap)
{
    struct pw_spans *s = &p->trace->phase_spans[phase];
    int64_t own = 0;
    if (!s->n)
        return 0;
    s->near = pw_intervals_first(s->v, s->n, gap.start, s->near);
    for (size_t i = s->near; i < s->n && s->v[i].start < gap.end; i++) {
        const struct pw_interval both = {s->v[i].start > gap.start ? s->v[i].start : gap.start,
                                         s->v[i].end < gap.end ? s->v[i].end : gap.end};
        own += both.end - both.start - pw_spans_within(&p->trace->wait, both);
    }
    return own;
}

/* Adds the idle time of a gap to the phases that the host was in. */
static void share_out_gap(struct pass *p, const struct pw_gpu_news *news)
{
    for (ptrdiff_t i = pw_input_step_at(p->input, news->gap_start), n = (ptrdiff_t)p->input->nsteps;
         i < n; i++) {
        if (i < 0)
            continue; /* the gap began before the first step */
        const struct pw_row_step *step = &p->input->steps[i];
        if (step->start >= news->gap_end)
            break;
        struct pw_interval gap = {
            step->start > news->gap_start ? step->start : news->gap_start,
            step->end < news->gap_end ? step->end : news->gap_end,
        };
        for (int phase = PW_PHASE_DATA; phase < PHASE_END && gap.end > gap.start; phase++)
            p->phases[i].ns[phase] += own_in_gap(p, phase, gap);
    }
}

static void count_phase(struct pass *p, const struct pw_gpu_activity *a, int64_t fresh_ns)
{
    ptrdiff_t at = pw_input_step_near(p->input, a->launch, &p->near);
    int phase = a->launch < 0 || at < 0 ? NONE : phase_at(p, a->launch);
    p->has_launches |= a->launch >= 0;
    if (phase == NONE)
        return;
    struct step_phases *s = &p->phases[at];
    s->ns[phase] += fresh_ns;
    if (a->kind != PW_GPU_COMPUTE)
        return;
    if (phase == PW_PHASE_FORWARD && a->start < s->forward_start)
        s->forward_start = a->start;
    if (phase == PW_PHASE_BACKWARD && a->end > s->backward_end)
        s->backward_end = a->end;
}

static void take_activity(void *context, const struct pw_gpu_activity *a)
{
    struct pass *p = context;
    struct pw_gpu_news news = pw_gputime_add(&p->time, a);
    pw_gpudevices_activity(p->devices, a);
    if (!p->has_phases)
        return;
    if (news.idle == PW_GPU_IDLE_HOST)
        share_out_gap(p, &news);
    if (a->kind == PW_GPU_COMPUTE || a->kind == PW_GPU_COPY)
        count_phase(p, a, news.fresh_ns);
}

static struct pw_row_c_gpu_trace trace_row(const struct pw_gpu_window *w)
{
    return (struct pw_row_c_gpu_trace){
        .span_ns = w->end - w->start,
        .busy_ns = w->busy_ns,
        .compute_ns = w->compute_ns,
        .comm_ns = w->comm_ns,
        .comm_exposed_ns = w->comm_exposed_ns,
        .copy_ns = w->copy_ns,
        .idle_host_ns = w->idle_host_ns,
        .idle_gap_ns = w->idle_gap_ns,
        .idle_other_ns = w->idle_other_ns,
    };
}

/* Fills the boundaries and the own work of the phases, when phases of the program launched
 * kernels. */
static void fill_phases(const struct step_phases *s, const struct pw_row_step *step,
                        struct pw_row_c_step_trace *row, struct pw_row_c_phase_trace *phases)
{
    int64_t known = 0;
    for (int phase = PW_PHASE_DATA; phase < PHASE_END; phase++) {
        int64_t *own = pw_phase_member(phases, phase);
        if (*own >= 0)
            *own = s->ns[phase];
        known = pw_sum(known, *own > 0 ? *own : 0);
    }
    phases->other_ns = row->own_ns > known ? row->own_ns - known : 0;
    row->interval_ns = row->fp_bp_ns = row->tail_ns = -1;
    int64_t forward = s->forward_start, backward = s->backward_end;
    if (forward != INT64_MAX && forward >= step->start && forward <= step->end)
        row->interval_ns = forward - step->start;
    if (forward != INT64_MAX && backward > forward)
        row->fp_bp_ns = backward - forward;
    if (backward != INT64_MIN && backward <= step->end)
        row->tail_ns = step->end - backward;
}

static void fill_step(const struct pass *p, const struct pw_gpu_window *w, size_t i,
                      struct pw_row_c_step_trace *row, struct pw_row_c_phase_trace *phases)
{
    row->comm_ns = w->call_ns;
    row->comm_exposed_ns = w->call_exposed_ns;
    row->compute_ns = w->compute_ns;
    row->idle_ns = row->total_ns - w->covered_ns;
    /* A rank that computes meanwhile does not wait. */
    row->wait_ns = w->wait_exposed_ns;
    row->own_ns = row->total_ns - row->wait_ns;
    if (p->has_phases && p->has_launches)
        fill_phases(&p->phases[i], &p->input->steps[i], row, phases);
}

/* Reads the spans in which another tool used CUPTI, or nothing was recorded: those between windows
 * of recording, too. Returns 0 or -errno. */
static int read_unrecorded(const struct pw_input *input, struct pw_spans *out)
{
    struct pw_cursor c;
    int err = pw_cursor_at(&c, input, &input->gap_rows, PW_TABLE_gap);
    for (const struct pw_row_gap *row; !err && (row = pw_cursor_next(&c));)
        if ((row->reason == PW_REASON_CUPTI_TAKEN || row->reason == PW_REASON_PAUSED) &&
            pw_is_possible(row->start) && pw_is_possible(row->end))
            pw_spans_add(out, row->start, row->end);
    err = err ? err : c.err;
    pw_cursor_close(&c);
    for (size_t i = 1; i < input->nwindows; i++)
        if (input->windows[i].start > input->windows[i - 1].end)
            pw_spans_add(out, input->windows[i - 1].end, input->windows[i].start);
    pw_spans_join(out);
    return err ? err : out->failed ? -ENOMEM : 0;
}

/* What was not recorded was neither idle nor busy, as far as is known. The first kernel behind it
 * was launched behind it, which looks like a host that is late. */
static void leave_out(struct pw_row_c_gpu_rank *rank)
{
    int64_t rest = rank->unrecorded_ns;
    int64_t *const idle[] = {&rank->idle_host_ns, &rank->idle_other_ns, &rank->idle_gap_ns};
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
        const int64_t part = *idle[i] <= 0 ? 0 : *idle[i] < rest ? *idle[i] : rest;
        *idle[i] -= part;
        rank->span_ns -= part;
        rest -= part;
    }
}

static void fill_rank(const struct pass *p, struct pw_spans *unrecorded)
{
    const struct pw_gpu_window *all = &p->time.all;
    struct pw_row_c_gpu_trace row = trace_row(all);
    struct pw_row_c_gpu_rank *to = p->rank;
    to->span_ns = row.span_ns;
    to->busy_ns = row.busy_ns;
    to->compute_ns = row.compute_ns;
    to->comm_ns = row.comm_ns;
    to->comm_exposed_ns = row.comm_exposed_ns;
    to->copy_ns = row.copy_ns;
    to->idle_host_ns = row.idle_host_ns;
    to->idle_gap_ns = row.idle_gap_ns;
    to->idle_other_ns = row.idle_other_ns;
    to->unrecorded_ns = pw_spans_within(unrecorded, (struct pw_interval){all->start, all->end});
    leave_out(to);
}

static void fill(struct pass *p, const struct pw_world *world, struct pw_spans *unrecorded,
                 struct pw_gputrace *out)
{
    for (size_t i = 0; i < p->input->nsteps; i++) {
        const struct pw_gpu_window *w = &p->time.windows[i];
        ptrdiff_t s = pw_world_step_index(world, p->input->steps[i].step);
        if (s < 0 || out->steps[s].span_ns >= 0)
            continue; /* a step number that occurs twice: the first step counts */
        out->steps[s] = trace_row(w);
        out->steps[s].unrecorded_ns =
            pw_spans_within(unrecorded, (struct pw_interval){w->start, w->end});
        fill_step(p, w, i, &p->trace->steps[s], &p->trace->phases[s]);
        /* GPU activity was not recorded, so neither computing nor idle time is known. */
        if (out->steps[s].unrecorded_ns)
            p->trace->steps[s].compute_ns = p->trace->steps[s].idle_ns = -1;
    }
    fill_rank(p, unrecorded);
    out->late = p->time.late;
}

static struct pw_gpu_window *make_windows(const struct pw_input *input)
{
    struct pw_gpu_window *windows = malloc(sizeof(*windows) * (input->nsteps + 1));
    for (size_t i = 0; windows && i < input->nsteps; i++)
        windows[i] =
            (struct pw_gpu_window){.start = input->steps[i].start, .end = input->steps[i].end};
    return windows;
}

static int begin(struct pass *p, struct pw_optree *kernels)
{
    struct pw_gpu_window *windows = make_windows(p->input);
    p->phases = calloc(p->input->nsteps + 1, sizeof(*p->phases));
    p->devices = pw_gpudevices_create(p->input);
    if (!windows || !p->phases || !p->devices) {
        free(windows);
        return -ENOMEM;
    }
    pw_gputime_begin(&p->time, windows, p->input->nsteps);
    for (size_t i = 0; i < p->input->nsteps; i++) {
        p->phases[i].forward_start = INT64_MAX;
        p->phases[i].backward_end = INT64_MIN;
    }
    for (int phase = PW_PHASE_DATA; phase < PHASE_END; phase++) {
        pw_spans_join(&p->trace->phase_spans[phase]);
        p->has_phases |= p->trace->phase_spans[phase].n > 0;
        if (p->trace->phase_spans[phase].failed)
            return -ENOMEM;
    }
    return pw_kernelread_open(kernels, p->input, &p->kernels);
}

static int allocate(struct pw_gputrace *out, const struct pw_world *world,
                    const struct pw_input *input)
{
    *out = (struct pw_gputrace){.steps = malloc(sizeof(*out->steps) * (world->nsteps + 1))};
    if (!out->steps)
        return -ENOMEM;
    memset(out->steps, 0xff, sizeof(*out->steps) * world->nsteps);
    out->rank = (struct pw_row_c_gpu_rank){.rank = (int32_t)input->rank,
                                           .kernel_row = -1,
                                           .slowdown = -1,
                                           .confidence = -1,
                                           .occupancy = -1};
    memcpy(out->rank.hostname, input->hostname, sizeof(out->rank.hostname));
    return 0;
}

int pw_gputrace_build(const struct pw_world *world, const struct pw_input *input,
                      struct pw_ranktrace *trace, struct pw_optree *kernels,
                      struct pw_gputrace *out)
{
    struct pw_spans unrecorded = {0};
    struct pass p = {.input = input, .trace = trace, .rank = &out->rank, .near = -1};
    const struct pw_gpu_visitor visitor = {&p, take_kernel, take_copy, take_activity};
    int err = allocate(out, world, input);
    if (err || !pw_input_has_gpu(input))
        return err;
    err = begin(&p, kernels);
    int gaps = err ? 0 : read_unrecorded(input, &unrecorded);
    int broken = err || gaps == -ENOMEM ? 0 : pw_gpuevents_read(input, &trace->wait, &visitor);
    err = err ? err : gaps == -ENOMEM || broken == -ENOMEM ? -ENOMEM : 0;
    if (!err) {
        pw_gputime_end(&p.time);
        fill(&p, world, &unrecorded, out);
        pw_gpuclocks_read(input, &out->rank);
        out->ndevices = pw_gpudevices_finish(p.devices, &out->rank, out->devices);
    }
    int closed = p.kernels ? pw_kernelread_close(p.kernels) : 0;
    free(p.time.windows);
    free(p.phases);
    pw_gpudevices_destroy(p.devices);
    pw_spans_fini(&unrecorded);
    return err ? err : closed ? closed : gaps ? gaps : broken;
}

void pw_gputrace_fini(struct pw_gputrace *trace)
{
    free(trace->steps);
    *trace = (struct pw_gputrace){0};
}
