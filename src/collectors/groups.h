/* Groups of ranks whose records the probe writes when a group is first used: process groups on Gloo
 * (torch/torch_tool.c) and MindSpore's groups (mindspore/mccl_tool.c). Writes their rows of /comms
 * and /comm_members. Tool code, used by these two modules only; a table belongs to one of them. The
 * module nccl uses the order of collectives. */
#ifndef PW_COLLECTORS_GROUPS_H
#define PW_COLLECTORS_GROUPS_H

#include "rank/collect/module.h"

/* The order of the collectives of a group or communicator (core/callorder.h), from its records.
 * Those of different threads come in another order than they were called in. */
struct pw_group_order {
    /* How many are in the hashes; -1: one is missing in the records, so that the order is not
     * known. */
    int64_t ordered;
    uint64_t last, hash[PW_CALLORDER_LEVELS]; /* the last hash, and that of each level */
    struct {
        int64_t seq;
        uint32_t signature;
    } early[16]; /* those that came before one with a lower number */
    size_t nearly;
};

/* Takes a collective; a `signature` PW_REDUCTION_UNKNOWN ends the order. */
void pw_group_order_add(struct pw_group_order *order, int64_t seq, uint32_t signature);

/* Adds the order to what is shown of the communicator. */
void pw_group_order_show(const struct pw_group_order *order, struct pw_live_comm *out);

struct pw_group_entry {
    struct pw_row_comms row;
    int32_t file_row, known; /* known: number of members written */
    struct pw_group_order order;
};

struct pw_group_table {
    struct pw_rankfile *file;
    struct pw_group_entry *entries;
    uint32_t n, capacity, base, epoch; /* base: number of entries of earlier processes */
    uint8_t source;                    /* PW_SOURCE_* of the rows */
};

/* To be called before each record: when another process begins, its numbers restart. */
void pw_group_process(struct pw_group_table *table, const struct pw_origin *origin);

/* The group with number `index` in the current process; added if new. NULL: too many groups, or no
 * memory. */
struct pw_group_entry *pw_group_at(struct pw_group_table *table, uint32_t index);

/* The group of a number that may not be there: NULL. */
const struct pw_group_entry *pw_group_find(const struct pw_group_table *table, uint64_t index);

/* Takes the record of a group. */
void pw_group_define(struct pw_group_table *table, const struct pw_record *record,
                     const struct pw_origin *origin);

/* Takes members. All of a group come after the group's record, from the same thread; a second list
 * of members is ignored. */
void pw_group_add_members(struct pw_group_table *table, const struct pw_record *record);

/* Counts a collective of the group: PW_REC_TORCH_CALL or PW_REC_MCCL_CALL. */
void pw_group_count(struct pw_group_entry *group, const struct pw_record *record);

/* Adds groups to the live status: those in which threads are, and the newest others, so that a rank
 * in no call is known to be one that has not entered an operation. What was called while recording
 * was paused is not counted. */
void pw_group_add_live(const struct pw_group_table *table, struct pw_live *live);

/* Writes the rows of /comms, at the end. */
void pw_group_finish(const struct pw_group_table *table);

/* Frees the entries. */
void pw_group_fini(struct pw_group_table *table);

#endif
