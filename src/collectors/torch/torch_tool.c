/* Module torch, tool half: joins the three records of an operation of a process group: the call,
 * the end of the operation, and the wait of a thread for it.
 *
 * The three records come from the rings of different threads, in any order. The operation stays in
 * a table, at its number, until all three have come. When no thread waits for it, or its end was
 * lost, it is written when another operation needs its place, or at the end of the run. */
#include "collectors/modules.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/groups.h"
#include "core/ops.h"

enum { OPS = 1 << 10, PATIENCE = OPS / 4 };

#define ALL_WORKS UINT64_MAX

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
    struct pw_group_table groups;
    uint64_t next, newest; /* numbers of the first operation not written and the last seen */
    int64_t unended;
    struct op ops[OPS];
};

static void *create(struct pw_rankfile *file)
{
    struct state *s = calloc(1, sizeof(*s));
    if (s) {
        s->file = file;
        s->groups = (struct pw_group_table){.file = file, .source = PW_SOURCE_GLOO};
        s->next = 1;
    }
    return s;
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
    struct pw_group_entry *group = pw_group_at(&s->groups, op->comm);
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

/* The creation of the first group of all ranks, or a connection to a store before it: a call that
 * waits for other ranks, as MPI_Init. */
static void write_meeting(struct state *s, const struct pw_record *record,
                          const struct pw_origin *origin)
{
    struct pw_row_comm_event row = pw_gloo_wait_row(origin->start, origin->end, origin->thread);
    row.op = record->op;
    row.stack = pw_origin_stack(origin, record->stack);
    pw_rankfile_append(s->file, PW_TABLE_comm_event, &row);
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
    struct pw_group_entry *group = pw_group_at(&s->groups, op->comm);
    if (group && pw_op_info(op->op)->cls == PW_CLASS_COLL)
        pw_group_count(group, record);
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
    if (origin->epoch != s->groups.epoch) {
        write_all(s); /* another process begins: numbers restart */
        pw_group_process(&s->groups, origin);
        s->next = 1;
        s->newest = 0;
    }
    switch (record->type) {
    case PW_REC_TORCH_GROUP:
        pw_group_define(&s->groups, record, origin);
        break;
    case PW_REC_TORCH_MEMBERS:
        pw_group_add_members(&s->groups, record);
        break;
    case PW_REC_TORCH_CALL:
        if (record->op < PW_OP_COUNT && pw_op_info(record->op)->cls == PW_CLASS_SYNC)
            write_meeting(s, record, origin);
        else
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

/* Fills the row of an open wait with the operation that the thread waits for; and that of the
 * creation of a group: PW_OP_Init of one of all ranks, PW_OP_Comm_create of any other; and that of
 * the connection to a store: PW_OP_Init_thread. */
static void open_call(void *state, const struct pw_segment_shared *segment,
                      const struct pw_shown_call *call, struct pw_row_open *row)
{
    const struct state *s = state;
    (void)segment;
    const bool is_meeting =
        call->op == PW_OP_Init || call->op == PW_OP_Comm_create || call->op == PW_OP_Init_thread;
    if ((pw_op_info(call->op)->cls != PW_CLASS_WAIT && !is_meeting) ||
        !(call->handle & PW_TORCH_HANDLE))
        return;
    row->source = PW_SOURCE_GLOO;
    if (is_meeting || call->awaited == PW_OP_None || call->awaited >= PW_OP_COUNT)
        return;
    row->awaited = (uint16_t)call->awaited;
    row->peer = call->peer >= 0 ? call->peer : -1;
    const struct pw_group_entry *group = pw_group_find(&s->groups, call->handle & ~PW_TORCH_HANDLE);
    if (!group)
        return;
    row->comm = group->file_row;
    row->seq = pw_op_info(call->awaited)->cls == PW_CLASS_COLL ? call->tag : -1;
}

static void add_live(void *state, const struct pw_segment_shared *segment, struct pw_live *live)
{
    const struct state *s = state;
    live->meetings = atomic_load(&segment->meetings);
    pw_group_add_live(&s->groups, live);
}

static void finish(void *state, int64_t end_ns)
{
    struct state *s = state;
    (void)end_ns;
    write_all(s);
    pw_group_finish(&s->groups);
    if (s->unended)
        pw_rankfile_overhead(s->file, "gloo_unended", (double)s->unended, "operations");
}

static void destroy(void *state)
{
    struct state *s = state;
    if (s)
        pw_group_fini(&s->groups);
    free(s);
}

const struct pw_module pw_module_torch = {
    PW_MODULE_RECORDS("torch", PW_ACTIVITY_TORCH, PW_REC_TORCH_GROUP, PW_REC_TORCH_WAIT),
    PW_MODULE_FUNCTIONS(create, record, finish, destroy),
    .open = open_call,
    .live = add_live,
};
