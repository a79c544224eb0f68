/* Waits and step trace of one rank; see ranktrace.h and the definitions in docs/metrics.md. */
#include "aggregate/ranktrace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/events.h"
#include "aggregate/phases.h"
#include "analysis/intervals.h"
#include "core/h5reader.h"
#include "core/h5table.h"
#include "core/ops.h"
#include "core/sort.h"

enum { RANGE_BLOCK = 8192 };

struct set {
    struct pw_interval *v;
    size_t n, capacity;
};

/* A nonblocking collective whose completing call is still being read. */
struct completion {
    size_t instance;
    int64_t limit; /* until when the wait may be other ranks' doing */
};

struct pass {
    const struct pw_job *job;
    struct pw_instances *instances;
    struct pw_graph_parts *graph;
    struct set comm;    /* operations under way */
    struct set exposed; /* this rank inside a call */
    struct set wait;    /* this rank waiting for others */
    struct completion *group;
    size_t ngroup, group_capacity;
    uint16_t group_thread;
    int64_t group_start, group_end; /* of the completing call, local */
    int failed;
};

static void add(struct pass *p, struct set *set, int64_t start, int64_t end)
{
    if (end <= start)
        return;
    if (set->n == set->capacity) {
        size_t capacity = set->capacity ? 2 * set->capacity : 1024;
        struct pw_interval *v = realloc(set->v, capacity * sizeof(*v));
        if (!v) {
            p->failed = 1;
            return;
        }
        set->v = v;
        set->capacity = capacity;
    }
    set->v[set->n++] = (struct pw_interval){start, end};
}

/* Local time of an epoch time: only differences within one instance matter, so the map's slope,
 * some 10^-5, is left out. */
static int64_t to_local(const struct pass *p, const struct pw_input *input, int64_t epoch_time,
                        int64_t near_local)
{
    int64_t near_epoch = pw_input_time(input, near_local) - p->job->epoch_ns;
    return near_local + (epoch_time - near_epoch);
}

/* Until when this rank's time in the instance may be waiting for others (local), by who waits for
 * whom: in n-to-n operations for the last to enter, from a root for the root, towards it only the
 * root. */
static int64_t wait_limit(const struct pass *p, const struct pw_input *input,
                          const struct pw_row_comm_event *event, const struct pw_instance *instance)
{
    int is_root = (event->flags & PW_EVENT_ROOT) != 0;
    int64_t until = INT64_MIN;
    /* How much of it was for a member that recorded nothing is not known: it is not own work. */
    const struct pw_comm_group *comm =
        pw_instances_comm(p->instances, (size_t)(instance - p->instances->items));
    if (instance->nranks < comm->size)
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
    wait->sum_ns += end - start;
    wait->max_ns = end - start > wait->max_ns ? end - start : wait->max_ns;
    add(p, &p->wait, start, end);
}

static int by_limit(const void *a, const void *b)
{
    const struct completion *x = a, *y = b;
    if (x->limit != y->limit)
        return x->limit < y->limit ? -1 : 1;
    return (x->instance > y->instance) - (x->instance < y->instance);
}

/* One call that completed several collectives waited once: each is given the part of the wait that
 * the ones before it do not explain. */
static void close_group(struct pass *p)
{
    int64_t from = p->group_start;
    pw_sort(p->group, p->ngroup, sizeof(*p->group), by_limit);
    for (size_t i = 0; i < p->ngroup; i++) {
        count_wait(p, p->group[i].instance, from, p->group[i].limit);
        from = p->group[i].limit > from ? p->group[i].limit : from;
    }
    p->ngroup = 0;
}

static void add_to_group(struct pass *p, const struct pw_row_comm_event *event, size_t instance,
                         int64_t limit)
{
    if (p->ngroup && (event->thread != p->group_thread || event->end != p->group_end))
        close_group(p);
    if (p->ngroup == p->group_capacity) {
        size_t capacity = p->group_capacity ? 2 * p->group_capacity : 64;
        struct completion *group = realloc(p->group, capacity * sizeof(*group));
        if (!group) {
            p->failed = 1;
            return;
        }
        p->group = group;
        p->group_capacity = capacity;
    }
    p->group_thread = event->thread;
    p->group_start = event->wait_start;
    p->group_end = event->end;
    p->group[p->ngroup++] = (struct completion){instance, limit};
}

static void visit_collective(struct pass *p, const struct pw_input *input,
                             const struct pw_row_comm_event *event)
{
    int64_t at = pw_instances_find(p->instances, input, event);
    if (at < 0)
        return;
    int64_t limit = wait_limit(p, input, event, &p->instances->items[at]);
    if (limit == INT64_MIN)
        return;
    if (!(event->flags & PW_EVENT_NONBLOCKING))
        count_wait(p, (size_t)at, event->start, limit);
    else if (event->wait_start)
        add_to_group(p, event, (size_t)at, limit);
}

/* What the rank waited in messages, from the list that is sorted by rank. */
static void add_message_waits(struct pass *p, const struct pw_messages *messages, int64_t rank)
{
    size_t low = 0, high = messages->nwaits;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (messages->waits[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < messages->nwaits && messages->waits[low].rank == rank; low++)
        add(p, &p->wait, messages->waits[low].start, messages->waits[low].end);
}

/* A message from or to a rank without a file cannot be matched: the time in its call is not own
 * work. */
static void add_unknown_wait(struct pass *p, const struct pw_row_comm_event *event)
{
    int64_t stands = event->flags & PW_EVENT_NONBLOCKING ? event->wait_start : event->start;
    if (event->peer >= 0 && event->peer < p->job->nranks && stands &&
        !p->job->ranks[event->peer].present)
        add(p, &p->wait, stands, event->end);
}

/* The event for the replay: whom it holds up, and where the rank stood still for it. */
static void add_to_graph(struct pass *p, const struct pw_input *input,
                         const struct pw_row_comm_event *event, enum pw_op_class cls)
{
    int64_t enter = pw_input_time(input, event->start) - p->job->epoch_ns;
    if (enter >= p->graph->until_ns || cls == PW_CLASS_WAIT)
        return;
    int is_root = (event->flags & PW_EVENT_ROOT) != 0;
    int64_t stands = event->flags & PW_EVENT_NONBLOCKING ? event->wait_start : event->start;
    struct pw_graph_op op = {
        .local_enter = event->start,
        .enter = enter,
        .stands = stands ? pw_input_time(input, stands) - p->job->epoch_ns : INT64_MAX,
        .leave = pw_input_time(input, event->end) - p->job->epoch_ns,
        .instance = pw_instances_find(p->instances, input, event),
        .rank = (int32_t)input->rank,
        .receives = cls == PW_CLASS_RECV || (event->flags & PW_EVENT_RECV_PART),
    };
    enum pw_op_shape shape = pw_op_info(event->op)->shape;
    op.adds = shape == PW_SHAPE_ALL || shape == PW_SHAPE_TO_ROOT ||
              (shape == PW_SHAPE_FROM_ROOT && is_root);
    op.waits = shape == PW_SHAPE_ALL || (shape == PW_SHAPE_TO_ROOT && is_root) ||
               (shape == PW_SHAPE_FROM_ROOT && !is_root);
    pw_graph_add_op(p->graph, &op);
}

static void visit(void *context, const struct pw_input *input,
                  const struct pw_row_comm_event *event)
{
    struct pass *p = context;
    enum pw_op_class cls = pw_op_info(event->op)->cls;
    if (cls == PW_CLASS_SYNC || cls == PW_CLASS_LOCAL)
        return;
    add_to_graph(p, input, event, cls);
    if (cls != PW_CLASS_WAIT)
        add(p, &p->comm, event->start, event->end);
    if (!(event->flags & PW_EVENT_NONBLOCKING)) {
        add(p, &p->exposed, event->start, event->end);
    } else {
        int64_t waited = event->wait_start ? event->end - event->wait_start : 0;
        add(p, &p->exposed, event->start, event->start + event->inside_ns - waited);
    }
    if (cls == PW_CLASS_COLL)
        visit_collective(p, input, event);
    if (cls == PW_CLASS_SEND || cls == PW_CLASS_RECV)
        add_unknown_wait(p, event);
}

static void join(struct set *set)
{
    set->n = pw_intervals_union(set->v, set->n);
}

static int64_t within(const struct set *set, struct pw_interval window)
{
    return pw_intervals_within(set->v, set->n, window);
}

static void fill_step(const struct pass *p, struct pw_interval window,
                      struct pw_row_c_step_trace *row)
{
    row->total_ns = window.end - window.start;
    row->comm_ns = within(&p->comm, window);
    row->comm_exposed_ns = within(&p->exposed, window);
    row->wait_ns = within(&p->wait, window);
    row->own_ns = row->total_ns - row->wait_ns;
    /* Without operators or kernels, what is not inside a communication call computes. */
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

static void fill_steps(const struct pass *p, const struct pw_input *input, struct pw_ranktrace *out)
{
    for (size_t i = 0; i < input->nsteps; i++) {
        const struct pw_row_step *step = &input->steps[i];
        ptrdiff_t s = pw_job_step_index(p->job, step->step);
        if (s < 0 || out->steps[s].total_ns >= 0)
            continue; /* a number that came twice: the first counts */
        fill_step(p, (struct pw_interval){step->start, step->end}, &out->steps[s]);
        out->recorded[3 * s] = pw_input_time(input, step->start) - p->job->epoch_ns;
        out->recorded[3 * s + 1] = pw_input_time(input, step->end) - p->job->epoch_ns;
        out->recorded[3 * s + 2] = step->recorded;
        struct pw_graph_window window = {out->recorded[3 * s],
                                         out->recorded[3 * s + 1],
                                         (int32_t)input->rank,
                                         (int32_t)s,
                                         -1,
                                         0};
        if ((size_t)s < p->graph->nsteps)
            pw_graph_add_window(p->graph, &window);
    }
}

struct phase_pass {
    const struct pass *p;
    const struct pw_input *input;
    struct pw_ranktrace *out;
    int64_t *backward_end; /* [job->nsteps] */
};

static void visit_phase(struct phase_pass *q, const struct pw_row_range *range, int phase)
{
    ptrdiff_t at = pw_input_step_at(q->input, range->start);
    ptrdiff_t s = at < 0 ? -1 : pw_job_step_index(q->p->job, q->input->steps[at].step);
    if (s < 0)
        return;
    struct pw_interval window = {range->start, range->end};
    int64_t *own = pw_phase_member(&q->out->phases[s], phase);
    if (!own)
        return;
    int64_t epoch = q->p->job->epoch_ns;
    struct pw_graph_window part = {pw_input_time(q->input, range->start) - epoch,
                                   pw_input_time(q->input, range->end) - epoch,
                                   (int32_t)q->input->rank,
                                   (int32_t)s,
                                   phase,
                                   0};
    if ((size_t)s < q->p->graph->nsteps)
        pw_graph_add_window(q->p->graph, &part);
    *own = (*own < 0 ? 0 : *own) + window.end - window.start - within(&q->p->wait, window);
    pw_phase_mark(&q->out->steps[s], phase, q->input->steps[at].start, window, &q->backward_end[s]);
}

/* A block at a time: a rank may have more ranges than fit. */
static int read_phases(struct phase_pass *q, hid_t file, char **names, size_t nnames)
{
    struct pw_h5_table *table;
    struct pw_row_range *ranges = malloc(sizeof(*ranges) * RANGE_BLOCK);
    int err = ranges ? pw_h5_table_open(file, PW_TABLE_range, &table) : -ENOMEM;
    if (err) {
        free(ranges);
        return err == -ENOENT ? 0 : err;
    }
    hsize_t total = pw_h5_table_rows(table);
    for (hsize_t at = 0; !err && at < total; at += RANGE_BLOCK) {
        size_t n = total - at < RANGE_BLOCK ? (size_t)(total - at) : RANGE_BLOCK;
        err = pw_h5_table_read(table, at, n, ranges);
        for (size_t i = 0; !err && i < n; i++)
            if (ranges[i].end >= ranges[i].start) {
                int phase = pw_phase_of_name(names, nnames, ranges[i].name);
                if (phase != PW_PHASE_NONE)
                    visit_phase(q, &ranges[i], phase);
            }
    }
    pw_h5_table_close(table);
    free(ranges);
    return err;
}

static void close_steps(struct phase_pass *q)
{
    for (size_t i = 0; i < q->input->nsteps; i++) {
        const struct pw_row_step *step = &q->input->steps[i];
        ptrdiff_t s = pw_job_step_index(q->p->job, step->step);
        if (s < 0)
            continue;
        struct pw_row_c_phase_trace *phases = &q->out->phases[s];
        int64_t known = 0;
        for (int phase = PW_PHASE_DATA; phase <= PW_PHASE_OPTIMIZER; phase++) {
            int64_t *own = pw_phase_member(phases, phase);
            known += *own > 0 ? *own : 0;
        }
        int64_t other = q->out->steps[s].own_ns - known;
        phases->other_ns = other > 0 ? other : 0;
        pw_phase_close(&q->out->steps[s], step->start, step->end, q->backward_end[s]);
    }
}

static int fill_phases(const struct pass *p, const struct pw_input *input, struct pw_ranktrace *out)
{
    char **names = NULL;
    size_t nnames = 0;
    struct phase_pass q = {p, input, out, malloc(sizeof(int64_t) * (p->job->nsteps + 1))};
    hid_t file;
    int err = q.backward_end ? pw_input_acquire(input, &file) : -ENOMEM;
    if (err) {
        free(q.backward_end);
        return err;
    }
    err = pw_h5_read_strings(file, "/strings", &names, &nnames);
    for (size_t s = 0; s < p->job->nsteps; s++)
        q.backward_end[s] = INT64_MIN;
    err = err == -ENOENT ? 0 : err;
    err = err ? err : read_phases(&q, file, names, nnames);
    if (!err)
        close_steps(&q);
    pw_input_release(input, file);
    free(names);
    free(q.backward_end);
    return err;
}

int pw_ranktrace_build(const struct pw_job *job, struct pw_instances *instances,
                       const struct pw_messages *messages, const struct pw_input *input,
                       struct pw_graph_parts *graph, struct pw_ranktrace *out)
{
    struct pass p = {.job = job, .instances = instances, .graph = graph};
    *out = (struct pw_ranktrace){
        .steps = malloc(sizeof(*out->steps) * (job->nsteps + 1)),
        .phases = malloc(sizeof(*out->phases) * (job->nsteps + 1)),
        .recorded = malloc(sizeof(*out->recorded) * 3 * (job->nsteps + 1)),
    };
    int err = out->steps && out->phases && out->recorded ? 0 : -ENOMEM;
    if (!err) {
        clear_rows(out, job->nsteps);
        err = pw_events_read(input, visit, &p);
        close_group(&p);
        add_message_waits(&p, messages, input->rank);
        join(&p.comm);
        join(&p.exposed);
        join(&p.wait);
        fill_steps(&p, input, out);
        int phases = fill_phases(&p, input, out);
        err = p.failed ? -ENOMEM : err ? err : phases;
    }
    free(p.comm.v);
    free(p.exposed.v);
    free(p.wait.v);
    free(p.group);
    return err;
}

void pw_ranktrace_fini(struct pw_ranktrace *trace)
{
    free(trace->steps);
    free(trace->phases);
    free(trace->recorded);
}
