/* Reads the blocks with the endpoints of a span, and sorts these; see endpoints.h. */
#include "aggregate/match/endpoints.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/input/events.h"
#include "aggregate/input/windows.h"
#include "core/ops.h"
#include "core/sort.h"

struct pw_endpoint_turn {
    int64_t begun, enter;
    size_t at;
};

static int64_t epoch_time(const struct pw_endpoint_reader *r, const struct pw_input *input,
                          int64_t local)
{
    return pw_input_time(input, local) - r->world->epoch_ns;
}

static int64_t common_time(const struct pw_endpoint_reader *r, const struct pw_input *input,
                           int64_t local, struct pw_endpoint_time *last)
{
    if (last->local != local)
        *last = (struct pw_endpoint_time){local, epoch_time(r, input, local)};
    return last->time;
}

static int make_room(struct pw_endpoint_reader *r)
{
    if (r->n < r->capacity)
        return 1;
    size_t capacity = r->capacity ? 2 * r->capacity : 1024;
    struct pw_endpoint_read *v = realloc(r->v, capacity * sizeof(*v));
    r->v = v ? v : r->v;
    struct pw_endpoint_turn *turns = realloc(r->turns, capacity * sizeof(*turns));
    r->turns = turns ? turns : r->turns;
    if (v && turns)
        r->capacity = capacity;
    else
        r->failed = 1;
    return v && turns;
}

/* 1 when a message between the ranks may be used to align clocks: they are in two clock domains and
 * recorded all events. Otherwise the k-th receive may belong to another send than the k-th. */
static int tells_of_clocks(const struct pw_world *world, int64_t rank, int64_t peer)
{
    int32_t a = world->domains[rank], b = world->domains[peer];
    return a >= 0 && b >= 0 && a != b && !world->ranks[rank].dropped_events &&
           !world->ranks[peer].dropped_events && !world->has_pauses;
}

static int is_usable(const struct pw_endpoint_reader *r, const struct pw_input *input,
                     const struct pw_row_comm_event *event)
{
    enum pw_op_class cls = pw_op_info(event->op)->cls;
    if ((cls != PW_CLASS_SEND && cls != PW_CLASS_RECV) || event->peer < 0 ||
        event->peer >= r->world->nranks || event->comm < 0 ||
        (size_t)event->comm >= input->ncomms ||
        (event->flags & (PW_FLAG_ERROR | PW_FLAG_CANCELLED)))
        return 0;
    return !r->between_domains ||
           (!pw_event_is_enqueued(event) && tells_of_clocks(r->world, input->rank, event->peer));
}

static void visit(void *context, const struct pw_input *input,
                  const struct pw_row_comm_event *event)
{
    struct pw_endpoint_reader *r = context;
    int64_t begun = event->start > r->floor ? event->start : r->floor;
    if (begun < r->from || begun >= r->to || !is_usable(r, input, event) || !make_room(r))
        return;
    int receives =
        pw_op_info(event->op)->cls == PW_CLASS_RECV || (event->flags & PW_FLAG_RECV_PART);
    int64_t stands = event->flags & PW_FLAG_NONBLOCKING ? event->wait_start : event->start;
    if (pw_event_is_enqueued(event))
        stands = 0; /* the host does not wait for the operation */
    if (r->n && (begun < r->v[r->n - 1].begun ||
                 (begun == r->v[r->n - 1].begun && event->start < r->turns[r->n - 1].enter)))
        r->rises = 0;
    r->turns[r->n] = (struct pw_endpoint_turn){begun, event->start, r->n};
    struct pw_endpoint_read *read = &r->v[r->n++];
    read->begun = begun;
    read->end = event->end;
    read->receives = receives;
    read->endpoint = (struct pw_endpoint){
        .comm_uid = input->comms[event->comm].uid,
        .src = receives ? event->peer : (int32_t)input->rank,
        .dst = receives ? (int32_t)input->rank : event->peer,
        .tag = event->tag,
        .window = pw_input_window(input, event->start),
        .completion = -1,
        .at = {.enter = epoch_time(r, input, event->start),
               .leave = common_time(r, input, event->end, &r->leave),
               .blocked = stands ? common_time(r, input, stands, &r->blocked) : INT64_MAX},
        .local_enter = event->start,
        .bytes = receives ? event->recv_bytes : event->sent_bytes,
    };
}

static int by_turn(const void *a, const void *b)
{
    const struct pw_endpoint_turn *x = a, *y = b;
    if (x->begun != y->begun)
        return x->begun < y->begun ? -1 : 1;
    if (x->enter != y->enter)
        return x->enter < y->enter ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

int pw_endpoints_read(struct pw_endpoint_reader *r, const struct pw_input *input, int64_t from,
                      int64_t to)
{
    struct pw_events *events;
    size_t block, end;
    r->n = 0;
    r->rises = 1;
    r->leave = r->blocked = (struct pw_endpoint_time){0, epoch_time(r, input, 0)};
    r->from = from;
    r->to = to;
    pw_start_index_find(&input->start_index, from, to, &block, &end);
    if (block >= end || pw_events_open(input, &events))
        return 0; /* another pass notes damage */
    for (int err = 0; block < end && !err; block++) {
        r->floor = pw_start_index_floor(&input->start_index, block);
        err = pw_events_visit(events, block, visit, r);
    }
    pw_events_close(events);
    if (!r->rises)
        pw_sort(r->turns, r->n, sizeof(*r->turns), by_turn);
    for (size_t i = 0; i < r->n && !r->failed; i++)
        r->take(r->context, input, &r->v[r->turns[i].at]);
    return r->failed ? -ENOMEM : 0;
}

void pw_endpoint_reader_fini(struct pw_endpoint_reader *r)
{
    free(r->v);
    free(r->turns);
}
