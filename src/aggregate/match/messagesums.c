/* Sums up messages as they are matched, in any order; see messagesums.h. */
#include "aggregate/match/messagesums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/input/events.h"
#include "aggregate/input/spans.h"
#include "core/grow.h"
#include "core/limits.h"
#include "core/ops.h"
#include "core/sort.h"

/* Shorter sends do not count: sends into a buffer are shorter, and their waits are negligible. */
enum { LEAST_NS = 100000 };

struct looking {
    const struct pw_world *world;
    const struct pw_input *input;
    struct pw_events *events;
    struct pw_spans inside; /* calls of the last blocks */
    size_t next;            /* the next block to read */
};

struct pw_flows pw_flows_make(const struct pw_world *world)
{
    const int64_t error = world->clock_error_max_ns;
    /* Without complete records a rank would seem to be outside MPI. */
    const int is_known = error >= 0 && !world->has_pauses && !world->is_snapshot;
    return (struct pw_flows){.least_ns = !is_known              ? INT64_MAX
                                         : 2 * error > LEAST_NS ? 2 * error
                                                                : LEAST_NS};
}

/* 1 when `send` was completed by the same call as `last`: then both waited only once. */
static int is_same_call(const struct pw_flow_send *last, const struct pw_endpoint *send)
{
    return last->src == send->src && last->dst == send->dst &&
           last->stood.start == send->at.blocked && last->stood.end == send->at.leave;
}

/* Notes a matched send that may have waited for room in MPI's buffers. */
static void note_flow(struct pw_flows *f, const struct pw_endpoint *send,
                      const struct pw_endpoint *receive)
{
    const struct pw_message_end *s = &send->at, *r = &receive->at;
    if (s->blocked == INT64_MAX || s->leave - s->blocked < f->least_ns || r->blocked < s->leave)
        return;
    if (f->n && is_same_call(&f->v[f->n - 1], send))
        return;
    struct pw_flow_send *v = pw_grow(f->v, f->n, sizeof(*v), &f->capacity);
    f->failed |= !v;
    if (!v)
        return;
    f->v = v;
    f->v[f->n++] = (struct pw_flow_send){
        .stood = {s->blocked, s->leave},
        .local_stood = send->local_enter + (s->blocked - s->enter),
        .local_enter = send->local_enter,
        .near_local = receive->local_enter + (s->blocked - r->enter),
        .src = send->src,
        .dst = send->dst,
    };
}

/* ---- the receiver's calls ---- */

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
        add_inside(context, event->start, pw_event_returned(event));
}

/* Drops the calls that ended before a time, except the last one, because the rank was outside MPI
 * from its end on. */
static void forget(struct pw_spans *inside, int64_t time)
{
    const size_t first = pw_intervals_first(inside->v, inside->n, time, 0);
    if (first > 1)
        pw_spans_drop(inside, inside->v[first - 1].start);
}

/* Reads the receiver's blocks around the send, if they are not read yet. Returns 0 or -errno. */
static int read_around(struct looking *l, const struct pw_flow_send *send)
{
    const int64_t epoch = l->world->epoch_ns;
    const int64_t from = pw_input_local(l->input, send->stood.start + epoch, send->near_local);
    const int64_t to = pw_input_local(l->input, send->stood.end + epoch, from);
    size_t first, end;
    int err = 0;
    pw_start_index_around(&l->input->start_index, from, to, &first, &end);
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

/* Finds the receiver's times outside MPI for each send to one receiver; sends are in the order in
 * which they began to block. Returns 0 or -ENOMEM; another pass notes a damaged file. */
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

/* ---- which sends waited ---- */

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

static int by_pair_and_receiver(const void *a, const void *b)
{
    const struct pw_flow_send *x = a, *y = b;
    if (x->dst != y->dst)
        return x->dst < y->dst ? -1 : 1;
    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    return by_receiver(a, b);
}

/* Copies the sends of one pair that waited for their receiver to `out`. Returns how many. Copies
 * none if most of the blocked time ended while the receiver was outside MPI, and not when it
 * returned into MPI: then the sends were long for another reason. */
static size_t keep_waits(const struct pw_flow_send *sends, size_t n, struct pw_flow_send *out)
{
    double waited = 0, left = 0;
    size_t kept = 0;
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        const struct pw_flow_send send = sends[i];
        if (send.stood.start == last)
            continue; /* the same call as the one before */
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
    pw_sort(f->v, f->n, sizeof(*f->v), by_pair_and_receiver);
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

static void flows_fini(struct pw_flows *flows)
{
    free(flows->v);
    *flows = (struct pw_flows){0};
}

enum { NONE = -1 };

/* Number of waits from which on they are joined. */
enum { WAITS_UNJOINED = 1 << 16 };

/* A call that completed receives. It ends with the last message, so only the transfer of the
 * message that started last is not hidden by waiting for another. If a receive has no partner, it
 * may have been the last one, and then no transfer counts. */
struct pw_completion {
    int64_t end, until;
    /* of the message that started last so far; transfer < 0: most of it may have been hidden */
    int64_t ready, transfer;
    /* src: sender of that message; NONE: none so far. dst NONE: the entry is free */
    int32_t dst, src;
    int32_t receives;  /* number of receives not matched yet */
    int32_t unmatched; /* 1: a receive has no partner. In a free entry: the next free entry */
};

struct pw_message_sums pw_message_sums_make(struct pw_messages *out, struct pw_graph_parts *graph,
                                            struct pw_flows flows)
{
    return (struct pw_message_sums){.out = out, .graph = graph, .flows = flows, .first_free = NONE};
}

/* Makes room for one more of n items. Returns the array; when memory is short, the unchanged array,
 * and sets `failed`. */
static void *make_room(struct pw_message_sums *t, void *v, size_t n, size_t *capacity, size_t size)
{
    void *moved = pw_grow(v, n, size, capacity);
    t->failed |= !moved;
    return moved ? moved : v;
}

/* ---- pairs ---- */

static int is_pair(const void *items, int32_t item, const void *key)
{
    const struct pw_pair *pair = (const struct pw_pair *)items + item, *other = key;
    return pair->src == other->src && pair->dst == other->dst;
}

/* Returns the pair, which it adds if needed; NULL when memory is short. */
static struct pw_pair *pair_of(struct pw_message_sums *t, int32_t src, int32_t dst)
{
    struct pw_messages *out = t->out;
    struct pw_pair key = {.src = src, .dst = dst};
    uint32_t hash = (uint32_t)pw_hash_mix((uint32_t)src, (uint32_t)dst);
    out->pairs = make_room(t, out->pairs, out->npairs, &t->pairs_capacity, sizeof(*out->pairs));
    t->failed |= pw_hash_reserve(&t->by_pair) != 0;
    if (t->failed)
        return NULL;
    struct pw_hash_slot *slot = pw_hash_find(&t->by_pair, hash, is_pair, out->pairs, &key);
    if (slot->item == PW_HASH_NONE) {
        out->pairs[out->npairs] = key;
        pw_hash_take(&t->by_pair, slot, hash, (int32_t)out->npairs++);
    }
    return &out->pairs[slot->item];
}

static void add_square(struct pw_square_sum *sum, int64_t number)
{
    uint64_t x = (uint64_t)number, a = x >> 32, b = x & UINT32_MAX;
    /* x * x = a * a * 2^64 + 2 * middle * 2^32 + b * b; number < 2^63, so 2 * middle fits. */
    uint64_t middle = a * b;
    uint64_t low = b * b, high = a * a + (middle >> 31), twice = middle << 33;
    low += twice;
    high += low < twice;
    sum->low += low;
    sum->high += high + (sum->low < low);
}

/* ---- completing calls ---- */

static int is_call(const void *items, int32_t item, const void *key)
{
    const struct pw_completion *call = (const struct pw_completion *)items + item;
    const struct pw_completion *other = key;
    return call->dst == other->dst && call->end == other->end;
}

static uint32_t call_hash(const struct pw_completion *call)
{
    return (uint32_t)pw_hash_mix((uint32_t)call->dst, (uint64_t)call->end);
}

static int32_t new_call(struct pw_message_sums *t, const struct pw_completion *call)
{
    int32_t at = t->first_free;
    if (at == NONE) {
        t->calls = make_room(t, t->calls, (size_t)t->ncalls, &t->calls_capacity, sizeof(*t->calls));
        if (t->failed)
            return NONE;
        at = t->ncalls++;
    } else {
        t->first_free = t->calls[at].unmatched;
    }
    t->calls[at] = *call;
    return at;
}

int32_t pw_message_sums_call(struct pw_message_sums *t, int32_t dst, int64_t end, int64_t until)
{
    struct pw_completion call = {
        .end = end, .until = until, .ready = INT64_MIN, .dst = dst, .src = NONE, .receives = 1};
    t->failed |= pw_hash_reserve(&t->by_call) != 0;
    if (t->failed)
        return NONE;
    if (until == INT64_MIN)
        return new_call(t, &call);
    uint32_t hash = call_hash(&call);
    struct pw_hash_slot *slot = pw_hash_find(&t->by_call, hash, is_call, t->calls, &call);
    if (slot->item != PW_HASH_NONE) {
        t->calls[slot->item].receives++;
        return slot->item;
    }
    int32_t at = new_call(t, &call);
    if (at != NONE)
        pw_hash_take(&t->by_call, slot, hash, at);
    return at;
}

static void sum_unhidden(struct pw_message_sums *t, const struct pw_completion *call)
{
    struct pw_pair *pair = call->unmatched || call->src == NONE || call->transfer < 0
                               ? NULL
                               : pair_of(t, call->src, call->dst);
    if (!pair)
        return;
    pair->unhidden++;
    pair->unhidden_ns = pw_sum(pair->unhidden_ns, call->transfer);
    add_square(&pair->unhidden_squares_ns, call->transfer);
}

void pw_message_sums_calls_until(struct pw_message_sums *t, int64_t time)
{
    pw_hash_clear(&t->by_call);
    for (int32_t i = 0; i < t->ncalls; i++) {
        struct pw_completion *call = &t->calls[i];
        if (call->dst == NONE)
            continue;
        if (call->receives || (call->until >= time && time != INT64_MAX)) {
            uint32_t hash = call_hash(call);
            if (call->until != INT64_MIN)
                pw_hash_take(&t->by_call, pw_hash_free_slot(&t->by_call, hash), hash, i);
            continue;
        }
        sum_unhidden(t, call);
        *call = (struct pw_completion){.dst = NONE, .unmatched = t->first_free};
        t->first_free = i;
    }
}

/* ---- messages ---- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int extends(const struct pw_message_wait *last, const struct pw_message_wait *wait)
{
    return last->rank == wait->rank && last->start <= wait->start && wait->start <= last->end;
}

/* The wait of an endpoint, in local times of its rank. */
static struct pw_message_wait wait_of(const struct pw_endpoint *endpoint, int32_t rank,
                                      int64_t waited)
{
    int64_t start = endpoint->local_enter + (endpoint->at.blocked - endpoint->at.enter);
    return (struct pw_message_wait){rank, start, start + waited};
}

static void add_back(struct pw_message_sums *t, struct pw_message_wait wait)
{
    t->back = make_room(t, t->back, t->nback, &t->back_capacity, sizeof(*t->back));
    if (!t->failed)
        t->back[t->nback++] = wait;
}

/* 1 when the receiver computed for most of the time since both were ready: then the message may
 * have been there long before. A message to a rank that is busy is late, and its link is not slow.
 */
static int is_mostly_hidden(const struct pw_message_end *receive, int64_t ready)
{
    return receive->blocked != INT64_MAX &&
           receive->blocked - ready > receive->leave - receive->blocked;
}

static void count_arrival(struct pw_message_sums *t, const struct pw_endpoint *send,
                          const struct pw_endpoint *receive, int64_t ready, int64_t transfer)
{
    struct pw_completion *call = &t->calls[receive->completion];
    call->receives--;
    if (ready < call->ready || (ready == call->ready && call->src != NONE && call->src < send->src))
        return;
    call->ready = ready;
    call->transfer = is_mostly_hidden(&receive->at, ready) ? -1 : transfer;
    call->src = send->src;
}

void pw_message_sums_match(struct pw_message_sums *t, const struct pw_endpoint *send,
                           const struct pw_endpoint *receive)
{
    struct pw_pair *pair = pair_of(t, send->src, send->dst);
    if (!pair)
        return;
    int64_t late_sender = pw_message_waited(&receive->at, &send->at);
    int64_t late_receiver = pw_message_waited(&send->at, &receive->at);
    int64_t sent = pw_message_came(&send->at, &receive->at);
    int64_t received = pw_message_came(&receive->at, &send->at);
    struct pw_graph_link link = {send->local_enter, receive->local_enter, send->src, send->dst};
    if (send->at.enter < t->graph->until_ns)
        pw_graph_add_link(t->graph, &link);
    pair->messages++;
    pair->matched++;
    pair->bytes = pw_sum(pair->bytes, send->bytes);
    pair->late_sender_ns = pw_sum(pair->late_sender_ns, late_sender);
    /* A send that ended before its receive started did not wait for it. */
    if (send->at.leave < receive->at.enter)
        late_receiver = 0;
    pair->late_receiver_ns = pw_sum(pair->late_receiver_ns, late_receiver);
    int64_t ready = larger(sent, received), transfer = larger(0, receive->at.leave - ready);
    pair->transfer_ns = pw_sum(pair->transfer_ns, transfer);
    count_arrival(t, send, receive, ready, transfer);
    if (late_sender > 0) {
        struct pw_message_wait wait = wait_of(receive, receive->dst, late_sender);
        pw_message_sums_add_waits(t, &wait, 1);
    }
    if (late_receiver > 0)
        add_back(t, wait_of(send, send->src, late_receiver));
    else
        note_flow(&t->flows, send, receive);
}

void pw_message_sums_add_flow(struct pw_message_sums *t, const struct pw_flow_send *send)
{
    struct pw_pair *pair = pair_of(t, send->src, send->dst);
    const int64_t waited = send->found.waited_ns;
    if (!pair)
        return;
    pair->late_receiver_ns = pw_sum(pair->late_receiver_ns, waited);
    add_back(t, (struct pw_message_wait){send->src, send->local_stood, send->local_stood + waited});
    struct pw_graph_flow flow = {send->local_enter, send->found.came_ns, send->src, send->dst};
    if (send->stood.start < t->graph->until_ns)
        pw_graph_add_flow(t->graph, &flow);
}

void pw_message_sums_alone(struct pw_message_sums *t, const struct pw_endpoint *endpoint,
                           int receives)
{
    t->out->unmatched++;
    if (receives) {
        t->calls[endpoint->completion].receives--;
        t->calls[endpoint->completion].unmatched = 1;
        return;
    }
    struct pw_pair *pair = pair_of(t, endpoint->src, endpoint->dst);
    if (!pair)
        return;
    pair->messages++;
    pair->bytes = pw_sum(pair->bytes, endpoint->bytes);
}

/* ---- waits ---- */

static int by_rank(const void *a, const void *b)
{
    const struct pw_message_wait *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* Sorts the waits, and joins overlapping waits of a rank: a call that completed several messages
 * waited once. Waits that were joined before are sorted already. */
static void join_waits(struct pw_message_sums *t)
{
    struct pw_messages *out = t->out;
    size_t a = 0, b = t->waits_joined, kept = 0;
    struct pw_message_wait *v = out->waits, *joined = malloc(sizeof(*joined) * (out->nwaits + 1));
    if (!joined) {
        t->failed = 1;
        return;
    }
    if (b < out->nwaits)
        pw_sort(v + b, out->nwaits - b, sizeof(*v), by_rank);
    while (a < t->waits_joined || b < out->nwaits) {
        int old = b == out->nwaits || (a < t->waits_joined && by_rank(&v[a], &v[b]) <= 0);
        const struct pw_message_wait *next = old ? &v[a++] : &v[b++];
        if (kept && extends(&joined[kept - 1], next))
            joined[kept - 1].end = larger(joined[kept - 1].end, next->end);
        else
            joined[kept++] = *next;
    }
    free(out->waits);
    out->waits = joined;
    t->waits_capacity = out->nwaits + 1;
    out->nwaits = t->waits_joined = kept;
}

void pw_message_sums_add_waits(struct pw_message_sums *t, const struct pw_message_wait *waits,
                               size_t n)
{
    struct pw_messages *out = t->out;
    for (size_t i = 0; i < n && !t->failed; i++) {
        struct pw_message_wait *last =
            out->nwaits > t->waits_joined ? &out->waits[out->nwaits - 1] : NULL;
        if (last && extends(last, &waits[i])) {
            last->end = larger(last->end, waits[i].end);
            continue;
        }
        out->waits = make_room(t, out->waits, out->nwaits, &t->waits_capacity, sizeof(*out->waits));
        if (!t->failed)
            out->waits[out->nwaits++] = waits[i];
    }
    if (!t->failed && out->nwaits > 2 * t->waits_joined + WAITS_UNJOINED)
        join_waits(t);
}

int pw_pair_by_ranks(const void *a, const void *b)
{
    const struct pw_pair *x = a, *y = b;
    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    return (x->dst > y->dst) - (x->dst < y->dst);
}

void pw_message_sums_finish(struct pw_message_sums *t)
{
    join_waits(t);
    pw_sort(t->out->pairs, t->out->npairs, sizeof(*t->out->pairs), pw_pair_by_ranks);
}

void pw_message_sums_fini(struct pw_message_sums *t)
{
    pw_hash_fini(&t->by_pair);
    pw_hash_fini(&t->by_call);
    flows_fini(&t->flows);
    free(t->calls);
    free(t->back);
}
