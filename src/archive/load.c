/* Takes OTF2's global definitions one by one, and then finds which process is which rank; see
 * load.h. */
#include "archive/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/errors.h"
#include "archive/names.h"
#include "core/limits.h"

enum { LOCATIONS_BIT = 1, MOST_RANKS = 1 << 24 };

static int same_ref(const void *items, int32_t item, const void *key)
{
    const struct pw_otf2_table *table = items;
    return memcmp(table->rows + (size_t)item * table->size, key, sizeof(uint64_t)) == 0;
}

static struct pw_hash_slot *slot_of(const struct pw_otf2_table *table, uint64_t ref)
{
    return pw_hash_find(&table->hash, (uint32_t)pw_hash_mix(1, ref), same_ref, table, &ref);
}

const void *pw_otf2_find(const struct pw_otf2_table *table, uint64_t ref)
{
    if (!table->n)
        return NULL;
    const struct pw_hash_slot *slot = slot_of(table, ref);
    return slot->item == PW_HASH_NONE ? NULL : table->rows + (size_t)slot->item * table->size;
}

/* Adds a definition of `size` bytes; the first one with a reference counts. Returns whether it was
 * added. */
static int add(struct pw_otf2_archive *a, struct pw_otf2_table *table, const void *row, size_t size)
{
    uint64_t ref;
    memcpy(&ref, row, sizeof(ref));
    table->size = size;
    if (table->n == table->capacity) {
        const size_t more = table->capacity ? 2 * table->capacity : 64;
        char *fresh = more < INT32_MAX ? realloc(table->rows, more * size) : NULL;
        if (!fresh) {
            a->err = -ENOMEM;
            return 0;
        }
        table->rows = fresh;
        table->capacity = more;
    }
    if (pw_hash_reserve(&table->hash)) {
        a->err = -ENOMEM;
        return 0;
    }
    struct pw_hash_slot *slot = slot_of(table, ref);
    if (slot->item != PW_HASH_NONE)
        return 0;
    memcpy(table->rows + table->n * size, row, size);
    pw_hash_take(&table->hash, slot, (uint32_t)pw_hash_mix(1, ref), (int32_t)table->n++);
    return 1;
}

#define ADD(a, table, row) add((a), &(a)->table, &(row), sizeof(row))

const char *pw_otf2_text(const struct pw_otf2_archive *archive, uint64_t ref)
{
    const struct pw_otf2_text *found = pw_otf2_find(&archive->texts, ref);
    return found ? found->text : "";
}

/* ---- what OTF2 calls for each definition ---- */

static OTF2_CallbackCode proceed(const struct pw_otf2_archive *a)
{
    return a->err ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode pw_otf2_on_clock(void *data, uint64_t resolution, uint64_t offset,
                                          uint64_t length, uint64_t since)
{
    struct pw_otf2_archive *a = data;
    (void)length;
    a->resolution = resolution;
    a->offset = offset;
    a->since = since;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_string(void *data, OTF2_StringRef self, const char *text)
{
    struct pw_otf2_archive *a = data;
    struct pw_otf2_text row = {self, strdup(text)};
    if (!row.text)
        a->err = -ENOMEM;
    else if (!ADD(a, texts, row))
        free(row.text);
    return proceed(a);
}

static OTF2_CallbackCode on_node(void *data, OTF2_SystemTreeNodeRef self, OTF2_StringRef name,
                                 OTF2_StringRef class_name, OTF2_SystemTreeNodeRef parent)
{
    struct pw_otf2_archive *a = data;
    const struct pw_otf2_known_node row = {self, name, parent,
                                           strcmp(pw_otf2_text(a, class_name), "node") == 0};
    ADD(a, nodes, row);
    return proceed(a);
}

static OTF2_CallbackCode pw_otf2_on_process(void *data, OTF2_LocationGroupRef self,
                                            OTF2_StringRef name, OTF2_LocationGroupType type,
                                            OTF2_SystemTreeNodeRef node,
                                            OTF2_LocationGroupRef creator)
{
    struct pw_otf2_archive *a = data;
    const struct pw_otf2_known_process row = {self, name, node, creator, type, -1};
    ADD(a, processes, row);
    return proceed(a);
}

static OTF2_CallbackCode pw_otf2_on_location(void *data, OTF2_LocationRef self, OTF2_StringRef name,
                                             OTF2_LocationType type, uint64_t events,
                                             OTF2_LocationGroupRef group)
{
    struct pw_otf2_archive *a = data;
    const struct pw_otf2_known_location row = {self, events, name, group, type, -1};
    ADD(a, locations, row);
    return proceed(a);
}

static OTF2_CallbackCode pw_otf2_on_region(void *data, OTF2_RegionRef self, OTF2_StringRef name,
                                           OTF2_StringRef canonical, OTF2_StringRef description,
                                           OTF2_RegionRole role, OTF2_Paradigm paradigm,
                                           OTF2_RegionFlag flags, OTF2_StringRef file,
                                           uint32_t first_line, uint32_t last_line)
{
    struct pw_otf2_archive *a = data;
    const struct pw_otf2_known_region row = {self, name, pw_otf2_op_named(pw_otf2_text(a, name)),
                                             paradigm, role};
    (void)canonical, (void)description, (void)flags, (void)file, (void)first_line, (void)last_line;
    ADD(a, regions, row);
    return proceed(a);
}

static OTF2_CallbackCode pw_otf2_on_group(void *data, OTF2_GroupRef self, OTF2_StringRef name,
                                          OTF2_GroupType type, OTF2_Paradigm paradigm,
                                          OTF2_GroupFlag flags, uint32_t n, const uint64_t *members)
{
    struct pw_otf2_archive *a = data;
    const uint64_t bit = type == OTF2_GROUP_TYPE_COMM_LOCATIONS ? (uint64_t)LOCATIONS_BIT << 32 : 0;
    struct pw_otf2_known_group row = {self | bit, type, paradigm, n,
                                      malloc(((size_t)n + 1) * sizeof(*members))};
    (void)name, (void)flags;
    if (type < OTF2_GROUP_TYPE_COMM_LOCATIONS || n > MOST_RANKS) {
        free(row.members);
        return OTF2_CALLBACK_SUCCESS;
    }
    if (!row.members) {
        a->err = -ENOMEM;
        return proceed(a);
    }
    memcpy(row.members, members, n * sizeof(*members));
    if (!ADD(a, groups, row))
        free(row.members);
    return proceed(a);
}

static void add_comm(struct pw_otf2_archive *a, const struct pw_otf2_known_comm *comm)
{
    ADD(a, comms, *comm);
}

static OTF2_CallbackCode pw_otf2_on_comm(void *data, OTF2_CommRef self, OTF2_StringRef name,
                                         OTF2_GroupRef group, OTF2_CommRef parent,
                                         OTF2_CommFlag flags)
{
    struct pw_otf2_archive *a = data;
    (void)parent, (void)flags;
    add_comm(a, &(struct pw_otf2_known_comm){
                    .ref = self, .name = name, .groups = {group, OTF2_UNDEFINED_GROUP}});
    return proceed(a);
}

static OTF2_CallbackCode pw_otf2_on_intercomm(void *data, OTF2_CommRef self, OTF2_StringRef name,
                                              OTF2_GroupRef a_side, OTF2_GroupRef b_side,
                                              OTF2_CommRef common, OTF2_CommFlag flags)
{
    struct pw_otf2_archive *a = data;
    (void)common, (void)flags;
    add_comm(a,
             &(struct pw_otf2_known_comm){.ref = self, .name = name, .groups = {a_side, b_side}});
    return proceed(a);
}

static OTF2_CallbackCode on_window(void *data, OTF2_RmaWinRef self, OTF2_StringRef name,
                                   OTF2_CommRef comm, OTF2_RmaWinFlag flags)
{
    struct pw_otf2_archive *a = data;
    const struct pw_otf2_known_window row = {self, name, comm};
    (void)flags;
    ADD(a, windows, row);
    return proceed(a);
}

static OTF2_CallbackCode pw_otf2_on_member(void *data, OTF2_MetricMemberRef self,
                                           OTF2_StringRef name, OTF2_StringRef description,
                                           OTF2_MetricType type, OTF2_MetricMode mode,
                                           OTF2_Type value_type, OTF2_Base base, int64_t exponent,
                                           OTF2_StringRef unit)
{
    struct pw_otf2_archive *a = data;
    const struct pw_otf2_known_member row = {self, name};
    (void)description, (void)type, (void)mode, (void)value_type, (void)base, (void)exponent;
    (void)unit;
    ADD(a, members, row);
    return proceed(a);
}

static OTF2_CallbackCode pw_otf2_on_metric(void *data, OTF2_MetricRef self, uint8_t n,
                                           const OTF2_MetricMemberRef *members,
                                           OTF2_MetricOccurrence occurrence,
                                           OTF2_RecorderKind recorder)
{
    struct pw_otf2_archive *a = data;
    const struct pw_otf2_known_metric row = {self, OTF2_UNDEFINED_METRIC,
                                             n ? members[0] : OTF2_UNDEFINED_METRIC_MEMBER, n};
    (void)occurrence, (void)recorder;
    ADD(a, metrics, row);
    return proceed(a);
}

static OTF2_CallbackCode pw_otf2_on_instance(void *data, OTF2_MetricRef self, OTF2_MetricRef metric,
                                             OTF2_LocationRef recorder, OTF2_MetricScope scope,
                                             uint64_t scope_ref)
{
    struct pw_otf2_archive *a = data;
    const struct pw_otf2_known_metric row = {self, metric, OTF2_UNDEFINED_METRIC_MEMBER, 0};
    (void)recorder, (void)scope, (void)scope_ref;
    ADD(a, metrics, row);
    return proceed(a);
}

static OTF2_CallbackCode on_attribute(void *data, OTF2_AttributeRef self, OTF2_StringRef name,
                                      OTF2_StringRef description, OTF2_Type type)
{
    struct pw_otf2_archive *a = data;
    const struct pw_otf2_known_member row = {self, name};
    (void)description, (void)type;
    ADD(a, attributes, row);
    return proceed(a);
}

static OTF2_ErrorCode read_definitions(struct pw_otf2_archive *a)
{
    uint64_t n;
    OTF2_GlobalDefReader *reader = OTF2_Reader_GetGlobalDefReader(a->reader);
    OTF2_GlobalDefReaderCallbacks *on = OTF2_GlobalDefReaderCallbacks_New();
    if (!reader || !on)
        return OTF2_ERROR_MEM_ALLOC_FAILED;
    OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(on, pw_otf2_on_clock);
    OTF2_GlobalDefReaderCallbacks_SetStringCallback(on, on_string);
    OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback(on, on_node);
    OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(on, pw_otf2_on_process);
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(on, pw_otf2_on_location);
    OTF2_GlobalDefReaderCallbacks_SetRegionCallback(on, pw_otf2_on_region);
    OTF2_GlobalDefReaderCallbacks_SetGroupCallback(on, pw_otf2_on_group);
    OTF2_GlobalDefReaderCallbacks_SetCommCallback(on, pw_otf2_on_comm);
    OTF2_GlobalDefReaderCallbacks_SetInterCommCallback(on, pw_otf2_on_intercomm);
    OTF2_GlobalDefReaderCallbacks_SetRmaWinCallback(on, on_window);
    OTF2_GlobalDefReaderCallbacks_SetMetricMemberCallback(on, pw_otf2_on_member);
    OTF2_GlobalDefReaderCallbacks_SetMetricClassCallback(on, pw_otf2_on_metric);
    OTF2_GlobalDefReaderCallbacks_SetMetricInstanceCallback(on, pw_otf2_on_instance);
    OTF2_GlobalDefReaderCallbacks_SetAttributeCallback(on, on_attribute);
    OTF2_ErrorCode code = OTF2_Reader_RegisterGlobalDefCallbacks(a->reader, reader, on, a);
    OTF2_GlobalDefReaderCallbacks_Delete(on);
    if (code == OTF2_SUCCESS)
        code = OTF2_Reader_ReadAllGlobalDefinitions(a->reader, reader, &n);
    OTF2_Reader_CloseGlobalDefReader(a->reader, reader);
    return code;
}

/* ---- ranks ---- */

#define ROW(table, type, i) ((type *)(void *)((table).rows + (i) * (table).size))

/* Returns the group of MPI's locations; NULL: there is none. */
static const struct pw_otf2_known_group *find_locations(const struct pw_otf2_archive *a)
{
    for (size_t i = 0; i < a->groups.n; i++) {
        const struct pw_otf2_known_group *g = ROW(a->groups, struct pw_otf2_known_group, i);
        if (g->type == OTF2_GROUP_TYPE_COMM_LOCATIONS && g->paradigm == OTF2_PARADIGM_MPI && g->n)
            return g;
    }
    return NULL;
}

static struct pw_otf2_known_process *process_of(const struct pw_otf2_archive *a, uint64_t group)
{
    /* The cast is safe: the tables are this file's. */
    return (struct pw_otf2_known_process *)(uintptr_t)pw_otf2_find(&a->processes, group);
}

/* Numbers the processes: as MPI does, or in the order of their definitions. Devices are of the rank
 * that created them. */
static void number_ranks(struct pw_otf2_archive *a)
{
    const struct pw_otf2_known_group *all = find_locations(a);
    for (uint32_t i = 0; all && i < all->n; i++) {
        const struct pw_otf2_known_location *l = pw_otf2_find(&a->locations, all->members[i]);
        struct pw_otf2_known_process *p = l ? process_of(a, l->group) : NULL;
        if (p && p->rank < 0)
            p->rank = (int32_t)i;
    }
    a->nranks = all ? (int64_t)all->n : 0;
    for (size_t i = 0; i < a->processes.n; i++) {
        struct pw_otf2_known_process *p = ROW(a->processes, struct pw_otf2_known_process, i);
        if (!all && p->type == OTF2_LOCATION_GROUP_TYPE_PROCESS)
            p->rank = (int32_t)a->nranks++;
    }
    for (size_t i = 0; i < a->locations.n; i++) {
        struct pw_otf2_known_location *l = ROW(a->locations, struct pw_otf2_known_location, i);
        const struct pw_otf2_known_process *p = process_of(a, l->group);
        if (p && p->rank < 0)
            p = process_of(a, p->creator);
        l->rank = p ? p->rank : -1;
    }
}

/* Appends the members of a group to those of the communicator. */
static void add_members(struct pw_otf2_archive *a, struct pw_otf2_known_comm *comm, uint64_t ref)
{
    const struct pw_otf2_known_group *group = pw_otf2_find(&a->groups, ref);
    if (!group) /* some archives have only the group of all locations */
        group = pw_otf2_find(&a->groups, ref | (uint64_t)LOCATIONS_BIT << 32);
    if (!group || group->n == 0) {
        comm->is_self |= group && group->type == OTF2_GROUP_TYPE_COMM_SELF;
        return;
    }
    int32_t *more = realloc(comm->members, ((size_t)comm->n + group->n) * sizeof(*more));
    if (!more) {
        a->err = -ENOMEM;
        return;
    }
    comm->members = more;
    for (uint32_t i = 0; i < group->n; i++) {
        const uint64_t member = group->members[i];
        const struct pw_otf2_known_location *l = group->type == OTF2_GROUP_TYPE_COMM_LOCATIONS
                                                     ? pw_otf2_find(&a->locations, member)
                                                     : NULL;
        comm->members[comm->n++] = l                              ? l->rank
                                   : member < (uint64_t)a->nranks ? (int32_t)member
                                                                  : -1;
    }
}

int pw_otf2_load(const char *path, struct pw_otf2_archive *out)
{
    char *creator = NULL, *version = NULL;
    *out = (struct pw_otf2_archive){.resolution = 1000000000};
    out->reader = OTF2_Reader_Open(path);
    if (!out->reader || OTF2_Reader_SetSerialCollectiveCallbacks(out->reader) != OTF2_SUCCESS)
        return -EINVAL;
    if (OTF2_Reader_GetCreator(out->reader, &creator) == OTF2_SUCCESS && creator)
        snprintf(out->creator, sizeof(out->creator), "%s", creator);
    out->is_eztrace = strncasecmp(out->creator, "eztrace", 7) == 0;
    out->is_ours =
        strncmp(out->creator, "profwrap", 8) == 0 &&
        OTF2_Reader_GetProperty(out->reader, PW_OTF2_VERSION_PROPERTY, &version) == OTF2_SUCCESS;
    free(creator);
    free(version);
    const OTF2_ErrorCode code = read_definitions(out);
    if (code != OTF2_SUCCESS || out->err)
        return out->err ? out->err : -EINVAL;
    number_ranks(out);
    for (size_t i = 0; i < out->comms.n; i++) {
        struct pw_otf2_known_comm *comm = ROW(out->comms, struct pw_otf2_known_comm, i);
        for (int side = 0; side < 2; side++)
            if (comm->groups[side] != OTF2_UNDEFINED_GROUP)
                add_members(out, comm, comm->groups[side]);
    }
    return out->err ? out->err : out->nranks && out->resolution ? 0 : -EINVAL;
}

void pw_otf2_close(struct pw_otf2_archive *a)
{
    struct pw_otf2_table *const tables[] = {
        &a->texts, &a->regions, &a->groups,  &a->comms,   &a->locations, &a->processes,
        &a->nodes, &a->windows, &a->members, &a->metrics, &a->attributes};
    if (a->reader)
        OTF2_Reader_Close(a->reader);
    for (size_t i = 0; i < a->texts.n; i++)
        free(ROW(a->texts, struct pw_otf2_text, i)->text);
    for (size_t i = 0; i < a->groups.n; i++)
        free(ROW(a->groups, struct pw_otf2_known_group, i)->members);
    for (size_t i = 0; i < a->comms.n; i++)
        free(ROW(a->comms, struct pw_otf2_known_comm, i)->members);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        pw_hash_fini(&tables[i]->hash);
        free(tables[i]->rows);
    }
}

int64_t pw_otf2_time(const struct pw_otf2_archive *a, uint64_t ticks)
{
    if (a->resolution == 1000000000)
        return ticks <= (uint64_t)PW_LIMIT ? (int64_t)ticks : INT64_MIN;
    const uint64_t since = ticks >= a->offset ? ticks - a->offset : 0;
    const uint64_t seconds = since / a->resolution, rest = since % a->resolution;
    if (seconds >= (uint64_t)PW_LIMIT / 1000000000)
        return INT64_MIN;
    return (int64_t)(seconds * 1000000000) +
           (int64_t)((long double)rest * 1e9L / (long double)a->resolution);
}

const char *pw_otf2_hostname(const struct pw_otf2_archive *a, int64_t rank)
{
    for (size_t i = 0; i < a->processes.n; i++) {
        const struct pw_otf2_known_process *p = ROW(a->processes, struct pw_otf2_known_process, i);
        uint64_t at = p->node;
        const struct pw_otf2_known_node *node = NULL;
        if (p->rank != rank || p->type == OTF2_LOCATION_GROUP_TYPE_ACCELERATOR)
            continue;
        for (int depth = 0; depth < 16 && (node = pw_otf2_find(&a->nodes, at)); depth++) {
            if (node->is_host)
                return pw_otf2_text(a, node->name);
            at = node->parent;
        }
    }
    return "";
}
