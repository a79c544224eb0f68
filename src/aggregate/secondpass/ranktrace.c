/* Reads a rank's events once more, now that the other ranks' enters are known; collects the spans
 * in which the rank waited, and computes the waits in each step. See ranktrace.h and the
 * definitions in docs/metrics.md. */
#include "aggregate/secondpass/ranktrace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/input/events.h"
#include "aggregate/input/missing.h"
#include "aggregate/input/spans.h"
#include "aggregate/steps/bins.h"
#include "core/grow.h"
#include "core/h5/h5table.h"
#include "core/limits.h"
#include "core/ops.h"
#include "core/search.h"
#include "core/sort.h"

enum {
    RANGE_BLOCK = 1024,
    SETTLE = 1 << 15, /* number of spans from which on those of finished steps are dropped */
};

/* A nonblocking collective that the current completing call completed. Local times between which
 * the wait may be for other ranks. */
struct completion {
    size_t instance;
    int64_t from, limit;
};

struct pass {
    const struct pw_world *world;
    struct pw_instances *instances;
    struct pw_graph_parts *graph;
    struct pw_spans comm;    /* spans with an operation in progress, since the last settled step */
    struct pw_spans exposed; /* spans of the rank inside calls, since the last settled step */
    struct pw_spans lost;    /* spans with lost records of communication or steps */
    struct pw_bins bins;
    struct pw_ranktrace *out;
    size_t settled;   /* number of steps of the input whose communication is computed */
    size_t settle_at; /* number of spans at which settle() is called next */
    struct completion *group;
    size_t ngroup, group_capacity;
    uint16_t group_thread;
    int64_t group_start; /* local time at which the completing call began */
    int failed;
};

/* Returns the local time of an epoch time near `near_local`. Only differences within one instance
 * matter, so the slope of the map, some 10^-5, is ignored. */
static int64_t to_local(const struct pass *p, const struct pw_input *input, int64_t epoch_time,
                        int64_t near_local)
{
    int64_t near_epoch = pw_input_time(input, near_local) - p->world->epoch_ns;
    return near_local + (epoch_time - near_epoch);
}

/* Returns the local time until which the rank may have waited in the instance: n-to-n operations
 * wait for the last rank to enter, operations from a root wait for the root, and in operations to a
 * root only the root waits, for the last. INT64_MIN: the rank does not wait. */
static int64_t wait_limit(const struct pass *p, const struct pw_input *input,
                          const struct pw_row_comm_event *event, const struct pw_instance *instance,
                          int32_t members)
{
    int is_root = (event->flags & PW_FLAG_ROOT) != 0;
    int64_t until = INT64_MIN;
    /* A member recorded nothing, so the wait for it is unknown. No part of the time counts as own
     * work. */
    if (instance->nranks < members)
        return event->end;
    switch (pw_op_info(event->op)->shape) {
    case PW_SHAPE_ALL:
        until = instance->last_enter;
        break;
    case PW_SHAPE_FROM_ROOT:
        until = is_root || instance->root_enter == INT64_MAX ? INT64_MIN : instance->root_enter;
        break;
    case PW_SHAPE_TO_ROOT:
        until = is_root ? instance->last_enter : INT64_MIN;
        break;
    default:
        break;
    }
    if (until == INT64_MIN || instance->mixed)
        return INT64_MIN;
    int64_t local = to_local(p, input, until, event->start);
    return local < event->end ? local : event->end;
}

static void count_wait(struct pass *p, size_t instance, int64_t start, int64_t end)
{
    if (end <= start)
        return;
    struct pw_instance_wait *wait = &p->instances->waits[instance];
    wait->sum_ns = pw_sum(wait->sum_ns, end - start);
    wait->max_ns = end - start > wait->max_ns ? end - start : wait->max_ns;
    pw_spans_add(&p->out->wait, start, end);
}

static int by_limit(const void *a, const void *b)
{
    const struct completion *x = a, *y = b;
    if (x->limit != y->limit)
        return x->limit < y->limit ? -1 : 1;
    return (x->instance > y->instance) - (x->instance < y->instance);
}

/* Distributes the wait of a call that completed several collectives: each gets the part of it that
 * the ones before do not explain. */
static void close_group(struct pass *p)
{
    int64_t explained = INT64_MIN;
    pw_sort(p->group, p->ngroup, sizeof(*p->group), by_limit);
    for (size_t i = 0; i < p->ngroup; i++) {
        const struct completion *one = &p->group[i];
        count_wait(p, one->instance, one->from > explained ? one->from : explained, one->limit);
        explained = one->limit > explained ? one->limit : explained;
    }
    p->ngroup = 0;
}

static void add_to_group(struct pass *p, const struct pw_row_comm_event *event, size_t instance,
                         int64_t limit)
{
    if (p->ngroup && (event->thread != p->group_thread || event->wait_start != p->group_start))
        close_group(p);
    struct completion *group = pw_grow(p->group, p->ngroup, sizeof(*group), &p->group_capacity);
    p->failed |= !group;
    if (!group)
        return;
    p->group = group;
    p->group_thread = event->thread;
    p->group_start = event->wait_start;
    const int64_t from = event->start > event->wait_start ? event->start : event->wait_start;
    p->group[p->ngroup++] = (struct completion){instance, from, limit};
}

/* In an operation from or to a root, ranks that pass the data on, and those whose data do not fit
 * into buffers, may stay until the last rank has entered. A rank that is still inside then was
 * blocked: this is no own work. These waits are not counted for the instance, because they are not
 * for its root. */
static void add_blocked(struct pass *p, const struct pw_input *input,
                        const struct pw_row_comm_event *event, const struct pw_instance *instance)
{
    const enum pw_op_shape shape = pw_op_info(event->op)->shape;
    if ((shape != PW_SHAPE_FROM_ROOT && shape != PW_SHAPE_TO_ROOT) || instance->mixed)
        return;
    const bool is_begun = event->flags & PW_FLAG_NONBLOCKING;
    const int64_t until = to_local(p, input, instance->last_enter, event->start);
    if ((is_begun && !event->wait_start) || until >= event->end)
        return;
    const int64_t from =
        is_begun && event->wait_start > event->start ? event->wait_start : event->start;
    pw_spans_add(&p->out->wait, from, until);
}

static void visit_collective(struct pass *p, const struct pw_input *input,
                             const struct pw_row_comm_event *event)
{
    int64_t at = pw_instances_find(p->instances, input, event);
    if (at < 0)
        return;
    int64_t limit = wait_limit(p, input, event, &p->instances->items[at],
                               p->instances->comms[input->groups[event->comm]].size);
    add_blocked(p, input, event, &p->instances->items[at]);
    if (limit == INT64_MIN)
        return;
    if (!(event->flags & PW_FLAG_NONBLOCKING))
        count_wait(p, (size_t)at, event->start, limit);
    else if (event->wait_start)
        add_to_group(p, event, (size_t)at, limit);
}

/* Adds the rank's waits in messages; the list is sorted by rank. */
static void add_message_waits(struct pass *p, const struct pw_messages *messages, int64_t rank)
{
    const struct pw_message_wait *waits = messages->waits;
    size_t i =
        pw_search(waits, messages->nwaits, PW_SEARCH_KEY(struct pw_message_wait, rank), rank);
    for (; i < messages->nwaits && waits[i].rank == rank; i++)
        pw_spans_add(&p->out->wait, waits[i].start, waits[i].end);
}

/* Adds the time of a message from or to a rank without a file: it cannot be matched, so the time is
 * no own work. */
static void add_unknown_wait(struct pass *p, const struct pw_row_comm_event *event)
{
    int64_t stands = event->flags & PW_FLAG_NONBLOCKING ? event->wait_start : event->start;
    if (event->peer >= 0 && event->peer < p->world->nranks && stands &&
        !p->world->ranks[event->peer].present)
        pw_spans_add(&p->out->wait, stands, event->end);
}

/* Adds the wait in a call that did not return, because a rank had ended for which it waited. */
static void add_last_wait(struct pass *p, const struct pw_input *input)
{
    if (input->waited_from_ns < input->ending.time)
        pw_spans_add(&p->out->wait, input->waited_from_ns, input->ending.time);
}

/* Adds the wait in MPI_Init or MPI_Finalize, which no rank leaves before the last rank has entered
 * it. */
static void visit_begin_or_end(struct pass *p, const struct pw_input *input,
                               const struct pw_row_comm_event *event)
{
    int64_t last = INT64_MIN;
    if (event->op == PW_OP_Init || event->op == PW_OP_Init_thread)
        last = pw_bins_last_init(p->world, input);
    else if (event->op == PW_OP_Finalize)
        last = pw_bins_last_finalize(p->world, input);
    pw_spans_add(&p->out->wait, event->start, last < event->end ? last : event->end);
    pw_bins_add_inside(&p->bins, event->start, event->end);
}

static void add_exposed(struct pass *p, int64_t start, int64_t end)
{
    pw_spans_add(&p->exposed, start, end);
    pw_bins_add_inside(&p->bins, start, end);
}

static void visit(void *context, const struct pw_input *input,
                  const struct pw_row_comm_event *event)
{
    struct pass *p = context;
    enum pw_op_class cls = pw_op_info(event->op)->cls;
    if (cls == PW_CLASS_SYNC)
        visit_begin_or_end(p, input, event);
    if (cls == PW_CLASS_SYNC || cls == PW_CLASS_LOCAL)
        return;
    if (pw_event_is_enqueued(event)) {
        add_exposed(p, event->start, event->end);
        return;
    }
    if (cls != PW_CLASS_WAIT) {
        pw_graph_add_event(p->graph, p->world, input, event, p->instances);
        pw_spans_add(&p->comm, event->start, event->end);
    }
    add_exposed(p, event->start, pw_event_returned(event));
    if (cls == PW_CLASS_COLL)
        visit_collective(p, input, event);
    if (cls == PW_CLASS_SEND || cls == PW_CLASS_RECV)
        add_unknown_wait(p, event);
    if (cls == PW_CLASS_RECV && !(event->flags & (PW_FLAG_CANCELLED | PW_FLAG_FREED)))
        pw_bins_add_received(&p->bins, event->end);
}

static struct pw_interval window_of(const struct pw_row_step *step)
{
    return (struct pw_interval){step->start, step->end};
}

/* Called when all events that start before `until` were read: computes the communication of the
 * steps that end by then, and drops their spans. */
static void settle(struct pass *p, const struct pw_input *input, int64_t until)
{
    pw_spans_join(&p->comm);
    pw_spans_join(&p->exposed);
    for (; p->settled < input->nsteps && input->steps[p->settled].end <= until; p->settled++) {
        const struct pw_row_step *step = &input->steps[p->settled];
        ptrdiff_t s = pw_world_step_index(p->world, step->step);
        if (s < 0 || p->out->steps[s].comm_ns >= 0 || pw_lost_in(&p->lost, step))
            continue; /* a number that came twice: the first counts */
        p->out->steps[s].comm_ns = pw_spans_within(&p->comm, window_of(step));
        p->out->steps[s].comm_exposed_ns = pw_spans_within(&p->exposed, window_of(step));
    }
    int64_t needed = p->settled < input->nsteps ? input->steps[p->settled].start : INT64_MAX;
    pw_spans_drop(&p->comm, needed);
    pw_spans_drop(&p->exposed, needed);
    p->settle_at = SETTLE + 2 * (p->comm.n + p->exposed.n);
}

static int read_events(struct pass *p, const struct pw_input *input)
{
    struct pw_events *events;
    int err = pw_events_open(input, &events);
    if (err)
        return err;
    for (size_t b = 0; !err && b < pw_events_blocks(input); b++) {
        err = pw_events_visit(events, b, visit, p);
        if (p->comm.n + p->exposed.n > p->settle_at)
            settle(p, input, pw_events_start_after(input, b + 1));
    }
    pw_events_close(events);
    return err;
}

static void fill_step(struct pass *p, struct pw_interval window, struct pw_row_c_step_trace *row)
{
    row->total_ns = window.end - window.start;
    row->wait_ns = pw_spans_within(&p->out->wait, window);
    row->own_ns = row->total_ns - row->wait_ns;
    /* Without operators or kernels, all time outside communication calls counts as computing. */
    row->compute_ns = row->total_ns - row->comm_exposed_ns;
}

static void clear_rows(struct pw_ranktrace *out, size_t nsteps)
{
    for (size_t s = 0; s < nsteps; s++) {
        memset(&out->steps[s], 0xff, sizeof(out->steps[s]));
        memset(&out->phases[s], 0xff, sizeof(out->phases[s]));
        out->recorded[3 * s] = out->recorded[3 * s + 1] = out->recorded[3 * s + 2] = -1;
    }
}

static void fill_steps(struct pass *p, const struct pw_input *input, struct pw_ranktrace *out)
{
    for (size_t i = 0; i < input->nsteps; i++) {
        const struct pw_row_step *step = &input->steps[i];
        ptrdiff_t s = pw_world_step_index(p->world, step->step);
        if (s < 0 || out->steps[s].total_ns >= 0 || pw_lost_in(&p->lost, step))
            continue; /* a number that came twice: the first counts */
        fill_step(p, window_of(step), &out->steps[s]);
        out->recorded[3 * s] = pw_input_time(input, step->start) - p->world->epoch_ns;
        out->recorded[3 * s + 1] = pw_input_time(input, step->end) - p->world->epoch_ns;
        out->recorded[3 * s + 2] = step->recorded;
        if ((size_t)s < p->graph->nsteps)
            pw_graph_add_window(p->graph, &(struct pw_graph_window){.start = out->recorded[3 * s],
                                                                    .end = out->recorded[3 * s + 1],
                                                                    .rank = (int32_t)input->rank,
                                                                    .step = (int32_t)s,
                                                                    .phase = -1});
    }
}

int64_t *pw_phase_member(struct pw_row_c_phase_trace *row, int phase)
{
    switch (phase) {
    case PW_PHASE_DATA:
        return &row->data_ns;
    case PW_PHASE_FORWARD:
        return &row->forward_ns;
    case PW_PHASE_BACKWARD:
        return &row->backward_ns;
    case PW_PHASE_ALLREDUCE:
        return &row->allreduce_ns;
    case PW_PHASE_OPTIMIZER:
        return &row->optimizer_ns;
    default:
        return NULL;
    }
}

/* Sets the boundaries of forward and backward from these phases (docs/method.md, source 2). */
static void mark_phase(struct pw_row_c_step_trace *row, int phase, int64_t step_start,
                       struct pw_interval window, int64_t *backward_end)
{
    if (phase == PW_PHASE_FORWARD && row->interval_ns < 0)
        row->interval_ns = window.start - step_start;
    if (phase == PW_PHASE_BACKWARD)
        *backward_end = window.end;
}

/* Fills the intervals of the step, after all its ranges are known. */
static void close_phases(struct pw_row_c_step_trace *row, int64_t step_start, int64_t step_end,
                         int64_t backward_end)
{
    if (backward_end == INT64_MIN)
        return;
    row->tail_ns = step_end - backward_end;
    if (row->interval_ns >= 0)
        row->fp_bp_ns = backward_end - step_start - row->interval_ns;
}

struct phase_pass {
    struct pass *p;
    const struct pw_input *input;
    struct pw_ranktrace *out;
    int64_t *backward_end; /* [job->nsteps] */
    /* near, at: the input's step looked up last; index: the job's index of that step */
    ptrdiff_t near, at, index;
};

/* Adds a phase of a step that is replayed to the graph. */
static void add_part(const struct phase_pass *q, struct pw_interval window, ptrdiff_t step,
                     int phase)
{
    const int64_t epoch = q->p->world->epoch_ns;
    const struct pw_graph_window part = {.start = pw_input_time(q->input, window.start) - epoch,
                                         .end = pw_input_time(q->input, window.end) - epoch,
                                         .rank = (int32_t)q->input->rank,
                                         .step = (int32_t)step,
                                         .phase = phase};
    pw_graph_add_window(q->p->graph, &part);
}

static void visit_phase(struct phase_pass *q, const struct pw_row_range *range, int phase)
{
    ptrdiff_t at = pw_input_step_near(q->input, range->start, &q->near);
    pw_bins_add_phase(&q->p->bins, (enum pw_phase)phase,
                      (struct pw_interval){range->start, range->end}, &q->out->wait);
    if (at >= 0 && at != q->at) {
        q->index = pw_world_step_index(q->p->world, q->input->steps[at].step);
        q->at = at;
    }
    ptrdiff_t s = at < 0 ? -1 : q->index;
    if (s < 0 || q->out->steps[s].total_ns < 0)
        return;
    struct pw_interval window = {range->start, range->end};
    if (pw_input_has_gpu(q->input))
        pw_spans_add(&q->out->phase_spans[phase], range->start, range->end);
    int64_t *own = pw_phase_member(&q->out->phases[s], phase);
    if (!own)
        return;
    if ((size_t)s < q->p->graph->nsteps)
        add_part(q, window, s, phase);
    const int64_t work_ns = window.end - window.start - pw_spans_within(&q->out->wait, window);
    /* A range without a length is a boundary of its phase, and says nothing of its time. */
    if (window.end > window.start)
        *own = pw_sum(*own < 0 ? 0 : *own, work_ns);
    int64_t *data_ns = &q->out->steps[s].data_wait_ns;
    if (phase == PW_PHASE_DATA)
        *data_ns = pw_sum(*data_ns < 0 ? 0 : *data_ns, work_ns);
    mark_phase(&q->out->steps[s], phase, q->input->steps[at].start, window, &q->backward_end[s]);
}

/* Reads the ranges a block at a time, because not all may fit into memory. Returns 0 or -errno. */
static int read_phases(struct phase_pass *q)
{
    const struct pw_h5_place *place = &q->input->range_rows;
    struct pw_row_range *ranges = malloc(sizeof(*ranges) * RANGE_BLOCK);
    int err = ranges ? pw_input_table(q->input, place, &q->out->ranges) : -ENOMEM;
    for (uint64_t at = 0; !err && at < place->rows; at += RANGE_BLOCK) {
        size_t n = place->rows - at < RANGE_BLOCK ? (size_t)(place->rows - at) : RANGE_BLOCK;
        err = pw_h5_table_read(q->out->ranges, at, n, ranges);
        pw_progress_add(q->input->progress, (int64_t)n);
        for (size_t i = 0; !err && i < n; i++) {
            pw_points_add_range(&q->out->points, &ranges[i]);
            int phase = pw_input_phase(q->input, ranges[i].name);
            if (phase != PW_PHASE_NONE && ranges[i].end >= ranges[i].start &&
                pw_is_possible(ranges[i].start) && pw_is_possible(ranges[i].end))
                visit_phase(q, &ranges[i], phase);
        }
    }
    free(ranges);
    return err;
}

static void close_steps(struct phase_pass *q)
{
    for (size_t i = 0; i < q->input->nsteps; i++) {
        const struct pw_row_step *step = &q->input->steps[i];
        ptrdiff_t s = pw_world_step_index(q->p->world, step->step);
        if (s < 0 || q->out->steps[s].total_ns < 0)
            continue;
        struct pw_row_c_phase_trace *phases = &q->out->phases[s];
        int64_t known = 0;
        for (int phase = PW_PHASE_DATA; phase <= PW_PHASE_OPTIMIZER; phase++) {
            int64_t *own = pw_phase_member(phases, phase);
            known = pw_sum(known, *own > 0 ? *own : 0);
        }
        int64_t other = q->out->steps[s].own_ns - known;
        phases->other_ns = other > 0 ? other : 0;
        close_phases(&q->out->steps[s], step->start, step->end, q->backward_end[s]);
    }
}

static int fill_phases(struct pass *p, const struct pw_input *input, struct pw_ranktrace *out)
{
    struct phase_pass q = {
        p, input, out, malloc(sizeof(int64_t) * (p->world->nsteps + 1)), .at = -1, .index = -1};
    if (!q.backward_end)
        return -ENOMEM;
    for (size_t s = 0; s < p->world->nsteps; s++)
        q.backward_end[s] = INT64_MIN;
    int err = read_phases(&q);
    if (!err)
        close_steps(&q);
    free(q.backward_end);
    return err;
}

int pw_ranktrace_build(const struct pw_job *job, const struct pw_input *input,
                       const struct pw_share_parts *parts, struct pw_ranktrace *out)
{
    struct pass p = {.world = &job->world,
                     .instances = parts->instances,
                     .graph = parts->graph,
                     .out = out,
                     .settle_at = SETTLE};
    *out = (struct pw_ranktrace){
        .steps = malloc(sizeof(*out->steps) * (job->world.nsteps + 1)),
        .phases = malloc(sizeof(*out->phases) * (job->world.nsteps + 1)),
        .recorded = malloc(sizeof(*out->recorded) * 3 * (job->world.nsteps + 1)),
        .bins = malloc(sizeof(*out->bins) * (job->world.bins.n + 1)),
        .received = calloc(job->world.bins.n + 1, sizeof(*out->received)),
    };
    int err =
        out->steps && out->phases && out->recorded && out->bins && out->received ? 0 : -ENOMEM;
    memset(out->parts, 0xff, sizeof(out->parts));
    err = err ? err : pw_bins_begin(&p.bins, job, input, out->bins);
    p.bins.received = out->received;
    if (!err) {
        clear_rows(out, job->world.nsteps);
        pw_lost_find_work(input, &p.lost);
        err = read_events(&p, input);
        close_group(&p);
        settle(&p, input, INT64_MAX);
        add_message_waits(&p, parts->messages, input->rank);
        add_last_wait(&p, input);
        pw_spans_join(&out->wait);
        fill_steps(&p, input, out);
        const int names = pw_points_init(&out->points, input, parts->points);
        p.failed |= names == -ENOMEM;
        int phases = names ? names : fill_phases(&p, input, out);
        int bins = pw_bins_finish(&p.bins, input, &out->wait, out->parts);
        pw_lost_clear_bins(&p.lost, input, &job->world, out->bins);
        p.failed |= p.lost.failed || p.comm.failed || p.exposed.failed || out->wait.failed;
        err = p.failed ? -ENOMEM : err ? err : phases ? phases : bins;
    }
    pw_bins_fini(&p.bins);
    pw_spans_fini(&p.lost);
    pw_spans_fini(&p.comm);
    pw_spans_fini(&p.exposed);
    free(p.group);
    return err;
}

void pw_ranktrace_fini(struct pw_ranktrace *trace)
{
    free(trace->steps);
    free(trace->phases);
    free(trace->recorded);
    free(trace->bins);
    free(trace->received);
    pw_h5_table_close(trace->ranges);
    pw_spans_fini(&trace->wait);
    pw_points_fini(&trace->points);
    for (int phase = 0; phase <= PW_PHASE_OPTIMIZER; phase++)
        pw_spans_fini(&trace->phase_spans[phase]);
}
