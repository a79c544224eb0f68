/* Keeps a stack of entered regions; what OTF2 tells inside a call of MPI completes that call's row;
 * see evtread.h. */
#include "archive/evtread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/callrows.h"
#include "archive/errors.h"
#include "archive/mpinames.h"
#include "archive/names.h"
#include "core/limits.h"

static void lack(struct pw_otf2_events *e, enum pw_otf2_lack what)
{
    e->counts.lacks[what]++;
}

static int64_t note_time(struct pw_otf2_events *e, uint64_t ticks)
{
    const int64_t ns = pw_otf2_time(e->archive, ticks);
    e->counts.events++;
    if (ns != INT64_MIN) {
        e->first_ns = ns < e->first_ns ? ns : e->first_ns;
        e->last_ns = ns > e->last_ns ? ns : e->last_ns;
    }
    return ns;
}

static OTF2_CallbackCode proceed(const struct pw_otf2_events *e)
{
    return e->err ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

/* ---- regions ---- */

static int has_value(const struct pw_otf2_events *e, OTF2_AttributeList *attributes,
                     const char *name, OTF2_AttributeValue *value)
{
    const uint32_t n = OTF2_AttributeList_GetNumberOfElements(attributes);
    for (uint32_t i = 0; i < n; i++) {
        OTF2_AttributeRef ref;
        OTF2_Type type;
        if (OTF2_AttributeList_GetAttributeByIndex(attributes, i, &ref, &type, value) !=
            OTF2_SUCCESS)
            continue;
        const struct pw_otf2_known_member *found = pw_otf2_find(&e->archive->attributes, ref);
        if (found && strcmp(pw_otf2_text(e->archive, found->name), name) == 0)
            return 1;
    }
    return 0;
}

/* Returns the value with this name; 0 when there is none. */
static uint8_t value_named(enum pw_field_type type, const char *name)
{
    for (const struct pw_enum_item *item = pw_enum_borrow(type); item->name; item++)
        if (strcmp(item->name, name) == 0)
            return (uint8_t)item->value;
    return 0;
}

/* Sets what profwrap's own archives have in attributes. */
static void read_attributes(struct pw_otf2_events *e, struct pw_otf2_frame *frame,
                            OTF2_AttributeList *attributes)
{
    OTF2_AttributeValue value;
    if (has_value(e, attributes, "profwrap::sequence", &value))
        frame->sequence = value.int64;
    if (has_value(e, attributes, "profwrap::category", &value))
        frame->category = pw_otf2_row_text(e, value.stringRef);
    if (has_value(e, attributes, "profwrap::shapes", &value))
        frame->shapes = pw_otf2_row_text(e, value.stringRef);
    if (has_value(e, attributes, "profwrap::kind", &value))
        frame->kind = value_named(PW_F_KIND, pw_otf2_text(e->archive, value.stringRef));
    if (has_value(e, attributes, "profwrap::recorded", &value)) {
        frame->has_step = 1;
        frame->recorded = value_named(PW_F_RECORDED, pw_otf2_text(e->archive, value.stringRef));
    }
}

static OTF2_CallbackCode pw_otf2_on_enter(OTF2_LocationRef location, OTF2_TimeStamp time,
                                          uint64_t position, void *data,
                                          OTF2_AttributeList *attributes, OTF2_RegionRef region)
{
    struct pw_otf2_events *e = data;
    const int64_t ns = note_time(e, time);
    (void)location, (void)position;
    if (e->depth == PW_OTF2_DEEPEST || ns == INT64_MIN) {
        lack(e, PW_OTF2_LACK_NEST);
        return proceed(e);
    }
    struct pw_otf2_frame *frame = &e->frames[e->depth++];
    *frame = (struct pw_otf2_frame){
        .start = ns,
        .sequence = -1,
        .region = pw_otf2_find(&e->archive->regions, region),
        .kind = PW_KIND_USER,
        .first_done = e->ndone,
    };
    pw_otf2_call_begin(e, frame);
    if (OTF2_AttributeList_GetNumberOfElements(attributes))
        read_attributes(e, frame, attributes);
    return proceed(e);
}

static void add_range(struct pw_otf2_events *e, const struct pw_otf2_frame *frame, int64_t end)
{
    struct pw_otf2_keyed_range keyed = {.key = {end, -frame->start, e->thread}};
    keyed.row = (struct pw_row_range){
        .start = frame->start,
        .end = end,
        .name = frame->region ? pw_otf2_row_text(e, frame->region->name) : 0,
        .category = frame->category,
        .kind = frame->kind,
        .thread = e->thread,
        .depth = (uint16_t)e->depth,
        .shapes = frame->shapes,
        .sequence = frame->sequence,
    };
    pw_sorter_add(e->ranges, &keyed);
    e->counts.ranges++;
}

static void close_frame(struct pw_otf2_events *e, int64_t end)
{
    struct pw_otf2_frame *frame = &e->frames[--e->depth];
    end = end < frame->start ? frame->start : end;
    if (frame->region && frame->region->op != PW_OP_None) {
        pw_otf2_call_end(e, frame, end);
        return;
    }
    if (frame->has_step) {
        const struct pw_row_step step = {frame->sequence, frame->start, end, frame->recorded};
        pw_rankfile_append(e->file, PW_TABLE_step, &step);
        return;
    }
    add_range(e, frame, end);
}

static OTF2_CallbackCode pw_otf2_on_leave(OTF2_LocationRef location, OTF2_TimeStamp time,
                                          uint64_t position, void *data,
                                          OTF2_AttributeList *attributes, OTF2_RegionRef region)
{
    struct pw_otf2_events *e = data;
    const int64_t ns = note_time(e, time);
    const struct pw_otf2_known_region *left = pw_otf2_find(&e->archive->regions, region);
    (void)location, (void)position, (void)attributes;
    size_t at = e->depth;
    while (at && e->frames[at - 1].region != left)
        at--;
    if (!at || ns == INT64_MIN) {
        lack(e, PW_OTF2_LACK_NEST);
        return proceed(e);
    }
    for (; e->depth > at; close_frame(e, ns))
        lack(e, PW_OTF2_LACK_NEST);
    close_frame(e, ns);
    return proceed(e);
}

/* Frees what is per location, and takes what is open as ended with the location. */
static void end_location(struct pw_otf2_events *e)
{
    while (e->depth)
        close_frame(e, e->last_ns);
    pw_otf2_calls_forget(e);
}

static OTF2_ErrorCode register_all(const struct pw_otf2_archive *archive, OTF2_EvtReader *reader,
                                   struct pw_otf2_events *e)
{
    OTF2_EvtReaderCallbacks *on = OTF2_EvtReaderCallbacks_New();
    if (!on)
        return OTF2_ERROR_MEM_ALLOC_FAILED;
    OTF2_EvtReaderCallbacks_SetEnterCallback(on, pw_otf2_on_enter);
    OTF2_EvtReaderCallbacks_SetLeaveCallback(on, pw_otf2_on_leave);
    pw_otf2_calls_register(on);
    const OTF2_ErrorCode code = OTF2_Reader_RegisterEvtCallbacks(archive->reader, reader, on, e);
    OTF2_EvtReaderCallbacks_Delete(on);
    return code;
}

int pw_otf2_events_read(struct pw_otf2_events *e, const struct pw_otf2_known_location *location)
{
    const struct pw_otf2_archive *archive = e->archive;
    uint64_t n;
    OTF2_DefReader *definitions = OTF2_Reader_GetDefReader(archive->reader, location->ref);
    if (definitions) { /* mappings and clock offsets, which the library applies */
        OTF2_Reader_ReadAllLocalDefinitions(archive->reader, definitions, &n);
        OTF2_Reader_CloseDefReader(archive->reader, definitions);
    }
    OTF2_EvtReader *reader = OTF2_Reader_GetEvtReader(archive->reader, location->ref);
    if (!reader)
        return -EINVAL;
    const int64_t before = e->counts.events;
    OTF2_ErrorCode code = register_all(archive, reader, e);
    n = 0;
    pw_otf2_errors_catch();
    if (code == OTF2_SUCCESS)
        code = OTF2_Reader_ReadAllLocalEvents(archive->reader, reader, &n);
    /* OTF2 does not tell of a file that ends early. But then a region is open, which only EZTrace
     * leaves so. */
    if (pw_otf2_error()[0] || (e->depth && !archive->is_eztrace))
        code = OTF2_ERROR_INTEGRITY_FAULT;
    /* OTF2 passes over events that it has no callback for, without a word. */
    const int64_t taken = e->counts.events - before;
    if (code == OTF2_SUCCESS && location->events > (uint64_t)taken)
        e->counts.lacks[PW_OTF2_LACK_RECORD] += (int64_t)location->events - taken;
    OTF2_Reader_CloseEvtReader(archive->reader, reader);
    end_location(e);
    e->thread++;
    return e->err ? e->err : code == OTF2_SUCCESS ? 0 : -EINVAL;
}

const char *pw_otf2_lack_words(enum pw_otf2_lack lack)
{
    static const char *const words[] = {
        [PW_OTF2_LACK_DEVICE] = "locations of devices and metrics",
        [PW_OTF2_LACK_RECORD] = "events of other kinds",
        [PW_OTF2_LACK_NEST] = "events that do not nest, or with impossible times",
        [PW_OTF2_LACK_COMPLETION] = "receives whose completion the archive does not have",
        [PW_OTF2_LACK_COLLECTIVE] = "collectives whose communicator the archive does not have",
    };
    return words[lack];
}
