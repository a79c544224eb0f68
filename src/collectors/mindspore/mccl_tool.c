/* Module mindspore, tool half: turns the records of mccl_wrap.c into rows of /comms, /members
 * and /events/comm. An operation is one record, and so is init(). */
#include "collectors/modules.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectors/groups.h"
#include "core/ops.h"

struct state {
    struct pw_rankfile *file;
    struct pw_group_table groups;
};

static void *create(struct pw_rankfile *file)
{
    struct state *s = calloc(1, sizeof(*s));
    if (s) {
        s->file = file;
        s->groups = (struct pw_group_table){.file = file, .source = PW_SOURCE_MCCL};
    }
    return s;
}

static void add_call(struct state *s, const struct pw_record *record,
                     const struct pw_origin *origin)
{
    const uint16_t op = record->op < PW_OP_COUNT ? record->op : PW_OP_None;
    struct pw_group_entry *group = pw_group_at(&s->groups, record->torch_call.comm);
    const struct pw_row_comm_event row = {
        .start = origin->start,
        .end = origin->end,
        .op = op,
        .source = PW_SOURCE_MCCL,
        .flags = record->flags & (PW_FLAG_ROOT | PW_FLAG_ERROR),
        .comm = group ? group->file_row : -1,
        .seq = record->torch_call.seq,
        .sent_bytes = record->torch_call.sent_bytes,
        .recv_bytes = record->torch_call.recv_bytes,
        .peer = record->torch_call.peer,
        .thread = origin->thread,
        .stack = pw_origin_stack(origin, record->stack),
        .inside_ns = origin->end - origin->start,
    };
    if (group && pw_op_info(op)->cls == PW_CLASS_COLL)
        pw_group_count(group, record);
    pw_rankfile_append(s->file, PW_TABLE_comm_event, &row);
}

static void record(void *state, const struct pw_record *record, const struct pw_origin *origin)
{
    struct state *s = state;
    pw_group_process(&s->groups, origin);
    if (record->type == PW_REC_MCCL_GROUP)
        pw_group_define(&s->groups, record, origin);
    else if (record->type == PW_REC_MCCL_MEMBERS)
        pw_group_add_members(&s->groups, record);
    else
        add_call(s, record, origin);
}

/* ---- operations that have not ended ---- */

static void open_call(void *state, const struct pw_segment_shared *segment,
                      const struct pw_shown_call *call, struct pw_row_open *row)
{
    const struct state *s = state;
    /* An MPI library's handle that is a negative number has both bits. */
    const bool is_ours = (call->handle & PW_MCCL_HANDLE) && !(call->handle & PW_TORCH_HANDLE);
    const struct pw_group_entry *group =
        is_ours ? pw_group_find(&s->groups, call->handle & ~PW_MCCL_HANDLE) : NULL;
    (void)segment;
    if (is_ours)
        row->source = PW_SOURCE_MCCL;
    if (!group)
        return;
    row->comm = group->file_row;
    row->peer = call->peer >= 0 ? call->peer : -1;
    row->seq = pw_op_info(call->op)->cls == PW_CLASS_COLL ? call->tag : -1;
    row->tag = 0;
}

static void add_live(void *state, const struct pw_segment_shared *segment, struct pw_live *live)
{
    const struct state *s = state;
    if (atomic_load(&segment->meetings))
        live->meetings = atomic_load(&segment->meetings);
    pw_group_add_live(&s->groups, live);
}

static void finish(void *state, int64_t end_ns)
{
    struct state *s = state;
    (void)end_ns;
    pw_group_finish(&s->groups);
}

static void destroy(void *state)
{
    struct state *s = state;
    if (s)
        pw_group_fini(&s->groups);
    free(s);
}

const struct pw_module pw_module_mindspore = {
    PW_MODULE_RECORDS("mindspore", PW_ACTIVITY_MINDSPORE, PW_REC_MCCL_GROUP, PW_REC_MCCL_CALL),
    PW_MODULE_FUNCTIONS(create, record, finish, destroy),
    .open = open_call,
    .live = add_live,
};
