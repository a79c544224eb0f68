/* Converts struct pw_live (core/live.h) to JSON and back; see livefile.h. */
#include "rank/live/livefile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ops.h"
#include "core/tables.h"

enum { MAX_STACK_TEXT = 1 << 16, MAX_RANK = 1 << 24 };

/* ---- writing ---- */

/* Returns a JSON string; null when the text is not valid UTF-8. */
static json_t *text(const char *value)
{
    json_t *made = json_string(value);
    return made ? made : json_string("");
}

static json_t *uid_text(uint64_t uid)
{
    char hex[24];
    snprintf(hex, sizeof(hex), "0x%" PRIx64, uid);
    return json_string(hex);
}

static json_t *known(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

static json_t *op_text(uint16_t op)
{
    return op ? text(pw_op_info(op)->name) : json_null();
}

static json_t *unrecorded_text(int reason)
{
    return reason == PW_UNRECORDED_NONE ? json_null() : text(pw_enum_name(PW_F_UNRECORDED, reason));
}

static const char *const needs[] = {
    [PW_LIVE_UNKNOWN] = "unknown",
    [PW_LIVE_MISSING] = "missing",
    [PW_LIVE_MATCHED] = "matched",
    [PW_LIVE_EITHER] = "either",
};

static json_t *requests_to_json(const struct pw_live *live, size_t thread)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < live->nrequests; i++) {
        const struct pw_live_request *r = &live->requests[i];
        if (r->thread == thread)
            json_array_append_new(array, json_pack("{s:o, s:o, s:o, s:i, s:o, s:i, s:s}", "op",
                                                   op_text(r->op), "comm_uid",
                                                   uid_text(r->comm_uid), "peer", known(r->peer),
                                                   "tag", (int)r->tag, "seq", known(r->seq),
                                                   "count", (int)r->count, "need", needs[r->need]));
    }
    return array;
}

/* The messages, as arrays of numbers: communicator, peer, sent, being sent, received. */
static json_t *pairs_to_json(const struct pw_live *live)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < live->npairs; i++) {
        const struct pw_live_pair *p = &live->pairs[i];
        json_array_append_new(array, json_pack("[o, i, I, I, I]", uid_text(p->comm_uid),
                                               (int)p->peer, (json_int_t)p->sent,
                                               (json_int_t)p->sending, (json_int_t)p->received));
    }
    return array;
}

static json_t *queued_to_json(const struct pw_live *live)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < live->nqueued; i++) {
        const struct pw_live_queued *q = &live->queued[i];
        json_array_append_new(array, json_pack("{s:o, s:I, s:I, s:o, s:o}", "comm_uid",
                                               uid_text(q->comm_uid), "seq", (json_int_t)q->seq,
                                               "since_ns", (json_int_t)q->since_ns, "op",
                                               op_text(q->op), "peer", known(q->peer)));
    }
    return array;
}

static const char *const queues[] = {
    [PW_LIVE_THREAD] = "thread",
    [PW_LIVE_QUEUE] = "queue",
    [PW_LIVE_HELD] = "held",
};

static json_t *thread_to_json(const struct pw_live *live, const struct pw_live_thread *t)
{
    const struct pw_live_comm *comm = pw_live_comm(live, t->comm_uid);
    json_t *object = json_pack(
        "{s:i, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:I}", "tid", (int)t->tid,
        "thread", (int)t->thread, "source", pw_enum_name(PW_F_SOURCE, t->source), "op",
        op_text(t->op), "awaited", op_text(t->awaited), "since_ns", known(t->since_ns), "comm_uid",
        uid_text(t->comm_uid), "comm_name", comm && comm->name[0] ? text(comm->name) : json_null(),
        "seq", known(t->seq), "peer", known(t->peer), "tag", (int)t->tag, "signature",
        (json_int_t)t->signature);
    int bad = json_object_set_new(object, "polls", json_boolean(t->polls));
    bad |= json_object_set_new(object, "queue", json_string(queues[t->queue]));
    bad |= json_object_set_new(object, "unlisted_requests", json_integer(t->unlisted));
    bad |= json_object_set_new(object, "requests",
                               requests_to_json(live, (size_t)(t - live->threads)));
    if (bad && object) {
        json_decref(object);
        object = NULL;
    }
    return object;
}

/* `with_order`: also the hashes of the order, which people need not see. */
static json_t *comm_to_json(const struct pw_live_comm *c, bool with_order)
{
    json_t *object =
        json_pack("{s:o, s:o, s:s, s:i, s:I, s:o}", "uid", uid_text(c->uid), "name", text(c->name),
                  "source", pw_enum_name(PW_F_SOURCE, c->source), "size", (int)c->size, "reached",
                  (json_int_t)c->reached, "unnumbered", known(c->unnumbered));
    if (object)
        json_object_set_new(object, "my_rank", known(c->my_rank));
    json_t *order = with_order && (c->norder || c->order_state) ? json_array() : NULL;
    for (size_t i = 0; order && i < c->norder; i++) {
        json_array_append_new(order, json_integer(c->order[i].count));
        json_array_append_new(order, uid_text(c->order[i].hash));
    }
    if (object && order) {
        json_object_set_new(object, "order", order);
        json_object_set_new(object, "order_state", json_integer(c->order_state));
    }
    return object;
}

static json_t *stack_to_json(const struct pw_live_stack *s)
{
    return json_pack("{s:i, s:o, s:o, s:b, s:b}", "tid", (int)s->tid, "frames", text(s->text),
                     "python", s->place[0] ? text(s->place) : json_null(), "has_gil", s->has_gil,
                     "collects_garbage", s->collects);
}

/* The figures of speed; -1 means not known. */
static const struct {
    const char *name;
    size_t offset;
} pace_fields[] = {
    {"steps_per_1000s", offsetof(struct pw_live, steps_per_1000s)},
    {"steps", offsetof(struct pw_live, steps)},
    {"steps_ns", offsetof(struct pw_live, steps_ns)},
    {"mpi_ns", offsetof(struct pw_live, mpi_ns)},
    {"step_last_ns", offsetof(struct pw_live, step_last_ns)},
    {"step_mean_ns", offsetof(struct pw_live, step_mean_ns)},
    {"step_mpi_ns", offsetof(struct pw_live, step_mpi_ns)},
};
enum { NPACE = sizeof(pace_fields) / sizeof(pace_fields[0]) };

static const int64_t *pace_of(const struct pw_live *live, size_t i)
{
    return (const int64_t *)(const void *)((const char *)live + pace_fields[i].offset);
}

/* The steps, as arrays of numbers: step, time, time in MPI, and own work in each phase, without the
 * zeros at the end. */
static json_t *steps_to_json(const struct pw_live *live)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < live->nlast_steps; i++) {
        const struct pw_live_step *s = &live->last_steps[i];
        size_t phases = PW_LIVE_PHASES;
        json_t *row =
            json_pack("[I, I, I]", (json_int_t)s->step, (json_int_t)s->ns, (json_int_t)s->mpi_ns);
        while (phases > 0 && s->phase_ns[phases - 1] == 0)
            phases--;
        for (size_t p = 0; row && p < phases; p++)
            json_array_append_new(row, json_integer(s->phase_ns[p]));
        json_array_append_new(array, row);
    }
    return array;
}

/* The counters in the order of struct pw_live_usage. */
static json_t *usage_to_json(const struct pw_live_usage *usage)
{
    int64_t counters[PW_LIVE_COUNTERS];
    json_t *array = json_array();
    memcpy(counters, usage, sizeof(counters));
    for (size_t i = 0; array && i < PW_LIVE_COUNTERS; i++)
        json_array_append_new(array, json_integer(counters[i]));
    return array;
}

json_t *pw_live_to_json(const struct pw_live *live, const char *nonce)
{
    char state[2] = {live->state, '\0'};
    json_t *threads = json_array(), *comms = json_array(), *stacks = json_array();
    int bad = 0;
    for (size_t i = 0; i < live->nthreads; i++)
        bad |= json_array_append_new(threads, thread_to_json(live, &live->threads[i]));
    for (size_t i = 0; i < live->ncomms; i++)
        bad |= json_array_append_new(comms, comm_to_json(&live->comms[i], nonce != NULL));
    for (size_t i = 0; i < live->nstacks; i++)
        bad |= json_array_append_new(stacks, stack_to_json(&live->stacks[i]));
    json_t *object = json_pack(
        "{s:i, s:i, s:o, s:I, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:I}", "rank",
        (int)live->rank, "world_size", (int)live->world_size, "hostname", text(live->hostname),
        "pid", (json_int_t)live->pid, "state", text(state), "step", known(live->step), "events",
        (json_int_t)live->events, "dropped_events", (json_int_t)live->dropped, "threads", threads,
        "comms", comms, "stacks", stacks, "stack_problem", text(live->stack_problem), "stopped_ns",
        (json_int_t)live->stopped_ns);
    bad |= json_object_set_new(object, "python_problem", text(live->python_problem));
    bad |= json_object_set_new(object, "meetings", json_integer(live->meetings));
    bad |= json_object_set_new(object, "nccl_inits", json_integer(live->nccl_inits));
    bad |= json_object_set_new(object, "recording", json_boolean(live->recording));
    bad |= json_object_set_new(object, "recording_ordered", json_boolean(live->recording_after));
    bad |= json_object_set_new(object, "unrecorded", unrecorded_text(live->unrecorded));
    for (size_t i = 0; i < NPACE; i++)
        bad |= json_object_set_new(object, pace_fields[i].name, known(*pace_of(live, i)));
    bad |= json_object_set_new(object, "order", json_integer(live->change));
    if (nonce) {
        bad |= json_object_set_new(object, "pairs_known", json_boolean(live->pairs_known));
        bad |= json_object_set_new(object, "pairs", pairs_to_json(live));
        bad |= json_object_set_new(object, "messages_known", json_boolean(live->messages_known));
        bad |= json_object_set_new(object, "queued", queued_to_json(live));
    }
    if (nonce && live->last_steps) {
        bad |= json_object_set_new(object, "last_steps", steps_to_json(live));
        bad |= json_object_set_new(object, "usage", usage_to_json(&live->usage));
    }
    if (object && nonce)
        bad |= json_object_set_new(object, "nonce", json_string(nonce));
    if (bad && object) {
        json_decref(object);
        object = NULL;
    }
    return object;
}

/* ---- reading ---- */

/* Reads an integer from `least` to `most`; null means -1, if -1 is allowed. Sets *ok to false for
 * anything else. */
static int64_t number(const json_t *object, const char *name, int64_t least, int64_t most, bool *ok)
{
    const json_t *value = json_object_get(object, name);
    if (least == -1 && json_is_null(value))
        return -1;
    int64_t n = json_integer_value(value);
    if (!json_is_integer(value) || n < least || n > most)
        *ok = false;
    return n;
}

static const char *string(const json_t *object, const char *name, size_t most, bool *ok)
{
    const json_t *value = json_object_get(object, name);
    const char *found = json_string_value(value);
    if (!found || json_string_length(value) > most) {
        *ok = false;
        return "";
    }
    return found;
}

static uint64_t uid(const json_t *object, const char *name, bool *ok)
{
    const char *hex = string(object, name, 18, ok);
    char *end;
    uint64_t value = strtoull(hex, &end, 16);
    if (hex[0] != '0' || hex[1] != 'x' || *end)
        *ok = false;
    return value;
}

/* Reads an operation; null means none. */
static uint16_t read_op(const json_t *object, const char *key, bool *ok)
{
    if (json_is_null(json_object_get(object, key)))
        return PW_OP_None;
    const char *name = string(object, key, PW_LIVE_NAME, ok);
    for (uint16_t op = 0; op < PW_OP_COUNT; op++)
        if (strcmp(pw_op_info(op)->name, name) == 0)
            return op;
    *ok = false;
    return PW_OP_None;
}

/* Reads why a rank is not recorded; null means that no reason is known. */
static int read_unrecorded(const json_t *object, bool *ok)
{
    if (json_is_null(json_object_get(object, "unrecorded")))
        return PW_UNRECORDED_NONE;
    const char *name = string(object, "unrecorded", PW_LIVE_NAME, ok);
    for (const struct pw_enum_item *i = pw_enum_borrow(PW_F_UNRECORDED); i->name; i++)
        if (strcmp(i->name, name) == 0)
            return i->value;
    *ok = false;
    return PW_UNRECORDED_NONE;
}

static uint8_t read_source(const json_t *object, bool *ok)
{
    const char *name = string(object, "source", PW_LIVE_NAME, ok);
    for (const struct pw_enum_item *i = pw_enum_borrow(PW_F_SOURCE); i->name; i++)
        if (strcmp(i->name, name) == 0)
            return (uint8_t)i->value;
    *ok = false;
    return PW_SOURCE_MPI;
}

/* An answer of an older version has threads only. */
static uint8_t read_queue(const json_t *object, bool *ok)
{
    if (!json_object_get(object, "queue"))
        return PW_LIVE_THREAD;
    const char *name = string(object, "queue", PW_LIVE_NAME, ok);
    for (uint8_t i = 0; i < PW_LIVE_QUEUES; i++)
        if (strcmp(queues[i], name) == 0)
            return i;
    *ok = false;
    return PW_LIVE_THREAD;
}

static bool read_thread(const json_t *object, struct pw_live_thread *out)
{
    bool ok = json_is_object(object);
    *out = (struct pw_live_thread){
        .tid = (int32_t)number(object, "tid", 0, INT32_MAX, &ok),
        .thread = (uint16_t)number(object, "thread", 0, UINT16_MAX, &ok),
        .source = read_source(object, &ok),
        .op = read_op(object, "op", &ok),
        .awaited = read_op(object, "awaited", &ok),
        .since_ns = number(object, "since_ns", -1, INT64_MAX, &ok),
        .comm_uid = uid(object, "comm_uid", &ok),
        .comm_row = -1,
        .seq = number(object, "seq", -1, INT64_MAX, &ok),
        .peer = (int32_t)number(object, "peer", -1, MAX_RANK, &ok),
        .tag = (int32_t)number(object, "tag", INT32_MIN, INT32_MAX, &ok),
        .signature = (uint32_t)number(object, "signature", 0, UINT32_MAX, &ok),
        .queue = read_queue(object, &ok),
        .polls = json_is_true(json_object_get(object, "polls")),
        .unlisted = json_object_get(object, "unlisted_requests")
                        ? (int32_t)number(object, "unlisted_requests", 0, INT32_MAX, &ok)
                        : 0,
    };
    return ok;
}

/* Reads the hash in the array, with the number before it. */
static bool read_order_pair(const json_t *array, size_t at, struct pw_live_order *out)
{
    const json_t *count = json_array_get(array, at), *hash = json_array_get(array, at + 1);
    const char *hex = json_string_value(hash);
    const json_int_t n = json_integer_value(count);
    char *end = NULL;
    if (!json_is_integer(count) || n < 1 || n > UINT32_MAX || !hex || strncmp(hex, "0x", 2) != 0)
        return false;
    *out = (struct pw_live_order){(uint32_t)n, strtoull(hex, &end, 16)};
    return *end == '\0';
}

static bool read_order(const json_t *object, struct pw_live_comm *out)
{
    const json_t *order = json_object_get(object, "order");
    const size_t n = json_array_size(order);
    bool ok = true;
    if (!order)
        return true;
    out->order_state = (int)number(object, "order_state", 0, PW_CALLORDER_INTER, &ok);
    if (n % 2 || n / 2 > PW_CALLORDER_LEVELS)
        return false;
    for (; ok && out->norder < n / 2; out->norder++)
        ok = read_order_pair(order, 2 * out->norder, &out->order[out->norder]);
    return ok;
}

static bool read_comm(const json_t *object, struct pw_live_comm *out)
{
    bool ok = json_is_object(object);
    *out = (struct pw_live_comm){
        .uid = uid(object, "uid", &ok),
        .source = read_source(object, &ok),
        .size = (int32_t)number(object, "size", 0, 2 * MAX_RANK, &ok),
        .my_rank = json_object_get(object, "my_rank")
                       ? (int32_t)number(object, "my_rank", -1, MAX_RANK, &ok)
                       : -1,
        .reached = number(object, "reached", 0, INT64_MAX, &ok),
        .unnumbered = json_object_get(object, "unnumbered")
                          ? number(object, "unnumbered", -1, INT64_MAX, &ok)
                          : -1,
    };
    snprintf(out->name, sizeof(out->name), "%s",
             string(object, "name", sizeof(out->name) - 1, &ok));
    return ok && read_order(object, out);
}

static bool read_stack(const json_t *object, struct pw_live_stack *out)
{
    bool ok = json_is_object(object);
    out->tid = (int32_t)number(object, "tid", 0, INT32_MAX, &ok);
    out->text = strdup(string(object, "frames", MAX_STACK_TEXT, &ok));
    if (!json_is_null(json_object_get(object, "python")))
        snprintf(out->place, sizeof(out->place), "%s",
                 string(object, "python", sizeof(out->place) - 1, &ok));
    out->has_gil = json_is_true(json_object_get(object, "has_gil"));
    out->collects = json_is_true(json_object_get(object, "collects_garbage"));
    return ok && out->text;
}

static bool read_request(const json_t *object, size_t thread, struct pw_live_request *out)
{
    bool ok = json_is_object(object);
    *out = (struct pw_live_request){
        .thread = (uint16_t)thread,
        .op = read_op(object, "op", &ok),
        .comm_uid = uid(object, "comm_uid", &ok),
        .peer = (int32_t)number(object, "peer", -1, MAX_RANK, &ok),
        .tag = (int32_t)number(object, "tag", INT32_MIN, INT32_MAX, &ok),
        .seq = number(object, "seq", -1, INT64_MAX, &ok),
        .count = (int32_t)number(object, "count", 1, INT32_MAX, &ok),
    };
    return ok;
}

static bool read_requests(const json_t *threads, struct pw_live *out)
{
    bool ok = true;
    out->requests = calloc(PW_LIVE_REQUESTS, sizeof(*out->requests));
    for (size_t i = 0; ok && out->requests && i < json_array_size(threads); i++) {
        const json_t *list = json_object_get(json_array_get(threads, i), "requests");
        const size_t n = json_array_size(list); /* 0 in an answer of an older version */
        if ((list && !json_is_array(list)) || n > PW_LIVE_REQUESTS - out->nrequests)
            return false;
        for (size_t k = 0; ok && k < n; k++)
            ok = read_request(json_array_get(list, k), i, &out->requests[out->nrequests++]);
    }
    return ok && out->requests;
}

static bool read_queued(const json_t *object, struct pw_live *out)
{
    const json_t *list = json_object_get(object, "queued");
    const size_t n = json_array_size(list);
    bool ok = n <= PW_LIVE_QUEUED && (!list || json_is_array(list));
    out->messages_known = json_is_true(json_object_get(object, "messages_known"));
    out->queued = ok ? calloc(n + 1, sizeof(*out->queued)) : NULL;
    for (; ok && out->queued && out->nqueued < n; out->nqueued++) {
        const json_t *one = json_array_get(list, out->nqueued);
        out->queued[out->nqueued] = (struct pw_live_queued){
            .comm_uid = uid(one, "comm_uid", &ok),
            .seq = number(one, "seq", 0, INT64_MAX, &ok),
            .since_ns = number(one, "since_ns", 0, INT64_MAX, &ok),
            .op = read_op(one, "op", &ok),
            .peer = (int32_t)number(one, "peer", -1, MAX_RANK, &ok),
        };
    }
    return ok && out->queued;
}

static bool read_pair(const json_t *array, struct pw_live_pair *out)
{
    json_t *uid_at = json_array_get(array, 0);
    json_int_t numbers[4] = {0};
    bool ok = json_array_size(array) == 5 && json_is_string(uid_at);
    for (size_t i = 0; ok && i < 4; i++) {
        const json_t *value = json_array_get(array, i + 1);
        numbers[i] = json_integer_value(value);
        ok = json_is_integer(value) && numbers[i] >= 0 && numbers[i] <= INT64_MAX / 4;
    }
    if (!ok || numbers[0] > MAX_RANK)
        return false;
    *out = (struct pw_live_pair){strtoull(json_string_value(uid_at), NULL, 16), (int32_t)numbers[0],
                                 numbers[1], numbers[2], numbers[3]};
    return true;
}

/* An answer of an older version has no pairs, which are not known then. */
static bool read_pairs(const json_t *object, struct pw_live *out)
{
    const json_t *list = json_object_get(object, "pairs");
    const json_t *known = json_object_get(object, "pairs_known");
    const size_t n = json_array_size(list);
    if ((list && !json_is_array(list)) || n > PW_LIVE_PAIRS || (known && !json_is_boolean(known)))
        return false;
    out->pairs_known = list && json_is_true(known);
    out->pairs = calloc(n + 1, sizeof(*out->pairs));
    bool ok = out->pairs;
    for (; ok && out->npairs < n; out->npairs++)
        ok = read_pair(json_array_get(list, out->npairs), &out->pairs[out->npairs]);
    return ok;
}

static bool read_step(const json_t *array, struct pw_live_step *out)
{
    int64_t numbers[3 + PW_LIVE_PHASES] = {0};
    const size_t n = json_array_size(array);
    if (n < 3 || n > 3 + PW_LIVE_PHASES)
        return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(array, i);
        numbers[i] = json_integer_value(value);
        if (!json_is_integer(value) || numbers[i] < 0 || numbers[i] > INT64_MAX / 4 ||
            (i > 1 && numbers[i] > numbers[1]))
            return false;
    }
    *out = (struct pw_live_step){numbers[0], numbers[1], numbers[2], {0}};
    memcpy(out->phase_ns, &numbers[3], sizeof(out->phase_ns));
    return true;
}

static bool read_usage(const json_t *object, struct pw_live *out)
{
    const json_t *list = json_object_get(object, "usage");
    int64_t counters[PW_LIVE_COUNTERS];
    out->usage = (struct pw_live_usage){.samples = -1};
    if (!list)
        return true;
    if (json_array_size(list) != PW_LIVE_COUNTERS)
        return false;
    for (size_t i = 0; i < PW_LIVE_COUNTERS; i++) {
        const json_t *value = json_array_get(list, i);
        counters[i] = json_integer_value(value);
        if (!json_is_integer(value) || counters[i] < -1 || counters[i] > INT64_MAX / 4)
            return false;
    }
    memcpy(&out->usage, counters, sizeof(counters));
    return true;
}

/* Steps are only in answers to requests that asked for them. */
static bool read_steps(const json_t *object, struct pw_live *out)
{
    const json_t *list = json_object_get(object, "last_steps");
    const size_t n = json_array_size(list);
    if ((list && !json_is_array(list)) || n > PW_LIVE_STEPS)
        return false;
    out->last_steps = n ? calloc(n, sizeof(*out->last_steps)) : NULL;
    bool ok = !n || out->last_steps;
    for (; ok && out->nlast_steps < n; out->nlast_steps++) {
        const size_t i = out->nlast_steps;
        ok = read_step(json_array_get(list, i), &out->last_steps[i]) &&
             (!i || out->last_steps[i].step > out->last_steps[i - 1].step);
    }
    return ok;
}

static bool read_lists(const json_t *object, struct pw_live *out)
{
    const json_t *threads = json_object_get(object, "threads");
    const json_t *comms = json_object_get(object, "comms");
    const json_t *stacks = json_object_get(object, "stacks");
    size_t nthreads = json_array_size(threads), ncomms = json_array_size(comms);
    size_t nstacks = json_array_size(stacks);
    if (!json_is_array(threads) || !json_is_array(comms) || !json_is_array(stacks) ||
        nthreads > PW_LIVE_THREADS || ncomms > PW_LIVE_COMMS || nstacks > PW_LIVE_THREADS)
        return false;
    out->threads = calloc(nthreads + 1, sizeof(*out->threads));
    out->comms = calloc(ncomms + 1, sizeof(*out->comms));
    out->stacks = calloc(nstacks + 1, sizeof(*out->stacks));
    bool ok = out->threads && out->comms && out->stacks;
    for (; ok && out->nthreads < nthreads; out->nthreads++)
        ok = read_thread(json_array_get(threads, out->nthreads), &out->threads[out->nthreads]);
    for (; ok && out->ncomms < ncomms; out->ncomms++)
        ok = read_comm(json_array_get(comms, out->ncomms), &out->comms[out->ncomms]);
    while (ok && out->nstacks < nstacks) {
        ok = read_stack(json_array_get(stacks, out->nstacks), &out->stacks[out->nstacks]);
        out->nstacks++;
    }
    return ok && read_requests(threads, out) && read_pairs(object, out) &&
           read_queued(object, out) && read_steps(object, out) && read_usage(object, out);
}

int pw_live_from_json(const json_t *object, const char *nonce, struct pw_live *out)
{
    bool ok = json_is_object(object);
    if (strcmp(string(object, "nonce", PW_NONCE_SIZE - 1, &ok), nonce) != 0 || !ok)
        return ok ? -ESTALE : -EINVAL;
    struct pw_live live = {
        .rank = (int32_t)number(object, "rank", 0, MAX_RANK, &ok),
        .world_size = (int32_t)number(object, "world_size", 1, MAX_RANK, &ok),
        .pid = number(object, "pid", 0, INT32_MAX, &ok),
        .state = string(object, "state", 1, &ok)[0],
        .unrecorded = read_unrecorded(object, &ok),
        .step = number(object, "step", -1, INT64_MAX, &ok),
        .events = number(object, "events", 0, INT64_MAX, &ok),
        .dropped = number(object, "dropped_events", 0, INT64_MAX, &ok),
        .stopped_ns = number(object, "stopped_ns", 0, INT64_MAX, &ok),
        .meetings = number(object, "meetings", 0, UINT32_MAX, &ok),
        .nccl_inits = json_object_get(object, "nccl_inits")
                          ? number(object, "nccl_inits", 0, UINT32_MAX, &ok)
                          : 0,
        .recording = json_is_true(json_object_get(object, "recording")),
        .recording_after = json_is_true(json_object_get(object, "recording_ordered")),
        .change = (enum pw_change_state)number(object, "order", 0, PW_CHANGE_STATES - 1, &ok),
    };
    for (size_t i = 0; i < NPACE; i++) {
        int64_t value = number(object, pace_fields[i].name, -1, INT64_MAX, &ok);
        memcpy((char *)&live + pace_fields[i].offset, &value, sizeof(value));
    }
    snprintf(live.hostname, sizeof(live.hostname), "%s",
             string(object, "hostname", sizeof(live.hostname) - 1, &ok));
    snprintf(live.stack_problem, sizeof(live.stack_problem), "%s",
             string(object, "stack_problem", sizeof(live.stack_problem) - 1, &ok));
    snprintf(live.python_problem, sizeof(live.python_problem), "%s",
             string(object, "python_problem", sizeof(live.python_problem) - 1, &ok));
    ok = ok && json_is_boolean(json_object_get(object, "recording")) &&
         json_is_boolean(json_object_get(object, "recording_ordered"));
    if (!ok || !read_lists(object, &live)) {
        pw_live_fini(&live);
        return -EINVAL;
    }
    *out = live;
    return 0;
}
