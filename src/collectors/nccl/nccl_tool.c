/* Module nccl, tool half: turns NCCL's records into communicators and operations (nccl_ops.h),
 * and these into rows of /events/comm, /events/nccl and /events/nccl_net. */
#include "collectors/groups.h"
#include "collectors/modules.h"

#include <stdlib.h>
#include <string.h>

#include "collectors/nccl/nccl_graph.h"
#include "collectors/nccl/nccl_nvtx.h"
#include "collectors/nccl/nccl_ops.h"
#include "core/comm_kernel.h"
#include "core/ops.h"
#include "core/schedule.h"
#include "rank/collect/callread.h"
#include "rank/ring/testclock.h"

enum { MOST_COMMS = 1 << 16, NAMES = 1 << 8, MOST_PEERS = 1 << 12 };
/* The largest drift of a GPU's timer against our clock. */
enum { DRIFT_PPM = 100 };

struct comm {
    struct pw_row_comms row;
    int32_t file_row, nodes;
    /* Our clock minus the timer of the communicator's GPU, ns; and when it was determined, ns of
     * our clock. */
    int64_t timer_offset, timer_seen;
    bool has_timer, is_closed;
    struct pw_group_order order;
    /* Messages by the peer's rank. `left`: for add_live(), those that are not shown yet. */
    struct messages {
        int64_t sent, received, sends_left, receives_left;
    } * messages;
    uint32_t npeers, peers_capacity;
    uint32_t queued; /* for add_live(): operations that are shown */
};

/* Whether a text is the name of an NCCL kernel. */
struct known_name {
    uint32_t row;
    bool is_known, is_nccl;
};

struct state {
    struct pw_rankfile *file;
    struct pw_nccl_ops *ops;
    struct pw_nccl_nvtx *nvtx;
    struct pw_nccl_graphs *graphs;
    struct comm *comms;
    uint32_t ncomms, capacity, base, epoch;
    struct known_name names[NAMES];
    bool has_paused; /* messages were not recorded, so that their numbers are not known */
    bool is_paused;  /* collectives are not recorded now */
    int64_t captured, replayed, refused;
};

/* ---- kernels ---- */

static bool is_nccl_kernel(struct state *s, uint32_t row)
{
    struct known_name *name = &s->names[row % NAMES];
    if (!name->is_known || name->row != row) {
        const char *text = pw_rankfile_borrow_text(s->file, row);
        *name = (struct known_name){row, text[0] != '\0', pw_is_nccl_kernel(text)};
    }
    return name->is_nccl;
}

static void see_kernel(void *context, const void *row)
{
    struct state *s = context;
    const struct pw_row_kernel *kernel = row;
    if (kernel->end < kernel->start || !is_nccl_kernel(s, kernel->name))
        return;
    if (kernel->graph_node)
        pw_nccl_graphs_kernel(s->graphs, kernel);
    else if (!pw_nccl_nvtx_is_active(s->nvtx))
        pw_nccl_ops_take_kernel(s->ops, kernel);
    else if (!pw_nccl_ops_match_kernel(s->ops, kernel))
        pw_nccl_nvtx_take_kernel(s->nvtx, kernel);
}

static void destroy(void *state)
{
    struct state *s = state;
    if (!s)
        return;
    pw_nccl_graphs_destroy(s->graphs);
    pw_nccl_nvtx_destroy(s->nvtx);
    pw_nccl_ops_destroy(s->ops);
    for (uint32_t i = 0; i < s->ncomms; i++)
        free(s->comms[i].messages);
    free(s->comms);
    free(s);
}

static void *create(struct pw_rankfile *file)
{
    struct state *s = calloc(1, sizeof(*s));
    if (s) {
        s->file = file;
        s->ops = pw_nccl_ops_create(file);
        s->nvtx = pw_nccl_nvtx_create(file);
        s->graphs = s->ops ? pw_nccl_graphs_create(file, s->ops) : NULL;
    }
    if (!s || !s->ops || !s->nvtx || !s->graphs) {
        destroy(s);
        return NULL;
    }
    pw_rankfile_watch(file, PW_TABLE_kernel, see_kernel, s);
    return s;
}

/* ---- communicators ---- */

static void follow_process(struct state *s, const struct pw_origin *origin)
{
    if (origin->epoch == s->epoch)
        return;
    pw_nccl_ops_flush(s->ops); /* another program begins: its numbers start at 1 again */
    pw_nccl_nvtx_flush(s->nvtx);
    pw_nccl_graphs_flush(s->graphs);
    s->epoch = origin->epoch;
    s->base = s->ncomms;
}

/* Returns the process's communicator `index`, and makes it when it is new; NULL when there are too
 * many. */
static struct comm *comm_at(struct state *s, uint32_t index)
{
    uint64_t at = (uint64_t)s->base + index;
    if (at >= MOST_COMMS)
        return NULL;
    struct comm *comms = pw_budget_grow(pw_rankfile_borrow_budget(s->file), s->comms,
                                        sizeof(*comms), (uint32_t)at, &s->capacity);
    if (!comms)
        return NULL;
    s->comms = comms;
    while (at >= s->ncomms) {
        s->comms[s->ncomms].file_row = pw_rankfile_new_comm(s->file);
        s->comms[s->ncomms].row.source = PW_SOURCE_NCCL;
        s->comms[s->ncomms++].row.my_rank = -1;
    }
    return &s->comms[at];
}

static void define_comm(struct state *s, const struct pw_record *record,
                        const struct pw_origin *origin)
{
    struct comm *comm = comm_at(s, record->nccl_comm.comm);
    if (!comm)
        return;
    comm->is_closed = (record->flags & PW_NCCL_COMM_CLOSED) != 0;
    if (comm->is_closed)
        return;
    comm->row.uid = record->nccl_comm.uid;
    comm->row.size = record->nccl_comm.size;
    comm->row.my_rank = record->nccl_comm.my_rank;
    comm->row.name = pw_origin_name(origin, record->nccl_comm.name);
    comm->nodes = record->nccl_comm.nodes;
}

/* ---- operations ---- */

static uint8_t flags_of(const struct pw_record *record)
{
    return record->flags & PW_NCCL_CALL_ROOT ? PW_FLAG_ROOT : 0;
}

/* Takes the direction of a message from its task when its call does not say it. */
static void direct(struct pw_nccl_op *op)
{
    const bool is_message = op->task_op == PW_OP_Send || op->task_op == PW_OP_Recv;
    if (op->has_call && op->has_task && op->op == PW_OP_Sendrecv && is_message)
        op->op = op->task_op;
}

/* Counts the message when its direction and peer are known, by its call or its task. */
static void count_message(struct state *s, struct pw_nccl_op *op)
{
    struct comm *comm = comm_at(s, op->comm);
    if (!comm || op->is_counted || (op->op != PW_OP_Send && op->op != PW_OP_Recv) || op->peer < 0 ||
        op->peer >= MOST_PEERS)
        return;
    struct messages *messages =
        pw_budget_grow(pw_rankfile_borrow_budget(s->file), comm->messages, sizeof(*messages),
                       (uint32_t)op->peer, &comm->peers_capacity);
    if (!messages)
        return;
    comm->messages = messages;
    comm->npeers = op->peer >= (int32_t)comm->npeers ? (uint32_t)op->peer + 1 : comm->npeers;
    op->is_counted = true;
    if (op->op == PW_OP_Send)
        messages[op->peer].sent++;
    else
        messages[op->peer].received++;
}

static void count_call(struct comm *comm, const struct pw_record *record)
{
    if (!comm || !record->nccl_call.seq)
        return;
    const int64_t seq = (int64_t)record->nccl_call.seq - 1;
    pw_count_collective(&comm->row, seq);
    pw_group_order_add(&comm->order, seq, pw_callread_sign(record));
}

static void add_call(struct state *s, const struct pw_record *record,
                     const struct pw_origin *origin)
{
    const bool is_captured = (record->flags & PW_NCCL_CALL_CAPTURED) != 0; /* runs later, in
                                                                            * replays */
    struct pw_nccl_op captured = {.id = record->nccl_call.id, .peer = -1, .channels = -1};
    struct pw_nccl_op *op = is_captured ? &captured : pw_nccl_ops_at(s->ops, record->nccl_call.id);
    if (!op || op->has_call)
        return;
    struct comm *comm = comm_at(s, record->nccl_call.comm);
    op->has_call = true;
    op->is_alone = (record->flags & PW_NCCL_CALL_ALONE) != 0;
    op->op = record->op < PW_OP_COUNT ? record->op : PW_OP_None;
    direct(op);
    op->flags = flags_of(record);
    op->call = (struct pw_nccl_span){origin->start, origin->end};
    op->call_thread = origin->thread;
    op->comm = record->nccl_call.comm;
    op->comm_row = comm ? comm->file_row : -1;
    op->size = comm ? comm->row.size : 0;
    op->seq = (int64_t)record->nccl_call.seq - 1;
    op->peer = record->nccl_call.peer >= 0 ? record->nccl_call.peer : op->peer;
    op->count = record->nccl_call.count;
    op->element_bytes = record->nccl_call.element_bytes;
    op->datatype = pw_origin_name(origin, record->nccl_call.datatype);
    op->stream = record->nccl_call.stream;
    op->stack = pw_origin_stack(origin, record->stack);
    if (is_captured) {
        s->captured++;
        if (comm)
            pw_nccl_graphs_call(s->graphs, op, &comm->row);
        count_call(comm, record);
        return;
    }
    count_call(comm, record);
    count_message(s, op);
    if (op->has_task)
        pw_nccl_ops_join(s->ops, op);
}

static void add_task(struct state *s, const struct pw_record *record,
                     const struct pw_origin *origin)
{
    if (record->flags & PW_NCCL_TASK_CAPTURED) {
        pw_nccl_graphs_launch(s->graphs, record->nccl_task.comm, origin->end);
        return;
    }
    if (record->flags & PW_NCCL_TASK_REPLAYED) {
        s->replayed++;
        return;
    }
    struct pw_nccl_op *op = pw_nccl_ops_at(s->ops, record->nccl_task.id);
    if (!op || op->has_task)
        return;
    op->has_task = true;
    op->task_op = record->op;
    direct(op);
    op->is_launched = (record->flags & PW_NCCL_TASK_LAUNCHED) != 0;
    op->launch = (struct pw_nccl_span){origin->start, origin->end};
    op->task_thread = origin->thread;
    op->plan = record->nccl_task.plan;
    op->algorithm = pw_origin_name(origin, record->nccl_task.algorithm);
    op->protocol = pw_origin_name(origin, record->nccl_task.protocol);
    op->channels = (int32_t)record->nccl_task.channels;
    if (record->nccl_task.peer >= 0)
        op->peer = record->nccl_task.peer;
    if (op->has_call)
        count_message(s, op);
    if (op->has_call)
        pw_nccl_ops_join(s->ops, op);
}

/* ---- channels and proxies ---- */

/* Updates the timer's offset. The timer was read before our clock, so each observed difference is
 * at least the true offset. The smallest difference, apart from drift, is the best estimate. */
static void see_timer(struct comm *comm, uint64_t timer, int64_t seen)
{
    const int64_t offset = (int64_t)((uint64_t)seen - timer);
    const int64_t since = seen - comm->timer_seen;
    const int64_t drift = since > 0 ? since / 1000000 * DRIFT_PPM : 0;
    if (!comm->has_timer || offset < comm->timer_offset + drift)
        comm->timer_offset = offset;
    else
        comm->timer_offset += drift;
    comm->has_timer = true;
    comm->timer_seen = seen;
}

static void widen(struct pw_nccl_span *span, int64_t start, int64_t end)
{
    span->start = start < span->start ? start : span->start;
    span->end = end > span->end ? end : span->end;
}

static void add_channel(struct state *s, const struct pw_record *record,
                        const struct pw_origin *origin)
{
    struct pw_nccl_op *op = pw_nccl_ops_find(s->ops, record->nccl_channel.id);
    struct comm *comm = comm_at(s, record->nccl_channel.comm);
    const uint64_t begin = record->nccl_channel.timer_start, end = record->nccl_channel.timer_end;
    const bool is_timed = comm && end >= begin && begin && end <= INT64_MAX;
    if (is_timed) {
        see_timer(comm, begin, origin->start);
        see_timer(comm, end, origin->end);
    }
    if (!op)
        return;
    if (!is_timed) {
        widen(&op->channel, origin->start, origin->end);
        return;
    }
    widen(&op->timer, (int64_t)begin, (int64_t)end);
    /* Computed again with the present offset, which may have become more exact. */
    op->channel.start = (int64_t)((uint64_t)op->timer.start + (uint64_t)comm->timer_offset);
    op->channel.end = (int64_t)((uint64_t)op->timer.end + (uint64_t)comm->timer_offset);
}

static void append_proxy(struct state *s, const struct pw_record *record,
                         const struct pw_origin *origin)
{
    const uint64_t ticks = record->end - record->start;
    const double rate = ticks ? 16.0 * (double)(origin->end - origin->start) / (double)ticks : 0;
    const struct pw_row_nccl_net row = {
        .start = origin->start,
        .end = origin->end,
        .operation = (int64_t)record->nccl_proxy.id,
        .peer = record->nccl_proxy.peer,
        .channel = record->op,
        .sends = (record->flags & PW_NCCL_PROXY_SENDS) != 0,
        .steps = (int32_t)record->nccl_proxy.steps,
        .bytes = record->nccl_proxy.bytes,
        .gpu_wait_ns = (int64_t)(record->nccl_proxy.gpu_wait * rate),
        .peer_wait_ns = (int64_t)(record->nccl_proxy.peer_wait * rate),
        .network_wait_ns = (int64_t)(record->nccl_proxy.network_wait * rate),
        .flush_wait_ns = (int64_t)(record->nccl_proxy.flush_wait * rate),
    };
    pw_rankfile_append(s->file, PW_TABLE_nccl_net, &row);
}

/* Ignores NVTX ranges whose operations another source reports. */
static void leave_to_better(struct state *s, const struct pw_record *record,
                            const struct pw_origin *origin)
{
    const bool is_call = record->type == PW_REC_NCCL_CALL;
    if (is_call && (record->flags & PW_NCCL_CALL_ALONE))
        pw_nccl_nvtx_drop(s->nvtx, origin);
    else if (is_call || record->type == PW_REC_NCCL_PLUGIN)
        pw_nccl_nvtx_refuse(s->nvtx);
}

static void watch(void *state, const struct pw_record *record, const struct pw_origin *origin)
{
    struct state *s = state;
    follow_process(s, origin);
    const bool closes =
        record->type == PW_REC_WINDOW && (record->flags & PW_WINDOW_STATE) == PW_WINDOW_CLOSED;
    s->has_paused |= closes;
    if (record->type == PW_REC_WINDOW)
        s->is_paused = closes;
    if (closes)
        pw_nccl_graphs_interrupt(s->graphs);
    else if (record->type == PW_REC_GPU_GAP)
        pw_nccl_graphs_lack(s->graphs, origin->end);
    else if (record->type != PW_REC_WINDOW)
        pw_nccl_nvtx_see(s->nvtx, record, origin);
}

static void record(void *state, const struct pw_record *record, const struct pw_origin *origin)
{
    struct state *s = state;
    follow_process(s, origin);
    leave_to_better(s, record, origin);
    switch (record->type) {
    case PW_REC_NCCL_COMM:
        define_comm(s, record, origin);
        break;
    case PW_REC_NCCL_CALL:
        add_call(s, record, origin);
        break;
    case PW_REC_NCCL_TASK:
        add_task(s, record, origin);
        break;
    case PW_REC_NCCL_CHANNEL:
        add_channel(s, record, origin);
        break;
    case PW_REC_NCCL_PROXY:
        append_proxy(s, record, origin);
        break;
    case PW_REC_NCCL_PLUGIN:
        break;
    default:
        s->refused += (int64_t)(record->nccl_refused.events & INT32_MAX);
        break;
    }
}

/* ---- while the program runs ---- */

/* Adds the row of the communicator's queue: the newest collective stands for it. */
static void add_queue(const struct comm *comm, const struct pw_nccl_op *op, int64_t since_ns,
                      struct pw_live *live)
{
    struct pw_live_thread queue = {.tid = (int32_t)live->pid,
                                   .thread = op->call_thread,
                                   .queue = PW_LIVE_QUEUE,
                                   .source = PW_SOURCE_NCCL,
                                   .op = op->op,
                                   .since_ns = since_ns,
                                   .comm_uid = comm->row.uid,
                                   .comm_row = comm->file_row,
                                   .seq = op->seq,
                                   .peer = -1,
                                   .tag = -1,
                                   .signature = PW_REDUCTION_UNKNOWN};
    for (size_t i = 0; i < live->nthreads; i++)
        if (live->threads[i].queue == PW_LIVE_THREAD && live->threads[i].thread == op->call_thread)
            queue.tid = live->threads[i].tid;
    if (live->nthreads < PW_LIVE_THREADS)
        live->threads[live->nthreads++] = queue;
}

struct showing {
    struct state *s;
    struct pw_live *live;
    int64_t now_ns;
    bool has_messages;
};

enum { MOST_OF_COMM = PW_LIVE_QUEUED / 4 };

/* Returns the number of the operation; -1 when it is not known. */
static int64_t number_of(struct comm *comm, const struct pw_nccl_op *op)
{
    if (op->seq >= 0)
        return op->seq;
    struct messages *messages = &comm->messages[op->peer];
    return (op->op == PW_OP_Send ? --messages->sends_left : --messages->receives_left);
}

static bool show_op(void *arg, const struct pw_nccl_op *op, bool ended)
{
    const struct showing *show = arg;
    struct pw_live *live = show->live;
    struct comm *comm = comm_at(show->s, op->comm);
    const int64_t since = show->now_ns - op->call.start;
    (void)ended; /* what can have ended has been called by all members */
    if (!comm || comm->is_closed || !comm->row.uid || comm->queued == MOST_OF_COMM ||
        (op->seq < 0 && !show->has_messages))
        return true;
    if (!comm->queued++)
        add_queue(comm, op, since > 0 ? since : 0, live);
    live->queued[live->nqueued++] = (struct pw_live_queued){.comm_uid = comm->row.uid,
                                                            .seq = number_of(comm, op),
                                                            .since_ns = since > 0 ? since : 0,
                                                            .op = op->op,
                                                            .peer = op->seq >= 0 ? -1 : op->peer};
    return live->nqueued < PW_LIVE_QUEUED;
}

static void add_messages(struct comm *comm, struct pw_live *live)
{
    for (uint32_t peer = 0; peer < comm->npeers; peer++) {
        struct messages *m = &comm->messages[peer];
        m->sends_left = m->sent;
        m->receives_left = m->received;
        if ((m->sent || m->received) && live->npairs < PW_LIVE_PAIRS)
            live->pairs[live->npairs++] = (struct pw_live_pair){.comm_uid = comm->row.uid,
                                                                .peer = (int32_t)peer,
                                                                .sent = m->sent,
                                                                .received = m->received};
    }
}

/* Adds the communicators, the newest first, and the last collectives on them. */
static void add_live(void *state, const struct pw_segment_shared *segment, struct pw_live *live)
{
    struct state *s = state;
    /* What was not recorded was called, too. */
    if (live->recording != 1 || live->dropped || s->ncomms == s->base)
        return;
    if (!live->pairs)
        live->pairs = calloc(PW_LIVE_PAIRS, sizeof(*live->pairs));
    live->queued = calloc(PW_LIVE_QUEUED, sizeof(*live->queued));
    const bool has_messages = live->pairs && !s->has_paused && segment->level >= 1;
    live->messages_known = has_messages;
    for (uint32_t i = s->ncomms; i-- > s->base;) {
        struct comm *comm = &s->comms[i];
        struct pw_live_comm shown = {.uid = comm->row.uid,
                                     .source = PW_SOURCE_NCCL,
                                     .size = comm->row.size,
                                     .my_rank = comm->row.my_rank,
                                     .reached = comm->row.collectives,
                                     .unnumbered = -1};
        comm->queued = 0;
        if (comm->is_closed || !comm->row.uid)
            continue;
        if (live->wants_order)
            pw_group_order_show(&comm->order, &shown);
        pw_live_add_comm(live, &shown, pw_rankfile_borrow_text(s->file, comm->row.name));
        if (has_messages)
            add_messages(comm, live);
    }
    const struct showing show = {s, live, pw_testclock_now(&segment->test_clock), has_messages};
    if (live->queued)
        pw_nccl_ops_last(s->ops, show_op, (void *)(uintptr_t)&show);
}

struct newest {
    struct state *s;
    int64_t start;
    int looks;
};

static bool find_unended(void *arg, const struct pw_nccl_op *op, bool ended)
{
    enum { LOOKS = 256 };
    struct newest *found = arg;
    const struct comm *comm = comm_at(found->s, op->comm);
    if (!ended && comm && !comm->is_closed)
        found->start = op->call.start;
    return found->start < 0 && ++found->looks < LOOKS;
}

/* Returns when the program has called the newest collective that may not have ended, local ns; -1:
 * none. */
static int64_t queued_since(void *state)
{
    struct newest found = {state, -1, 0};
    pw_nccl_ops_last(found.s->ops, find_unended, &found);
    return found.start;
}

/* Writes the last collectives as open calls: whether they have ended, the merge tells from how many
 * the other ranks have called. */
static bool write_open(void *arg, const struct pw_nccl_op *op, bool ended)
{
    enum { MOST = 64 };
    const struct showing *show = arg;
    struct comm *comm = comm_at(show->s, op->comm);
    if (ended || op->seq < 0 || !comm || comm->is_closed || comm->queued++ >= MOST)
        return true;
    const struct pw_row_open row = {.start = op->call.start,
                                    .seen_until = show->now_ns,
                                    .op = op->op,
                                    .comm = comm->file_row,
                                    .seq = op->seq,
                                    .peer = -1,
                                    .thread = op->call_thread,
                                    .source = PW_SOURCE_NCCL,
                                    .count = -1,
                                    .error_time = -1};
    pw_rankfile_append(show->s->file, PW_TABLE_open, &row);
    return true;
}

static void write_open_calls(struct state *s, int64_t end_ns)
{
    const struct showing show = {.s = s, .now_ns = end_ns};
    for (uint32_t i = s->base; i < s->ncomms; i++)
        s->comms[i].queued = 0;
    pw_nccl_ops_last(s->ops, write_open, (void *)(uintptr_t)&show);
}

static void say(struct state *s, const char *name, int64_t value)
{
    if (value)
        pw_rankfile_overhead(s->file, name, (double)value, "events");
}

static void finish(void *state, int64_t end_ns)
{
    struct state *s = state;
    const bool is_counted = !s->is_paused && !s->refused && !pw_rankfile_dropped(s->file);
    if (is_counted)
        write_open_calls(s, end_ns);
    say(s, "nccl_uncounted", s->ncomms > 0 && !is_counted);
    pw_rankfile_watch(s->file, PW_TABLE_kernel, NULL, NULL);
    pw_nccl_ops_flush(s->ops);
    pw_nccl_nvtx_flush(s->nvtx);
    pw_nccl_graphs_flush(s->graphs);
    for (uint32_t i = 0; i < s->ncomms; i++)
        pw_rankfile_set_comm(s->file, s->comms[i].file_row, &s->comms[i].row);
    pw_rankfile_count_dropped(s->file, s->refused);
    say(s, "nccl_refused", s->refused);
    say(s, "nccl_captured", s->captured);
    say(s, "nccl_replayed", s->replayed);
    say(s, "nccl_replay_kernels", pw_nccl_graphs_placed(s->graphs));
    say(s, "nccl_replay_unplaced", pw_nccl_graphs_unplaced(s->graphs));
    say(s, "nccl_incomplete", pw_nccl_ops_incomplete(s->ops));
    say(s, "nccl_by_nvtx", pw_nccl_nvtx_operations(s->nvtx));
    say(s, "nccl_kernels_alone",
        pw_nccl_ops_kernels_alone(s->ops) + pw_nccl_nvtx_kernels_alone(s->nvtx));
}

const struct pw_module pw_module_nccl = {
    PW_MODULE_RECORDS("nccl", PW_ACTIVITY_NCCL, PW_REC_NCCL_COMM, PW_REC_NCCL_PLUGIN),
    PW_MODULE_FUNCTIONS(create, record, finish, destroy),
    .watch = watch,
    .live = add_live,
    .queued = queued_since,
    .watches = PW_NCCL_NVTX_WATCHES | PW_WATCH(PW_REC_GPU_GAP) | PW_WATCH(PW_REC_WINDOW),
};
