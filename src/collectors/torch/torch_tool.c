/* Collector torch, tool half: joins the three records of an operation of a process group: the call,
 * the end of the operation, and the wait of a thread for it.
 *
 * The three records come from the rings of different threads, in any order. The operation stays in
 * a table, at its number, until all three have come. When no thread waits for it, or its end was
 * lost, it is written when another operation needs its place, or at the end of the run. */
#include "collectors/collectors.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ops.h"

enum { OPS = 1 << 10, PATIENCE = OPS / 4, MOST_GROUPS = 1 << 14, MOST_MEMBERS = 1 << 24 };

#define ALL_WORKS UINT64_MAX

struct group {
    struct pw_row_comms row;
    int32_t file_row, known; /* known: number of members written */
};

struct op {
    uint64_t id; /* 0: free */
    int64_t start, returned, done, wait_start;
    int64_t sent, received;
    uint32_t comm, seq, stack;
    int32_t peer, tag;
    uint16_t op, thread;
    uint8_t flags;
    bool is_called, is_done, is_awaited;
};

struct state {
    struct pw_rankfile *file;
    struct group *groups;
    uint32_t ngroups, capacity, base, epoch;
    uint64_t next, newest; /* numbers of the first operation not written and the last seen */
    int64_t unended;
    struct op ops[OPS];
};

static void *create(struct pw_rankfile *file)
{
    struct state *s = calloc(1, sizeof(*s));
    if (s) {
        s->file = file;
        s->next = 1;
    }
    return s;
}

/* ---- groups ---- */

/* The group with number `index` in the current process; added if new. NULL: too many groups, or no
 * memory. */
static struct group *group_at(struct state *s, uint32_t index)
{
    const uint64_t at = (uint64_t)s->base + index;
    if (at >= MOST_GROUPS)
        return NULL;
    struct group *groups = pw_budget_grow(pw_rankfile_borrow_budget(s->file), s->groups,
                                          sizeof(*groups), (uint32_t)at, &s->capacity);
    if (!groups)
        return NULL;
    s->groups = groups;
    while (at >= s->ngroups) {
        s->groups[s->ngroups].file_row = pw_rankfile_new_comm(s->file);
        s->groups[s->ngroups].row.source = PW_SOURCE_GLOO;
        s->groups[s->ngroups++].row.my_rank = -1;
    }
    return &s->groups[at];
}

static void define(struct state *s, const struct pw_record *record, const struct pw_origin *origin)
{
    struct group *group = group_at(s, record->def.comm);
    if (!group)
        return;
    group->row.uid = record->def.uid;
    group->row.size = record->def.size;
    group->row.my_rank = record->def.my_rank;
    group->row.name = pw_origin_name(origin, record->def.name);
}

/* All members of a group come after the group's record, from the same thread. A second list of
 * members is ignored. */
static void add_members(struct state *s, const struct pw_record *record)
{
    struct group *group = group_at(s, record->members.comm);
    if (!group || group->row.size <= 0 || group->row.size > MOST_MEMBERS)
        return;
    if (group->known == 0)
        group->row.first_member = pw_rankfile_rows(s->file, PW_TABLE_member);
    for (uint32_t r = 0; r < record->members.nruns && r < PW_RUNS_PER_RECORD; r++)
        for (int32_t i = 0; i < record->members.runs[r].count && group->known < group->row.size;
             i++) {
            const struct pw_row_member row = {
                (int32_t)((uint32_t)record->members.runs[r].first +
                          (uint32_t)i * (uint32_t)record->members.runs[r].stride)};
            pw_rankfile_append(s->file, PW_TABLE_member, &row);
            group->known++;
        }
}

/* ---- operations ---- */

/* In a broadcast the root only sends, and the others only receive. For all other operations both
 * sizes are in the record. */
static void set_bytes(const struct op *op, struct pw_row_comm_event *row)
{
    if (op->sent < 0 || op->received < 0) {
        row->sent_bytes = row->recv_bytes = -1;
        return;
    }
    const bool is_root = (op->flags & PW_FLAG_ROOT) != 0;
    row->sent_bytes = op->op == PW_OP_Bcast && !is_root ? 0 : op->sent;
    row->recv_bytes = op->op == PW_OP_Bcast && is_root ? 0 : op->received;
}

/* The operation runs in the background; the thread is blocked only from the begin of its wait. A
 * wait that began after the end of the operation blocked no thread. */
static void write_op(struct state *s, const struct op *op)
{
    const bool is_waited = op->is_awaited && op->is_done && op->wait_start < op->done;
    const int64_t end = op->is_done && op->done > op->returned ? op->done : op->returned;
    struct group *group = group_at(s, op->comm);
    struct pw_row_comm_event row = {
        .start = op->start,
        .end = end,
        .op = op->op,
        .source = PW_SOURCE_GLOO,
        .flags = (uint8_t)(op->flags | PW_FLAG_NONBLOCKING),
        .comm = group ? group->file_row : -1,
        .seq = op->seq,
        .peer = op->peer,
        .tag = op->tag,
        .thread = op->thread,
        .request = (uint32_t)op->id,
        .stack = op->stack,
        .wait_start = is_waited ? op->wait_start : 0,
        .inside_ns = op->returned - op->start + (is_waited ? end - op->wait_start : 0),
    };
    set_bytes(op, &row);
    pw_rankfile_append(s->file, PW_TABLE_comm_event, &row);
    s->unended += !op->is_done;
}

/* Writes the operation with the lowest number, if its call is known, and frees its place. */
static void write_next(struct state *s)
{
    struct op *op = &s->ops[s->next % OPS];
    if (op->id == s->next && op->is_called)
        write_op(s, op);
    op->id = 0;
    s->next++;
}

/* Writes complete operations in order. An incomplete one stops this until PATIENCE newer ones
 * exist. */
static void write_whole(struct state *s)
{
    while (s->next <= s->newest) {
        const struct op *op = &s->ops[s->next % OPS];
        const bool is_whole = op->id == s->next && op->is_called && op->is_done && op->is_awaited;
        if (!is_whole && s->newest - s->next < PATIENCE)
            return;
        write_next(s);
    }
}

static void write_all(struct state *s)
{
    while (s->next <= s->newest)
        write_next(s);
}

/* The table entry of operation `id`. NULL: `id` is 0 or ALL_WORKS, or the operation has already
 * been written. */
static struct op *op_at(struct state *s, uint64_t id)
{
    if (id < s->next || id == ALL_WORKS)
        return NULL;
    while (id - s->next >= OPS && s->next <= s->newest)
        write_next(s);
    if (id - s->next >= OPS)
        s->next = id - OPS + 1;
    struct op *op = &s->ops[id % OPS];
    if (op->id != id)
        *op = (struct op){.id = id};
    s->newest = id > s->newest ? id : s->newest;
    return op;
}

static void add_call(struct state *s, const struct pw_record *record,
                     const struct pw_origin *origin)
{
    struct op lone = {.id = 0}, *op = op_at(s, record->torch_call.id);
    op = op ? op : &lone;
    op->is_called = true;
    op->op = record->op < PW_OP_COUNT ? record->op : PW_OP_None;
    op->flags = record->flags & PW_FLAG_ROOT;
    op->start = origin->start;
    op->returned = origin->end;
    op->thread = origin->thread;
    op->comm = record->torch_call.comm;
    op->seq = record->torch_call.seq;
    op->sent = record->torch_call.sent_bytes;
    op->received = record->torch_call.recv_bytes;
    op->peer = record->torch_call.peer;
    op->tag = record->torch_call.tag;
    op->stack = pw_origin_stack(origin, record->stack);
    struct group *group = group_at(s, op->comm);
    if (group && pw_op_info(op->op)->cls == PW_CLASS_COLL)
        pw_count_collective(&group->row, op->seq);
    if (op == &lone)
        write_op(s, op);
}

static void add_done(struct state *s, const struct pw_record *record,
                     const struct pw_origin *origin)
{
    struct op *op = op_at(s, record->torch_work.id);
    if (!op)
        return;
    op->is_done = true;
    op->done = origin->end;
}

/* Writes the wait as a row of its own, like a call of MPI_Wait: the thread does nothing else then.
 */
static void write_wait(struct state *s, const struct pw_origin *origin, bool is_for_all)
{
    struct pw_row_comm_event row = pw_gloo_wait_row(origin->start, origin->end, origin->thread);
    row.op = is_for_all ? PW_OP_Waitall : PW_OP_Wait;
    pw_rankfile_append(s->file, PW_TABLE_comm_event, &row);
}

static void add_wait(struct state *s, const struct pw_record *record,
                     const struct pw_origin *origin)
{
    const bool is_for_all = record->torch_work.id == ALL_WORKS;
    const uint64_t first = is_for_all ? s->next : record->torch_work.id;
    const uint64_t last = is_for_all ? s->newest : first;
    for (uint64_t id = first; id <= last; id++) {
        struct op *op = op_at(s, id);
        if (!op || op->is_awaited || (is_for_all && (!op->is_called || op->start > origin->end)))
            continue;
        op->is_awaited = true;
        op->wait_start = origin->start;
    }
    write_wait(s, origin, is_for_all);
}

static void record(void *state, const struct pw_record *record, const struct pw_origin *origin)
{
    struct state *s = state;
    if (origin->epoch != s->epoch) {
        write_all(s); /* another process begins: numbers restart */
        s->epoch = origin->epoch;
        s->base = s->ngroups;
        s->next = 1;
        s->newest = 0;
    }
    switch (record->type) {
    case PW_REC_TORCH_GROUP:
        define(s, record, origin);
        break;
    case PW_REC_TORCH_MEMBERS:
        add_members(s, record);
        break;
    case PW_REC_TORCH_CALL:
        add_call(s, record, origin);
        break;
    case PW_REC_TORCH_DONE:
        add_done(s, record, origin);
        break;
    default:
        add_wait(s, record, origin);
        break;
    }
    write_whole(s);
}

/* ---- waits that have not ended ---- */

/* Fills the row of an open wait with the operation that the thread waits for. */
static void open_call(void *state, const struct pw_segment_shared *segment,
                      const struct pw_shown_call *call, struct pw_row_open *row)
{
    const struct state *s = state;
    const uint64_t at = s->base + (call->handle & ~PW_TORCH_HANDLE);
    (void)segment;
    if (pw_op_info(call->op)->cls != PW_CLASS_WAIT || !(call->handle & PW_TORCH_HANDLE))
        return;
    row->source = PW_SOURCE_GLOO;
    if (call->awaited == PW_OP_None || call->awaited >= PW_OP_COUNT)
        return;
    row->awaited = (uint16_t)call->awaited;
    row->peer = call->peer >= 0 ? call->peer : -1;
    if (at >= s->ngroups)
        return;
    row->comm = s->groups[at].file_row;
    row->seq = pw_op_info(call->awaited)->cls == PW_CLASS_COLL ? call->tag : -1;
}

static void add_live_group(const struct state *s, const struct group *group, struct pw_live *live)
{
    const struct pw_row_comms *row = &group->row;
    const struct pw_live_comm comm = {
        .uid = row->uid, .size = row->size, .reached = row->collectives};
    pw_live_add_comm(live, &comm, pw_rankfile_borrow_text(s->file, row->name));
}

/* Adds groups to the live status: those in which threads wait, and the newest others, so that a
 * rank in no call is known to be one that has not entered an operation. What was called while
 * recording was paused is not counted. */
static void add_live(void *state, const struct pw_segment_shared *segment, struct pw_live *live)
{
    struct state *s = state;
    (void)segment;
    for (size_t i = 0; i < live->nthreads; i++)
        for (uint32_t g = s->base; g < s->ngroups; g++) {
            if (live->threads[i].comm_row < 0 || s->groups[g].file_row != live->threads[i].comm_row)
                continue;
            live->threads[i].comm_uid = s->groups[g].row.uid;
            add_live_group(s, &s->groups[g], live);
        }
    for (uint32_t g = s->ngroups; live->recording == 1 && g > s->base; g--)
        add_live_group(s, &s->groups[g - 1], live);
}

static void finish(void *state, int64_t end_ns)
{
    struct state *s = state;
    (void)end_ns;
    write_all(s);
    for (uint32_t i = 0; i < s->ngroups; i++)
        pw_rankfile_set_comm(s->file, s->groups[i].file_row, &s->groups[i].row);
    if (s->unended)
        pw_rankfile_overhead(s->file, "gloo_unended", (double)s->unended, "operations");
}

static void destroy(void *state)
{
    struct state *s = state;
    if (s)
        free(s->groups);
    free(s);
}

const struct pw_collector pw_collector_torch = {
    PW_COLLECTOR_RECORDS("torch", PW_ACTIVITY_TORCH, PW_REC_TORCH_GROUP, PW_REC_TORCH_WAIT),
    PW_COLLECTOR_FUNCTIONS(create, record, finish, destroy),
    .open = open_call,
    .live = add_live,
};
