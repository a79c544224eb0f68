/* Keeps each kind of definition in an array whose index is OTF2's reference, finds strings, regions
 * and communicators by hash, and writes them; see defs.h. */
#include "archive/defs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A list of struct pw_otf2_defs that is to be added to. */
struct list {
    void *rows;
    size_t *n, *capacity, size;
};

/* Adds a copy of the item; returns the list's rows. Sets `err` when memory is short. */
static void *add(struct pw_otf2_defs *defs, struct list list, const void *item)
{
    if (*list.n == *list.capacity) {
        const size_t more = *list.capacity ? 2 * *list.capacity : 64;
        void *fresh = more < UINT32_MAX ? realloc(list.rows, more * list.size) : NULL;
        if (!fresh) {
            defs->err = -ENOMEM;
            return list.rows;
        }
        list.rows = fresh;
        *list.capacity = more;
    }
    memcpy((char *)list.rows + (*list.n)++ * list.size, item, list.size);
    return list.rows;
}

/* Adds an item to the list of this name. */
#define ADD(defs, name, item)                                                                      \
    ((defs)->name = add((defs),                                                                    \
                        (struct list){(defs)->name, &(defs)->n##name, &(defs)->capacity_of_##name, \
                                      sizeof(*(defs)->name)},                                      \
                        (item)))

/* The number of the item that was added last. */
#define LAST(defs, name) ((defs)->n##name ? (uint32_t)(defs)->n##name - 1 : 0)

void pw_otf2_defs_fini(struct pw_otf2_defs *defs)
{
    for (size_t i = 0; i < defs->nstrings; i++)
        free(defs->strings[i]);
    for (size_t i = 0; i < defs->ncomms; i++)
        free(defs->comms[i].members);
    free(defs->strings);
    free(defs->regions);
    free(defs->comms);
    free(defs->locations);
    free(defs->groups);
    free(defs->metrics);
    free(defs->hosts);
    free(defs->clocks);
    pw_hash_fini(&defs->string_hash);
    pw_hash_fini(&defs->region_hash);
    pw_hash_fini(&defs->comm_hash);
}

static int same_string(const void *items, int32_t item, const void *key)
{
    return strcmp(((char *const *)items)[item], key) == 0;
}

uint32_t pw_otf2_string(struct pw_otf2_defs *defs, const char *text)
{
    uint64_t value = 5381;
    for (const char *at = text; *at; at++)
        value = pw_hash_mix(value, (unsigned char)*at);
    if (pw_hash_reserve(&defs->string_hash)) {
        defs->err = -ENOMEM;
        return 0;
    }
    struct pw_hash_slot *slot =
        pw_hash_find(&defs->string_hash, (uint32_t)value, same_string, defs->strings, text);
    if (slot->item != PW_HASH_NONE)
        return (uint32_t)slot->item;
    char *copy = strdup(text);
    const size_t before = defs->nstrings;
    if (copy)
        ADD(defs, strings, &copy);
    const uint32_t at = LAST(defs, strings);
    if (defs->nstrings == before) {
        free(copy);
        defs->err = -ENOMEM;
        return 0;
    }
    pw_hash_take(&defs->string_hash, slot, (uint32_t)value, (int32_t)at);
    return at;
}

static int same_region(const void *items, int32_t item, const void *key)
{
    const struct pw_otf2_region *a = (const struct pw_otf2_region *)items + item, *b = key;
    return a->name == b->name && a->role == b->role && a->paradigm == b->paradigm;
}

uint32_t pw_otf2_region(struct pw_otf2_defs *defs, const char *name, OTF2_RegionRole role,
                        OTF2_Paradigm paradigm)
{
    const struct pw_otf2_region region = {pw_otf2_string(defs, name), role, paradigm,
                                          pw_otf2_string(defs, "")};
    const uint32_t value =
        (uint32_t)pw_hash_mix(pw_hash_mix(region.name, region.role), region.paradigm);
    if (pw_hash_reserve(&defs->region_hash)) {
        defs->err = -ENOMEM;
        return 0;
    }
    struct pw_hash_slot *slot =
        pw_hash_find(&defs->region_hash, value, same_region, defs->regions, &region);
    if (slot->item != PW_HASH_NONE)
        return (uint32_t)slot->item;
    const size_t before = defs->nregions;
    ADD(defs, regions, &region);
    const uint32_t at = LAST(defs, regions);
    if (defs->nregions > before)
        pw_hash_take(&defs->region_hash, slot, value, (int32_t)at);
    return at;
}

static int same_comm(const void *items, int32_t item, const void *key)
{
    const struct pw_otf2_comm *a = (const struct pw_otf2_comm *)items + item, *b = key;
    return a->uid == b->uid && a->source == b->source;
}

uint32_t pw_otf2_comm(struct pw_otf2_defs *defs, uint64_t uid, uint8_t source)
{
    const struct pw_otf2_comm comm = {.uid = uid, .source = source};
    const uint32_t value = (uint32_t)pw_hash_mix(uid, source);
    if (pw_hash_reserve(&defs->comm_hash)) {
        defs->err = -ENOMEM;
        return 0;
    }
    struct pw_hash_slot *slot =
        pw_hash_find(&defs->comm_hash, value, same_comm, defs->comms, &comm);
    if (slot->item != PW_HASH_NONE)
        return (uint32_t)slot->item;
    const size_t before = defs->ncomms;
    ADD(defs, comms, &comm);
    const uint32_t at = LAST(defs, comms);
    if (defs->ncomms > before)
        pw_hash_take(&defs->comm_hash, slot, value, (int32_t)at);
    return at;
}

uint32_t pw_otf2_window(struct pw_otf2_defs *defs, uint32_t comm)
{
    if (!defs->comms[comm].window)
        defs->comms[comm].window = ++defs->windows;
    return defs->comms[comm].window - 1;
}

uint32_t pw_otf2_host(struct pw_otf2_defs *defs, const char *name)
{
    const uint32_t text = pw_otf2_string(defs, name);
    for (size_t i = defs->nhosts; i > 0; i--) /* ranks of one host mostly follow each other */
        if (defs->hosts[i - 1] == text)
            return (uint32_t)i - 1;
    ADD(defs, hosts, &text);
    return LAST(defs, hosts);
}

uint32_t pw_otf2_metric(struct pw_otf2_defs *defs, const char *name, const char *unit,
                        OTF2_MetricMode mode, OTF2_Type type)
{
    const struct pw_otf2_metric metric = {.name = pw_otf2_string(defs, name),
                                          .unit = pw_otf2_string(defs, unit),
                                          .mode = mode,
                                          .type = type};
    for (size_t i = 0; i < defs->nmetrics; i++)
        if (!defs->metrics[i].is_instance && defs->metrics[i].name == metric.name)
            return (uint32_t)i;
    ADD(defs, metrics, &metric);
    return LAST(defs, metrics);
}

uint32_t pw_otf2_add_group(struct pw_otf2_defs *defs, const struct pw_otf2_group *group)
{
    ADD(defs, groups, group);
    return LAST(defs, groups);
}

uint32_t pw_otf2_add_location(struct pw_otf2_defs *defs, const struct pw_otf2_location *location)
{
    ADD(defs, locations, location);
    return LAST(defs, locations);
}

void pw_otf2_add_clock(struct pw_otf2_defs *defs, const struct pw_otf2_clock *clock)
{
    ADD(defs, clocks, clock);
}

uint32_t pw_otf2_add_instance(struct pw_otf2_defs *defs, uint32_t metric, uint32_t group,
                              uint64_t location)
{
    const struct pw_otf2_metric instance = {
        .is_instance = 1, .metric = metric, .group = group, .location = location};
    ADD(defs, metrics, &instance);
    return LAST(defs, metrics);
}

/* ---- writing ---- */

struct writing {
    struct pw_otf2_defs *defs;
    OTF2_GlobalDefWriter *out;
    OTF2_ErrorCode code; /* the first error */
    uint32_t nothing;    /* the string "" */
    uint32_t next_group;
};

static void check(struct writing *w, OTF2_ErrorCode code)
{
    if (w->code == OTF2_SUCCESS)
        w->code = code;
}

static void write_strings(struct writing *w)
{
    for (size_t i = 0; i < w->defs->nstrings; i++)
        check(w, OTF2_GlobalDefWriter_WriteString(w->out, (uint32_t)i, w->defs->strings[i]));
}

static void write_clock(struct writing *w, const struct pw_cluster *cluster)
{
    const struct pw_otf2_defs *defs = w->defs;
    const uint64_t first = defs->last >= defs->first ? (uint64_t)defs->first : 0;
    const uint64_t length = defs->last >= defs->first ? (uint64_t)(defs->last - defs->first) : 0;
    const uint64_t since =
        cluster->start_unix_ns > 0 ? (uint64_t)cluster->start_unix_ns : OTF2_UNDEFINED_TIMESTAMP;
    check(w, OTF2_GlobalDefWriter_WriteClockProperties(w->out, 1000000000, first, length, since));
}

/* The machine is node 0, and the hosts come after it. */
static void write_places(struct writing *w, uint32_t machine, uint32_t node, uint32_t job)
{
    const struct pw_otf2_defs *defs = w->defs;
    check(w, OTF2_GlobalDefWriter_WriteSystemTreeNode(w->out, 0, job, machine,
                                                      OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    check(w, OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(w->out, 0,
                                                            OTF2_SYSTEM_TREE_DOMAIN_MACHINE));
    for (uint32_t i = 0; i < defs->nhosts; i++) {
        check(w, OTF2_GlobalDefWriter_WriteSystemTreeNode(w->out, i + 1, defs->hosts[i], node, 0));
        check(w, OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(
                     w->out, i + 1, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
    }
}

static void write_locations(struct writing *w, uint32_t clock_error)
{
    const struct pw_otf2_defs *defs = w->defs;
    for (uint32_t i = 0; i < defs->ngroups; i++) {
        const struct pw_otf2_group *group = &defs->groups[i];
        check(w, OTF2_GlobalDefWriter_WriteLocationGroup(w->out, i, group->name, group->type,
                                                         group->host + 1, group->creator));
        if (group->clock_error_ns >= 0)
            check(w, OTF2_GlobalDefWriter_WriteLocationGroupProperty(
                         w->out, i, clock_error, OTF2_TYPE_INT64,
                         (OTF2_AttributeValue){.int64 = group->clock_error_ns}));
    }
    for (size_t i = 0; i < defs->nlocations; i++) {
        const struct pw_otf2_location *l = &defs->locations[i];
        check(w, OTF2_GlobalDefWriter_WriteLocation(w->out, l->ref, l->name, l->type, l->events,
                                                    l->group));
    }
}

static void write_regions(struct writing *w)
{
    for (uint32_t i = 0; i < w->defs->nregions; i++) {
        const struct pw_otf2_region *r = &w->defs->regions[i];
        check(w, OTF2_GlobalDefWriter_WriteRegion(w->out, i, r->name, r->name, r->description,
                                                  r->role, r->paradigm, OTF2_REGION_FLAG_NONE,
                                                  w->nothing, 0, 0));
    }
}

static void write_attributes(struct writing *w, uint32_t (*texts)[2])
{
    static const OTF2_Type types[] = {
#define TYPE(id, name, type, description) type,
        PW_OTF2_ATTRIBUTES(TYPE)
#undef TYPE
    };
    for (uint32_t i = 0; i < PW_OTF2_ATTRIBUTE_COUNT; i++)
        check(w,
              OTF2_GlobalDefWriter_WriteAttribute(w->out, i, texts[i][0], texts[i][1], types[i]));
}

/* ---- communicators ---- */

enum { GROUP_WORLD, GROUP_SELF };

/* Writes the group with the next number, and returns the number. A group of which some members are
 * not known has none, because readers look up each: those of NCCL are known from the ranks' files
 * only. */
static uint32_t write_group(struct writing *w, const int32_t *members, int32_t n)
{
    uint64_t *ranks = calloc((size_t)n + 1, sizeof(*ranks));
    uint32_t known = 0;
    if (!ranks) {
        w->defs->err = -ENOMEM;
        return w->next_group;
    }
    for (int32_t i = 0; i < n && members[i] >= 0; i++)
        ranks[known++] = (uint64_t)members[i];
    known = known == (uint32_t)n ? known : 0;
    check(w, OTF2_GlobalDefWriter_WriteGroup(w->out, w->next_group, w->nothing,
                                             OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                             OTF2_GROUP_FLAG_NONE, known, ranks));
    free(ranks);
    return w->next_group++;
}

/* Writes the groups of all ranks, and of communicators of one rank. */
static void write_ranks(struct writing *w, size_t nranks)
{
    uint64_t *all = calloc(nranks + 1, sizeof(*all));
    for (size_t i = 0; all && i < nranks; i++)
        all[i] = pw_otf2_location_ref((int64_t)i, 0);
    if (all)
        check(w, OTF2_GlobalDefWriter_WriteGroup(w->out, GROUP_WORLD, w->nothing,
                                                 OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                                 OTF2_GROUP_FLAG_NONE, (uint32_t)nranks, all));
    else
        w->defs->err = -ENOMEM;
    free(all);
    check(w,
          OTF2_GlobalDefWriter_WriteGroup(w->out, GROUP_SELF, w->nothing, OTF2_GROUP_TYPE_COMM_SELF,
                                          OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 0, NULL));
    w->next_group = GROUP_SELF + 1;
}

static void write_comms(struct writing *w)
{
    const struct pw_otf2_defs *defs = w->defs;
    uint32_t windows = 0;
    for (uint32_t i = 0; i < defs->ncomms && !defs->err; i++) {
        const struct pw_otf2_comm *comm = &defs->comms[i];
        const int is_self = !comm->window && comm->size == 1 &&
                            strcmp(defs->strings[comm->name], "MPI_COMM_SELF") == 0;
        const uint32_t group = is_self ? GROUP_SELF : write_group(w, comm->members, comm->size);
        check(w, OTF2_GlobalDefWriter_WriteComm(w->out, i, comm->name, group, OTF2_UNDEFINED_COMM,
                                                OTF2_COMM_FLAG_NONE));
        if (comm->window)
            windows++;
    }
    for (uint32_t number = 1; number <= windows; number++)
        for (uint32_t i = 0; i < defs->ncomms; i++)
            if (defs->comms[i].window == number)
                check(w, OTF2_GlobalDefWriter_WriteRmaWin(w->out, number - 1, defs->comms[i].name,
                                                          i, OTF2_RMA_WIN_FLAG_NONE));
}

/* A class for each metric, because a sample need not have all of them. */
static void write_metrics(struct writing *w)
{
    const struct pw_otf2_defs *defs = w->defs;
    uint32_t members = 0;
    for (uint32_t i = 0; i < defs->nmetrics; i++) {
        const struct pw_otf2_metric *m = &defs->metrics[i];
        if (m->is_instance) {
            check(w, OTF2_GlobalDefWriter_WriteMetricInstance(w->out, i, m->metric, m->location,
                                                              OTF2_SCOPE_LOCATION_GROUP, m->group));
            continue;
        }
        check(w, OTF2_GlobalDefWriter_WriteMetricMember(w->out, members, m->name, w->nothing,
                                                        OTF2_METRIC_TYPE_OTHER, m->mode, m->type,
                                                        OTF2_BASE_DECIMAL, 0, m->unit));
        check(w, OTF2_GlobalDefWriter_WriteMetricClass(w->out, i, 1, &members,
                                                       OTF2_METRIC_ASYNCHRONOUS,
                                                       OTF2_RECORDER_KIND_ABSTRACT));
        members++;
    }
}

OTF2_ErrorCode pw_otf2_defs_write(struct pw_otf2_defs *defs, OTF2_Archive *archive,
                                  const struct pw_cluster *cluster, size_t nranks)
{
    static const char *const names[][2] = {
#define NAME(id, name, type, description) {name, description},
        PW_OTF2_ATTRIBUTES(NAME)
#undef NAME
    };
    struct writing w = {defs, OTF2_Archive_GetGlobalDefWriter(archive), OTF2_SUCCESS,
                        pw_otf2_string(defs, ""), 0};
    uint32_t texts[PW_OTF2_ATTRIBUTE_COUNT][2];
    for (size_t i = 0; i < PW_OTF2_ATTRIBUTE_COUNT; i++)
        for (int k = 0; k < 2; k++)
            texts[i][k] = pw_otf2_string(defs, names[i][k]);
    const uint32_t machine = pw_otf2_string(defs, "machine"), node = pw_otf2_string(defs, "node");
    const uint32_t job = pw_otf2_string(defs, cluster->job_id[0] ? cluster->job_id : "job");
    const uint32_t mpi = pw_otf2_string(defs, "MPI"), cuda = pw_otf2_string(defs, "CUDA");
    const uint32_t clock_error = pw_otf2_string(defs, "profwrap::clock_error_ns");
    if (!w.out || defs->err)
        return OTF2_ERROR_MEM_ALLOC_FAILED;
    write_clock(&w, cluster);
    write_strings(&w);
    check(&w, OTF2_GlobalDefWriter_WriteParadigm(w.out, OTF2_PARADIGM_MPI, mpi,
                                                 OTF2_PARADIGM_CLASS_PROCESS));
    check(&w, OTF2_GlobalDefWriter_WriteParadigm(w.out, OTF2_PARADIGM_CUDA, cuda,
                                                 OTF2_PARADIGM_CLASS_ACCELERATOR));
    write_attributes(&w, texts);
    write_places(&w, machine, node, job);
    write_locations(&w, clock_error);
    write_regions(&w);
    write_ranks(&w, nranks);
    write_comms(&w);
    write_metrics(&w);
    return w.code;
}
