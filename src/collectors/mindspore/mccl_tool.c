/* Collector mindspore, tool half: turns the records of mccl_wrap.c into rows of /comms, /members
 * and /events/comm. An operation is one record. */
#include "collectors/collectors.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/ops.h"

enum { MOST_GROUPS = 1 << 14, MOST_MEMBERS = 1 << 24 };

struct group {
    struct pw_row_comms row;
    int32_t file_row, known; /* known: number of members written */
};

struct state {
    struct pw_rankfile *file;
    struct group *groups;
    uint32_t ngroups, capacity, base, epoch;
};

static void *create(struct pw_rankfile *file)
{
    struct state *s = calloc(1, sizeof(*s));
    if (s)
        s->file = file;
    return s;
}

/* The group with number `index` in the current process; added if new. NULL: none, too many groups,
 * or no memory. */
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
        s->groups[s->ngroups].row.source = PW_SOURCE_MCCL;
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

static void add_member(struct state *s, struct group *group, int32_t rank)
{
    const struct pw_row_member row = {rank};
    if (group->known >= group->row.size)
        return;
    pw_rankfile_append(s->file, PW_TABLE_member, &row);
    group->known++;
}

/* All members of a group come after the group's record, from the same thread. */
static void add_members(struct state *s, const struct pw_record *record)
{
    struct group *group = group_at(s, record->members.comm);
    if (!group || group->row.size <= 0 || group->row.size > MOST_MEMBERS)
        return;
    if (group->known == 0)
        group->row.first_member = pw_rankfile_rows(s->file, PW_TABLE_member);
    for (uint32_t r = 0; r < record->members.nruns && r < PW_RUNS_PER_RECORD; r++)
        for (int32_t i = 0; i < record->members.runs[r].count && group->known < group->row.size;
             i++)
            add_member(s, group,
                       (int32_t)((uint32_t)record->members.runs[r].first +
                                 (uint32_t)i * (uint32_t)record->members.runs[r].stride));
}

static void add_call(struct state *s, const struct pw_record *record,
                     const struct pw_origin *origin)
{
    const uint16_t op = record->op < PW_OP_COUNT ? record->op : PW_OP_None;
    struct group *group = group_at(s, record->torch_call.comm);
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
        pw_count_collective(&group->row, row.seq);
    pw_rankfile_append(s->file, PW_TABLE_comm_event, &row);
}

static void record(void *state, const struct pw_record *record, const struct pw_origin *origin)
{
    struct state *s = state;
    if (origin->epoch != s->epoch) { /* another process begins: numbers restart */
        s->epoch = origin->epoch;
        s->base = s->ngroups;
    }
    if (record->type == PW_REC_MCCL_GROUP)
        define(s, record, origin);
    else if (record->type == PW_REC_MCCL_MEMBERS)
        add_members(s, record);
    else
        add_call(s, record, origin);
}

/* ---- operations that have not ended ---- */

static const struct group *group_of_call(const struct state *s, uint64_t handle)
{
    const uint64_t at = s->base + (handle & ~PW_MCCL_HANDLE);
    return (handle & PW_MCCL_HANDLE) && at < s->ngroups ? &s->groups[at] : NULL;
}

static void open_call(void *state, const struct pw_segment_shared *segment,
                      const struct pw_shown_call *call, struct pw_row_open *row)
{
    const struct group *group = group_of_call(state, call->handle);
    (void)segment;
    if (!group)
        return;
    row->comm = group->file_row;
    row->peer = call->peer >= 0 ? call->peer : -1;
    row->seq = pw_op_info(call->op)->cls == PW_CLASS_COLL ? call->tag : -1;
    row->tag = 0;
}

static void add_live_group(const struct state *s, const struct group *group, struct pw_live *live)
{
    const struct pw_row_comms *row = &group->row;
    const struct pw_live_comm comm = {
        .uid = row->uid, .size = row->size, .reached = row->collectives};
    pw_live_add_comm(live, &comm, pw_rankfile_borrow_text(s->file, row->name));
}

/* Adds groups to the live status: those in which threads are, and the newest others, so that a rank
 * in no call is known to be one that has not entered an operation. What was called while recording
 * was paused is not counted. */
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
    for (uint32_t i = 0; i < s->ngroups; i++)
        pw_rankfile_set_comm(s->file, s->groups[i].file_row, &s->groups[i].row);
}

static void destroy(void *state)
{
    struct state *s = state;
    if (s)
        free(s->groups);
    free(s);
}

const struct pw_collector pw_collector_mindspore = {
    PW_COLLECTOR_RECORDS("mindspore", PW_ACTIVITY_MINDSPORE, PW_REC_MCCL_GROUP, PW_REC_MCCL_CALL),
    PW_COLLECTOR_FUNCTIONS(create, record, finish, destroy),
    .open = open_call,
    .live = add_live,
};
