/* Looks at what receivers did while sends stood still; see stalledsends.h. */
#include "aggregate/match/stalledsends.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/input/events.h"
#include "aggregate/steps/spans.h"
#include "core/ops.h"
#include "core/sort.h"

/* Buffered sends are shorter, and what they wait does not count beside steps of milliseconds. */
enum { LEAST_NS = 100000 };

struct looking {
    const struct pw_world *world;
    const struct pw_input *input;
    struct pw_events *events;
    struct pw_spans inside; /* calls of the blocks read last */
    size_t next;            /* block that was not read yet */
};

struct pw_flows pw_flows_make(const struct pw_world *world)
{
    const int64_t error = world->clock_error_max_ns;
    /* What was not recorded looks as if the rank were outside MPI. */
    const int is_known = error >= 0 && !world->has_pauses && !world->is_snapshot;
    return (struct pw_flows){.least_ns = !is_known              ? INT64_MAX
                                         : 2 * error > LEAST_NS ? 2 * error
                                                                : LEAST_NS};
}

/* One call that completes several sends to the same rank stood still once. */
static int is_same_call(const struct pw_flow_send *last, const struct pw_side *send)
{
    return last->src == send->src && last->dst == send->dst &&
           last->stood.start == send->at.blocked && last->stood.end == send->at.leave;
}

void pw_flows_note(struct pw_flows *f, const struct pw_side *send, const struct pw_side *receive)
{
    const struct pw_message_end *s = &send->at, *r = &receive->at;
    if (s->blocked == INT64_MAX || s->leave - s->blocked < f->least_ns || r->blocked < s->leave)
        return;
    if (f->n && is_same_call(&f->v[f->n - 1], send))
        return;
    if (f->n == f->capacity) {
        size_t capacity = f->capacity ? 2 * f->capacity : 256;
        struct pw_flow_send *v = realloc(f->v, capacity * sizeof(*v));
        f->failed |= !v;
        if (!v)
            return;
        f->v = v;
        f->capacity = capacity;
    }
    f->v[f->n++] = (struct pw_flow_send){
        .stood = {s->blocked, s->leave},
        .local_stood = send->local_enter + (s->blocked - s->enter),
        .local_enter = send->local_enter,
        .near_local = receive->local_enter + (s->blocked - r->enter),
        .src = send->src,
        .dst = send->dst,
    };
}

/* ---- what the receiver did ---- */

static void add_inside(struct looking *l, int64_t start, int64_t end)
{
    pw_spans_add(&l->inside, pw_input_time(l->input, start) - l->world->epoch_ns,
                 pw_input_time(l->input, end) - l->world->epoch_ns);
}

static void visit(void *context, const struct pw_input *input,
                  const struct pw_row_comm_event *event)
{
    (void)input;
    if (pw_op_info(event->op)->cls != PW_CLASS_LOCAL)
        add_inside(context, event->start, pw_events_returned(event));
}

/* Forgets what ended before a time, but for the last of it, from which on the rank was outside. */
static void forget(struct pw_spans *inside, int64_t time)
{
    const size_t first = pw_intervals_first(inside->v, inside->n, time, 0);
    if (first > 1)
        pw_spans_drop(inside, inside->v[first - 1].start);
}

/* Reads on to the end of the blocks around the send. */
static int read_around(struct looking *l, const struct pw_flow_send *send)
{
    const int64_t epoch = l->world->epoch_ns;
    const int64_t from = pw_input_local(l->input, send->stood.start + epoch, send->near_local);
    const int64_t to = pw_input_local(l->input, send->stood.end + epoch, from);
    size_t first, end;
    int err = 0;
    pw_begins_around(&l->input->begins, from, to, &first, &end);
    if (first > l->next) {
        l->inside.n = 0;
        l->next = first;
    }
    if (l->next >= end)
        return 0;
    forget(&l->inside, send->stood.start);
    for (; l->next < end && !err; l->next++)
        err = pw_events_visit(l->events, l->next, visit, l);
    pw_spans_join(&l->inside);
    return l->inside.failed ? -ENOMEM : err;
}

/* Sends to one receiver, in the order in which they began to stand. What cannot be read is noted by
 * another pass. */
static int look_at(struct looking *l, struct pw_flow_send *sends, size_t n)
{
    l->inside.n = l->next = 0;
    if (pw_events_open(l->input, &l->events))
        return 0;
    int err = 0;
    for (size_t i = 0; i < n && !err; i++) {
        err = read_around(l, &sends[i]);
        if (!err)
            sends[i].found = pw_flow_of(l->inside.v, l->inside.n, sends[i].stood);
    }
    pw_events_close(l->events);
    return err == -ENOMEM ? err : 0;
}

/* ---- who waited ---- */

static int by_receiver(const void *a, const void *b)
{
    const struct pw_flow_send *x = a, *y = b;
    if (x->dst != y->dst)
        return x->dst < y->dst ? -1 : 1;
    if (x->stood.start != y->stood.start)
        return x->stood.start < y->stood.start ? -1 : 1;
    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    return (x->local_enter > y->local_enter) - (x->local_enter < y->local_enter);
}

static int by_pair(const void *a, const void *b)
{
    const struct pw_flow_send *x = a, *y = b;
    if (x->dst != y->dst)
        return x->dst < y->dst ? -1 : 1;
    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    return by_receiver(a, b);
}

/* Sends of one pair that waited, moved to `out`; none when they ended more often (by time) while
 * the receiver was away than with its return: then they were long for another reason. */
static size_t keep_waits(const struct pw_flow_send *sends, size_t n, struct pw_flow_send *out)
{
    double waited = 0, left = 0;
    size_t kept = 0;
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        const struct pw_flow_send send = sends[i];
        if (send.stood.start == last)
            continue; /* the same call */
        last = send.stood.start;
        left += (double)send.found.left_ns;
        if (!pw_flow_waited(&send.found, send.stood))
            continue;
        waited += (double)send.found.waited_ns;
        out[kept++] = send;
    }
    return waited > left ? kept : 0;
}

static void keep_pairs(struct pw_flows *f)
{
    size_t kept = 0, end;
    pw_sort(f->v, f->n, sizeof(*f->v), by_pair);
    for (size_t i = 0; i < f->n; i = end) {
        for (end = i + 1;
             end < f->n && f->v[end].dst == f->v[i].dst && f->v[end].src == f->v[i].src;)
            end++;
        kept += keep_waits(f->v + i, end - i, f->v + kept);
    }
    f->n = kept;
}

static const struct pw_input *input_of(const struct pw_job *job, int32_t rank)
{
    for (size_t i = 0; i < job->ninputs; i++)
        if (job->inputs[i].rank == rank)
            return &job->inputs[i];
    return NULL;
}

int pw_flows_find(struct pw_flows *f, const struct pw_job *job)
{
    struct looking l = {.world = &job->world};
    int err = f->failed ? -ENOMEM : 0;
    size_t end;
    pw_sort(f->v, f->n, sizeof(*f->v), by_receiver);
    for (size_t i = 0; i < f->n && !err; i = end) {
        for (end = i + 1; end < f->n && f->v[end].dst == f->v[i].dst;)
            end++;
        l.input = input_of(job, f->v[i].dst);
        if (l.input && !job->world.ranks[f->v[i].dst].dropped_events)
            err = look_at(&l, f->v + i, end - i);
    }
    pw_spans_fini(&l.inside);
    if (!err)
        keep_pairs(f);
    return err;
}

void pw_flows_fini(struct pw_flows *flows)
{
    free(flows->v);
    *flows = (struct pw_flows){0};
}
