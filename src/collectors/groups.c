/* Keeps groups by their numbers, process after process; see groups.h. */
#include "collectors/groups.h"

#include <stdbool.h>
#include <stdlib.h>

#include "rank/collect/callread.h"

enum { MOST_GROUPS = 1 << 14, MOST_MEMBERS = 1 << 24 };

void pw_group_process(struct pw_group_table *table, const struct pw_origin *origin)
{
    if (origin->epoch == table->epoch)
        return;
    table->epoch = origin->epoch;
    table->base = table->n;
}

struct pw_group_entry *pw_group_at(struct pw_group_table *table, uint32_t index)
{
    const uint64_t at = (uint64_t)table->base + index;
    if (at >= MOST_GROUPS)
        return NULL;
    struct pw_group_entry *entries =
        pw_budget_grow(pw_rankfile_borrow_budget(table->file), table->entries, sizeof(*entries),
                       (uint32_t)at, &table->capacity);
    if (!entries)
        return NULL;
    table->entries = entries;
    while (at >= table->n) {
        struct pw_group_entry *entry = &entries[table->n++];
        entry->file_row = pw_rankfile_new_comm(table->file);
        entry->row.source = table->source;
        entry->row.my_rank = -1;
    }
    return &entries[at];
}

const struct pw_group_entry *pw_group_find(const struct pw_group_table *table, uint64_t index)
{
    const uint64_t at = table->base + index;
    return at < table->n ? &table->entries[at] : NULL;
}

void pw_group_define(struct pw_group_table *table, const struct pw_record *record,
                     const struct pw_origin *origin)
{
    struct pw_group_entry *group = pw_group_at(table, record->def.comm);
    if (!group)
        return;
    group->row.uid = record->def.uid;
    group->row.size = record->def.size;
    group->row.my_rank = record->def.my_rank;
    group->row.name = pw_origin_name(origin, record->def.name);
}

void pw_group_add_members(struct pw_group_table *table, const struct pw_record *record)
{
    struct pw_group_entry *group = pw_group_at(table, record->members.comm);
    if (!group || group->row.size <= 0 || group->row.size > MOST_MEMBERS)
        return;
    if (group->known == 0)
        group->row.first_member = pw_rankfile_rows(table->file, PW_TABLE_member);
    for (uint32_t r = 0; r < record->members.nruns && r < PW_RUNS_PER_RECORD; r++)
        for (int32_t i = 0; i < record->members.runs[r].count && group->known < group->row.size;
             i++) {
            const struct pw_row_member row = {
                (int32_t)((uint32_t)record->members.runs[r].first +
                          (uint32_t)i * (uint32_t)record->members.runs[r].stride)};
            pw_rankfile_append(table->file, PW_TABLE_member, &row);
            group->known++;
        }
}

static void append(struct pw_group_order *order, uint32_t signature)
{
    order->ordered++;
    order->last = order->last * PW_CALLORDER_FACTOR + signature;
    order->hash[pw_callorder_level((uint32_t)order->ordered)] = order->last;
}

/* Takes the next one out of those that came early. Returns false when it is not there. */
static bool append_early(struct pw_group_order *order)
{
    for (size_t i = 0; i < order->nearly; i++) {
        if (order->early[i].seq != order->ordered)
            continue;
        append(order, order->early[i].signature);
        order->early[i] = order->early[--order->nearly];
        return true;
    }
    return false;
}

void pw_group_order_add(struct pw_group_order *order, int64_t seq, uint32_t signature)
{
    if (order->ordered < 0)
        return;
    if (signature == PW_REDUCTION_UNKNOWN || seq < order->ordered) {
        order->ordered = -1;
    } else if (seq == order->ordered) {
        append(order, signature);
        while (append_early(order))
            ;
    } else if (order->nearly < sizeof(order->early) / sizeof(order->early[0])) {
        order->early[order->nearly].seq = seq;
        order->early[order->nearly++].signature = signature;
    } else {
        order->ordered = -1;
    }
}

void pw_group_order_show(const struct pw_group_order *order, struct pw_live_comm *out)
{
    for (unsigned level = 0; level < PW_CALLORDER_LEVELS; level++) {
        const uint32_t count =
            order->ordered < 0 ? 0 : pw_callorder_at((uint32_t)order->ordered, level);
        if (count)
            out->order[out->norder++] = (struct pw_live_order){count, order->hash[level]};
    }
}

void pw_group_count(struct pw_group_entry *group, const struct pw_record *record)
{
    pw_count_collective(&group->row, record->torch_call.seq);
    pw_group_order_add(&group->order, record->torch_call.seq,
                       record->flags & PW_FLAG_ERROR ? PW_REDUCTION_UNKNOWN
                                                     : pw_callread_sign(record));
}

static void add_live(const struct pw_group_table *table, const struct pw_group_entry *group,
                     struct pw_live *live)
{
    const struct pw_row_comms *row = &group->row;
    struct pw_live_comm comm = {.uid = row->uid,
                                .source = row->source,
                                .size = row->size,
                                .my_rank = -1,
                                .reached = row->collectives};
    if (live->wants_order)
        pw_group_order_show(&group->order, &comm);
    pw_live_add_comm(live, &comm, pw_rankfile_borrow_text(table->file, row->name));
}

void pw_group_add_live(const struct pw_group_table *table, struct pw_live *live)
{
    const struct pw_group_entry *entries = table->entries;
    for (size_t i = 0; i < live->nthreads; i++)
        for (uint32_t g = table->base; g < table->n; g++) {
            if (live->threads[i].comm_row < 0 || entries[g].file_row != live->threads[i].comm_row)
                continue;
            live->threads[i].comm_uid = entries[g].row.uid;
            add_live(table, &entries[g], live);
        }
    /* The other groups, the newest first, until the live status is full. */
    for (uint32_t g = table->n; live->recording == 1 && g > table->base; g--)
        add_live(table, &entries[g - 1], live);
}

void pw_group_finish(const struct pw_group_table *table)
{
    for (uint32_t i = 0; i < table->n; i++)
        pw_rankfile_set_comm(table->file, table->entries[i].file_row, &table->entries[i].row);
}

void pw_group_fini(struct pw_group_table *table)
{
    free(table->entries);
}
