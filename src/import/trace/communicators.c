/* Keeps the communicators of a rank in an array, finds them by process group or by stream, and
 * computes their uids from their names and members; see communicators.h. */
#include "import/trace/communicators.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "import/parsers/jsonobject.h"

struct communicator {
    /* The key for finding a process group that the trace names. */
    uint32_t group, members_text; /* its name, and its members as a text */
    int32_t group_size;
    enum pw_source source; /* library of its operations */
    /* The key for finding a communicator that was inferred from a stream; else -1. */
    int64_t device, stream;
    uint64_t uid;
    uint32_t name;
    int32_t size, my_rank;
    int32_t *members; /* [size] world ranks */
    int64_t collectives;
    /* First and last sequence number of the collectives that the trace itself numbers. */
    int64_t first_seq;
    int64_t last_seq; /* -1: no such collective yet */
};

struct pw_comm_table {
    struct communicator *items;
    size_t n, capacity;
    int32_t inferred;
};

struct pw_comm_table *pw_comm_table_create(void)
{
    return calloc(1, sizeof(struct pw_comm_table));
}

void pw_comm_table_destroy(struct pw_comm_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->n; i++)
        free(table->items[i].members);
    free(table->items);
    free(table);
}

/* ---- members ---- */

static int are_ranks(const struct pw_trace *trace, const int64_t *ranks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ranks[i] < 0 || ranks[i] >= trace->world_size)
            return 0;
    return n > 0;
}

static int keep_members(struct communicator *c, const int64_t *ranks, size_t n)
{
    c->members = malloc(n * sizeof(*c->members));
    if (!c->members)
        return 0;
    for (size_t i = 0; i < n; i++)
        c->members[i] = (int32_t)ranks[i];
    c->size = (int32_t)n;
    return 1;
}

/* Sets the members from a text such as "[0, 1]". Returns 0 when the text is not a whole list of
 * ranks: traces write "..." in long ones. */
static int members_of_text(struct pw_trace *trace, const struct pw_collective *collective,
                           struct communicator *c)
{
    static int64_t ranks[PW_COLLECTIVE_MEMBERS];
    const char *text = pw_rankfile_borrow_text(trace->file, collective->members);
    const struct pw_json_item item = {
        .text = text, .length = (uint32_t)strlen(text), .type = PW_JSON_TEXT};
    size_t n = pw_json_to_ints(&item, ranks, PW_COLLECTIVE_MEMBERS);
    return are_ranks(trace, ranks, n) && keep_members(c, ranks, n);
}

/* Sets the members from the trace's list of process groups. Returns 0 when the list lacks them. */
static int members_of_group(const struct pw_trace *trace, const struct pw_collective *collective,
                            struct communicator *c)
{
    const char *name = pw_rankfile_borrow_text(trace->file, collective->group);
    for (size_t g = 0; *name && g < trace->ngroups; g++) {
        const struct pw_group *group = &trace->groups[g];
        if (strcmp(group->name, name) != 0 || !group->size)
            continue;
        c->members = malloc(group->size * sizeof(*c->members));
        if (!c->members)
            return 0;
        memcpy(c->members, group->members, group->size * sizeof(*c->members));
        c->size = (int32_t)group->size;
        return 1;
    }
    return 0;
}

/* Sets the members to first, first + stride, first + 2 * stride, ... A communicator as large as the
 * world has all ranks. Returns 0 when first and stride are not known or not possible. */
static int members_of_stride(const struct pw_trace *trace, const struct pw_collective *collective,
                             struct communicator *c)
{
    int64_t first = collective ? collective->first : -1,
            stride = collective ? collective->stride : 0;
    int64_t size = collective ? collective->group_size : trace->world_size;
    if (size == trace->world_size) {
        first = 0;
        stride = 1;
    }
    if (size < 1 || first < 0 || stride < 1 || first + (size - 1) * stride >= trace->world_size)
        return 0;
    c->members = malloc((size_t)size * sizeof(*c->members));
    if (!c->members)
        return 0;
    for (int64_t i = 0; i < size; i++)
        c->members[i] = (int32_t)(first + i * stride);
    c->size = (int32_t)size;
    return 1;
}

/* ---- identity ---- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = pw_hash_mix(hash, (unsigned char)*text);
    return hash;
}

/* Sets the communicator's uid, and this rank's number in the communicator. */
static void identify(struct communicator *c, uint64_t start, const char *name, int rank)
{
    uint64_t uid = hash_text(start, name);
    uid = pw_hash_mix(uid, (uint64_t)c->size);
    c->my_rank = -1;
    for (int32_t i = 0; c->members && i < c->size; i++) {
        uid = pw_hash_mix(uid, (uint64_t)c->members[i]);
        if (c->members[i] == rank)
            c->my_rank = i;
    }
    c->uid = uid;
}

/* Whether the trace tells the members of the communicator, or this rank's number in the
 * communicator. If so, the members need not be inferred. */
static int is_told(const struct communicator *c)
{
    return c->members || c->my_rank >= 0;
}

static void name_it(struct pw_trace *trace, struct communicator *c,
                    const struct pw_collective *collective)
{
    char name[256];
    const char *group = pw_rankfile_borrow_text(trace->file, collective->group);
    const char *note = pw_rankfile_borrow_text(trace->file, collective->group_note);
    snprintf(name, sizeof(name), "%s%.100s%s%.100s",
             is_told(c) ? "" : "inferred: ", *note ? note : "process group ", *note ? " " : "",
             *group ? group : "?");
    c->name = pw_names_find(&trace->names, name, strlen(name));
}

/* Makes a communicator for operations whose process group the trace does not have: the NCCL kernels
 * of a stream, or all Gloo operations. All ranks are its members until matchops.c infers them. */
static void infer(struct pw_trace *trace, struct communicator *c)
{
    char name[64] = "inferred: Gloo", identity[32] = "inferred Gloo";
    if (c->source != PW_SOURCE_GLOO) {
        snprintf(identity, sizeof(identity), "inferred %d", trace->comms->inferred);
        snprintf(name, sizeof(name), "inferred: %s on stream %lld",
                 c->source == PW_SOURCE_ONECCL ? "oneCCL" : "NCCL", (long long)c->stream);
    }
    members_of_stride(trace, NULL, c);
    identify(c, 2, identity, trace->rank);
    c->name = pw_names_find(&trace->names, name, strlen(name));
    trace->comms->inferred++;
}

static struct communicator *add(struct pw_comm_table *table, enum pw_source source)
{
    if (table->n == table->capacity) {
        size_t capacity = table->capacity ? 2 * table->capacity : 8;
        struct communicator *more = realloc(table->items, capacity * sizeof(*more));
        if (!more)
            return NULL;
        table->items = more;
        table->capacity = capacity;
    }
    struct communicator *c = &table->items[table->n++];
    *c = (struct communicator){.source = source,
                               .device = -1,
                               .stream = -1,
                               .group_size = -1,
                               .my_rank = -1,
                               .last_seq = -1};
    return c;
}

static void log_new(const struct pw_trace *trace, const struct communicator *c, const char *why)
{
    pw_debug(PW_LOG_IMPORT, 2, "rank %d: communicator '%s' of %d ranks: %s", trace->rank,
             pw_rankfile_borrow_text(trace->file, c->name), c->size, why);
}

/* The communicator of the collective's process group; NULL when memory is short. */
static struct communicator *
find_group(struct pw_trace *trace, const struct pw_collective *collective, enum pw_source source)
{
    struct pw_comm_table *table = trace->comms;
    for (size_t i = 0; i < table->n; i++) {
        struct communicator *c = &table->items[i];
        if (c->source == source && c->stream < 0 && c->group == collective->group &&
            c->members_text == collective->members && c->group_size == collective->group_size)
            return c;
    }
    struct communicator *c = add(table, source);
    if (!c)
        return NULL;
    c->group = collective->group;
    c->members_text = collective->members;
    c->group_size = collective->group_size;
    if (collective->my_rank >= 0) {
        c->size = collective->group_size;
    } else if (!members_of_text(trace, collective, c) && !members_of_group(trace, collective, c) &&
               !members_of_stride(trace, collective, c)) {
        c->size = collective->group_size > 0 ? collective->group_size : trace->world_size;
        table->inferred++;
    }
    identify(c,
             source == PW_SOURCE_ONECCL ? 5
             : source == PW_SOURCE_HCCL ? 4
             : source == PW_SOURCE_GLOO ? 3
                                        : 1,
             pw_rankfile_borrow_text(trace->file, collective->group), trace->rank);
    c->my_rank = collective->my_rank >= 0 ? collective->my_rank : c->my_rank;
    name_it(trace, c, collective);
    log_new(trace, c,
            is_told(c) ? "the trace names its ranks"
                       : "the trace names the group and not its ranks");
    return c;
}

/* The communicator of the operations of `stream` that have no group; NULL when memory is short. */
static struct communicator *find_stream(struct pw_trace *trace, int64_t device, int64_t stream,
                                        enum pw_source source)
{
    struct pw_comm_table *table = trace->comms;
    for (size_t i = 0; i < table->n; i++)
        if (table->items[i].source == source && table->items[i].device == device &&
            table->items[i].stream == stream)
            return &table->items[i];
    struct communicator *c = add(table, source);
    if (!c)
        return NULL;
    c->device = device;
    c->stream = stream;
    infer(trace, c);
    log_new(trace, c,
            source == PW_SOURCE_GLOO ? "the trace names no group for operations of Gloo"
                                     : "the trace names no group for the kernels of this stream");
    return c;
}

int32_t pw_comm_table_find(struct pw_trace *trace, const struct pw_device_record *record,
                           int numbered, int64_t *seq, int32_t *peer)
{
    const struct pw_collective *collective =
        pw_collectives_borrow(&trace->collectives, record->collective);
    int named =
        collective && (collective->group || collective->members || collective->group_size > 0);
    struct communicator *c =
        named
            ? find_group(trace, collective,
                         pw_library_source(record->library ? record->library : collective->library))
            : find_stream(trace, record->device, record->stream,
                          pw_library_source(record->library));
    *seq = -1;
    *peer = -1;
    if (!c)
        return -1;
    if (numbered)
        *seq = c->collectives++;
    for (int32_t i = 0; collective && c->members && i < c->size && collective->peer >= 0; i++)
        if (c->members[i] == collective->peer)
            *peer = i;
    return (int32_t)(c - trace->comms->items);
}

int32_t pw_comm_table_of_group(struct pw_trace *trace, const struct pw_collective *collective)
{
    struct communicator *c = find_group(trace, collective, pw_library_source(collective->library));
    return c ? (int32_t)(c - trace->comms->items) : -1;
}

static int has_rank(const struct pw_group *group, int rank)
{
    for (size_t i = 0; i < group->size; i++)
        if (group->members[i] == rank)
            return 1;
    return 0;
}

/* Returns the group to use for Gloo operations whose group the trace does not name: the first Gloo
 * group of at least 2 ranks that has this rank. Returns NULL when there is none, or when two such
 * groups have different ranks, because then the group of an operation is not known. Groups that
 * have the same ranks can be treated as one: these ranks begin all operations in the same order. */
static const struct pw_group *find_only_group(const struct pw_trace *trace)
{
    const struct pw_group *only = NULL;
    for (size_t i = 0; i < trace->ngroups; i++) {
        const struct pw_group *group = &trace->groups[i];
        if (!group->is_gloo || group->size < 2 || !has_rank(group, trace->rank))
            continue;
        if (!only)
            only = group;
        else if (group->size != only->size ||
                 memcmp(group->members, only->members, only->size * sizeof(*only->members)) != 0)
            return NULL;
    }
    return only;
}

int32_t pw_comm_table_find_gloo(struct pw_trace *trace, const struct pw_collective *collective,
                                int numbered, int64_t *seq)
{
    const int is_named =
        collective && (collective->group || collective->members || collective->group_size > 0);
    const struct pw_group *only = is_named ? NULL : find_only_group(trace);
    struct pw_collective named = {.group_size = -1, .peer = -1, .first = -1, .my_rank = -1};
    struct communicator *c;
    if (only) {
        named.group = pw_names_find(&trace->names, only->name, strlen(only->name));
        named.group_size = (int32_t)only->size;
        collective = &named;
    }
    c = is_named || only ? find_group(trace, collective, PW_SOURCE_GLOO)
                         : find_stream(trace, -1, 0, PW_SOURCE_GLOO);
    *seq = c && numbered ? c->collectives++ : -1;
    return c ? (int32_t)(c - trace->comms->items) : -1;
}

void pw_comm_table_shape(const struct pw_trace *trace, int32_t comm, int32_t *size,
                         int32_t *my_rank)
{
    *size = comm < 0 ? -1 : trace->comms->items[comm].size;
    *my_rank = comm < 0 ? -1 : trace->comms->items[comm].my_rank;
}

int32_t pw_comm_table_world_rank(const struct pw_trace *trace, int32_t comm, int32_t place)
{
    const struct communicator *c = comm < 0 ? NULL : &trace->comms->items[comm];
    return c && c->members && place >= 0 && place < c->size ? c->members[place] : -1;
}

int64_t pw_comm_table_number(struct pw_trace *trace, int32_t comm, int64_t seq)
{
    if (comm < 0)
        return -1;
    struct communicator *c = &trace->comms->items[comm];
    if (seq <= c->last_seq)
        return -1;
    if (c->last_seq < 0)
        c->first_seq = seq;
    c->last_seq = seq;
    c->collectives = seq + 1;
    return seq;
}

void pw_comm_table_write(struct pw_trace *trace)
{
    const struct pw_comm_table *table = trace->comms;
    int64_t first = 0;
    for (size_t i = 0; i < table->n; i++) {
        const struct communicator *c = &table->items[i];
        struct pw_row_comms row = {
            .uid = c->uid,
            .size = c->size,
            .my_rank = c->my_rank,
            .source = (uint8_t)c->source,
            .name = c->name,
            .first_member = c->members ? first : -1,
            .collectives = c->collectives,
            .first_collective = c->first_seq,
        };
        pw_rankfile_append(trace->file, PW_TABLE_comms, &row);
        for (int32_t m = 0; c->members && m < c->size; m++) {
            struct pw_row_member member = {c->members[m]};
            pw_rankfile_append(trace->file, PW_TABLE_member, &member);
        }
        first += c->members ? c->size : 0;
    }
    trace->counts.inferred_groups = table->inferred;
}
