/* Merges the starts of a lane's intervals with its single events, and closes intervals from a
 * stack; see rankout.h. */
#include "archive/rankout.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/h5/h5reader.h"

/* Memory of the sorter, bytes, and the most intervals that are open at a time. */
enum { SORTER_MEMORY = 16 << 20, DEEPEST = 4096 };

int pw_otf2_rank_create(struct pw_otf2_rank *rank, const char *dir)
{
    const struct pw_rankview *view = rank->view;
    void *members = NULL;
    rank->strings = malloc((view->nstrings + 1) * sizeof(*rank->strings));
    rank->comms = malloc((view->ncomms + 1) * sizeof(*rank->comms));
    rank->numbers = calloc(view->ncomms + 1, sizeof(*rank->numbers));
    if (!rank->strings || !rank->comms || !rank->numbers)
        return -ENOMEM;
    memset(rank->strings, 0xff, (view->nstrings + 1) * sizeof(*rank->strings));
    memset(rank->comms, 0xff, (view->ncomms + 1) * sizeof(*rank->comms));
    if (pw_h5_file_read_all(view->file, PW_TABLE_member, &members, &rank->nmembers))
        rank->nmembers = 0;
    rank->members = members;
    return pw_sorter_create(dir, sizeof(struct pw_otf2_record), SORTER_MEMORY, &rank->rows);
}

void pw_otf2_rank_destroy(struct pw_otf2_rank *rank)
{
    for (size_t i = 0; rank->numbers && i < rank->view->ncomms; i++)
        free(rank->numbers[i]);
    free(rank->numbers);
    free(rank->strings);
    free(rank->comms);
    free(rank->members);
    free(rank->lanes);
    if (rank->rows)
        pw_sorter_destroy(rank->rows);
}

int64_t pw_otf2_lane(struct pw_otf2_rank *rank, enum pw_otf2_lane_kind kind, int32_t device,
                     uint32_t number)
{
    for (size_t i = 0; i <= rank->nlanes; i++) { /* first the one that was found last */
        const size_t at = i ? i - 1 : rank->last_lane;
        if (at < rank->nlanes && rank->lanes[at].kind == kind && rank->lanes[at].device == device &&
            rank->lanes[at].number == number)
            return (int64_t)(rank->last_lane = at);
    }
    if (rank->nlanes == rank->capacity_of_lanes) {
        const size_t more = rank->nlanes ? 2 * rank->nlanes : 16;
        struct pw_otf2_lane *fresh = realloc(rank->lanes, more * sizeof(*fresh));
        if (!fresh) {
            rank->err = -ENOMEM;
            return 0;
        }
        rank->lanes = fresh;
        rank->capacity_of_lanes = more;
    }
    rank->lanes[rank->nlanes] = (struct pw_otf2_lane){(uint8_t)kind, device, number};
    return (int64_t)rank->nlanes++;
}

/* ---- the events of one lane ---- */

struct lane_out {
    struct pw_otf2_rank *rank;
    OTF2_EvtWriter *out;
    OTF2_AttributeList *attributes;
    OTF2_ErrorCode code; /* the first error */
    size_t depth;
    struct pw_otf2_record open[DEEPEST];
};

static void check(struct lane_out *l, OTF2_ErrorCode code)
{
    if (l->code == OTF2_SUCCESS)
        l->code = code;
}

static void note_time(struct pw_otf2_defs *defs, int64_t time)
{
    defs->first = time < defs->first ? time : defs->first;
    defs->last = time > defs->last ? time : defs->last;
}

static void add_text(struct lane_out *l, enum pw_otf2_attribute attribute, uint32_t text)
{
    check(l, OTF2_AttributeList_AddStringRef(l->attributes, attribute, text));
}

static void add_number(struct lane_out *l, enum pw_otf2_attribute attribute, int64_t number)
{
    check(l, OTF2_AttributeList_AddInt64(l->attributes, attribute, number));
}

/* Returns the record's attributes, or NULL when it has none; the next event empties the list. */
static OTF2_AttributeList *attributes_of(struct lane_out *l, const struct pw_otf2_record *r)
{
    if (!(r->has & (PW_OTF2_IS_CALL - 1)))
        return NULL;
    if (r->has & PW_OTF2_HAS_KIND)
        add_text(l, PW_OTF2_KIND, r->kind);
    if (r->has & PW_OTF2_HAS_CATEGORY)
        add_text(l, PW_OTF2_CATEGORY, r->category);
    if (r->has & PW_OTF2_HAS_SHAPES)
        add_text(l, PW_OTF2_SHAPES, r->shapes);
    if (r->has & PW_OTF2_HAS_SEQUENCE)
        add_number(l, PW_OTF2_SEQUENCE, r->number);
    if (r->has & PW_OTF2_HAS_RECORDED)
        add_text(l, PW_OTF2_RECORDED, r->category);
    if (r->has & PW_OTF2_HAS_REASON) {
        add_text(l, PW_OTF2_REASON, r->kind);
        add_number(l, PW_OTF2_LOST, r->number);
    }
    if (r->has & PW_OTF2_HAS_BYTES)
        add_number(l, PW_OTF2_BYTES, (int64_t)r->sent);
    return l->attributes;
}

static void write_beginning(struct lane_out *l, const struct pw_otf2_record *r, uint64_t time)
{
    switch (r->what) {
    case PW_OTF2_SEND:
        check(l, OTF2_EvtWriter_MpiSend(l->out, NULL, time, r->partner, r->comm, r->tag, r->sent));
        break;
    case PW_OTF2_ISEND:
        check(l, OTF2_EvtWriter_MpiIsend(l->out, NULL, time, r->partner, r->comm, r->tag, r->sent,
                                         r->request));
        break;
    case PW_OTF2_IRECV_REQUEST:
        check(l, OTF2_EvtWriter_MpiIrecvRequest(l->out, NULL, time, r->request));
        break;
    case PW_OTF2_COLLECTIVE:
        check(l, OTF2_EvtWriter_MpiCollectiveBegin(l->out, NULL, time));
        break;
    case PW_OTF2_COLLECTIVE_REQUEST:
        check(l, OTF2_EvtWriter_NonBlockingCollectiveRequest(l->out, NULL, time, r->request));
        break;
    case PW_OTF2_PUT:
        check(l,
              OTF2_EvtWriter_RmaPut(l->out, NULL, time, r->comm, r->partner, r->sent, r->request));
        break;
    case PW_OTF2_GET:
        check(l, OTF2_EvtWriter_RmaGet(l->out, NULL, time, r->comm, r->partner, r->received,
                                       r->request));
        break;
    case PW_OTF2_ATOMIC:
        check(l, OTF2_EvtWriter_RmaAtomic(l->out, NULL, time, r->comm, r->partner,
                                          (OTF2_RmaAtomicType)r->collective, r->sent, r->received,
                                          r->request));
        break;
    case PW_OTF2_FENCE:
        check(l, OTF2_EvtWriter_RmaCollectiveBegin(l->out, NULL, time));
        break;
    case PW_OTF2_LOCK:
        check(l, OTF2_EvtWriter_RmaRequestLock(l->out, NULL, time, r->comm, r->partner, 0,
                                               OTF2_LOCK_SHARED));
        break;
    default:
        break;
    }
}

static void write_ending(struct lane_out *l, const struct pw_otf2_record *r, uint64_t time)
{
    switch (r->what) {
    case PW_OTF2_RECV:
        check(l,
              OTF2_EvtWriter_MpiRecv(l->out, NULL, time, r->partner, r->comm, r->tag, r->received));
        break;
    case PW_OTF2_COLLECTIVE:
        check(l,
              OTF2_EvtWriter_MpiCollectiveEnd(l->out, NULL, time, (OTF2_CollectiveOp)r->collective,
                                              r->comm, r->partner, r->sent, r->received));
        break;
    case PW_OTF2_PUT:
    case PW_OTF2_GET:
    case PW_OTF2_ATOMIC:
        check(l, OTF2_EvtWriter_RmaOpCompleteNonBlocking(l->out, NULL, time, r->comm, r->request));
        break;
    case PW_OTF2_FENCE:
        check(l, OTF2_EvtWriter_RmaCollectiveEnd(l->out, NULL, time, OTF2_COLLECTIVE_OP_BARRIER,
                                                 OTF2_RMA_SYNC_LEVEL_PROCESS |
                                                     OTF2_RMA_SYNC_LEVEL_MEMORY,
                                                 r->comm, OTF2_UNDEFINED_UINT32, 0, 0));
        break;
    case PW_OTF2_LOCK:
        check(l, OTF2_EvtWriter_RmaAcquireLock(l->out, NULL, time, r->comm, r->partner, 0,
                                               OTF2_LOCK_SHARED));
        break;
    case PW_OTF2_UNLOCK:
        check(l, OTF2_EvtWriter_RmaReleaseLock(l->out, NULL, time, r->comm, r->partner, 0));
        break;
    default:
        break;
    }
}

static void write_value(struct lane_out *l, const struct pw_otf2_record *r, uint64_t time)
{
    OTF2_Type type = r->has & PW_OTF2_IS_REAL ? OTF2_TYPE_DOUBLE : OTF2_TYPE_INT64;
    OTF2_MetricValue value = {.signed_int = r->number};
    if (type == OTF2_TYPE_DOUBLE)
        memcpy(&value.floating_point, &r->number, sizeof(r->number));
    check(l, OTF2_EvtWriter_Metric(l->out, NULL, time, r->region, 1, &type, &value));
}

static void write_point(struct lane_out *l, const struct pw_otf2_record *r)
{
    const uint64_t time = (uint64_t)r->key[1];
    switch (r->what) {
    case PW_OTF2_RECV_PART:
        check(l,
              OTF2_EvtWriter_MpiRecv(l->out, NULL, time, r->partner, r->comm, r->tag, r->received));
        break;
    case PW_OTF2_ISEND_COMPLETE:
        check(l, OTF2_EvtWriter_MpiIsendComplete(l->out, NULL, time, r->request));
        break;
    case PW_OTF2_IRECV:
        check(l, OTF2_EvtWriter_MpiIrecv(l->out, NULL, time, r->partner, r->comm, r->tag,
                                         r->received, r->request));
        break;
    case PW_OTF2_COLLECTIVE_COMPLETE:
        check(l, OTF2_EvtWriter_NonBlockingCollectiveComplete(
                     l->out, NULL, time, (OTF2_CollectiveOp)r->collective, r->comm, r->partner,
                     r->sent, r->received, r->request));
        break;
    case PW_OTF2_CANCELLED:
        check(l, OTF2_EvtWriter_MpiRequestCancelled(l->out, NULL, time, r->request));
        break;
    case PW_OTF2_VALUE:
        write_value(l, r, time);
        break;
    case PW_OTF2_OFF:
    case PW_OTF2_ON:
        check(l, OTF2_EvtWriter_MeasurementOnOff(l->out, attributes_of(l, r), time,
                                                 r->what == PW_OTF2_ON ? OTF2_MEASUREMENT_ON
                                                                       : OTF2_MEASUREMENT_OFF));
        break;
    default:
        break;
    }
    note_time(l->rank->defs, r->key[1]);
}

static void close_last(struct lane_out *l)
{
    const struct pw_otf2_record *r = &l->open[--l->depth];
    write_ending(l, r, (uint64_t)r->end);
    check(l, OTF2_EvtWriter_Leave(l->out, NULL, (uint64_t)r->end, r->region));
    note_time(l->rank->defs, r->end);
}

/* Closes intervals that end before `time`; with `also_at`, also those that end then. */
static void close_until(struct lane_out *l, int64_t time, int also_at)
{
    while (l->depth &&
           (l->open[l->depth - 1].end < time || (also_at && l->open[l->depth - 1].end == time)))
        close_last(l);
}

/* Makes the interval lie inside those that are open: a call of MPI ends others early, everything
 * else is shortened itself. */
static void make_room(struct lane_out *l, struct pw_otf2_record *r)
{
    while ((r->has & PW_OTF2_IS_CALL) && l->depth && l->open[l->depth - 1].end < r->end &&
           !(l->open[l->depth - 1].has & PW_OTF2_IS_CALL)) {
        l->open[l->depth - 1].end = r->key[1];
        l->rank->shortened++;
        close_last(l);
    }
    if (l->depth && l->open[l->depth - 1].end < r->end) {
        r->end = l->open[l->depth - 1].end;
        l->rank->shortened++;
    }
}

static void write_interval(struct lane_out *l, const struct pw_otf2_record *record)
{
    struct pw_otf2_record r = *record;
    const uint64_t time = (uint64_t)r.key[1];
    close_until(l, r.key[1], 1);
    make_room(l, &r);
    if (l->depth == DEEPEST) {
        l->rank->left_out++;
        return;
    }
    check(l, OTF2_EvtWriter_Enter(l->out, attributes_of(l, &r), time, r.region));
    note_time(l->rank->defs, r.key[1]);
    write_beginning(l, &r, time);
    l->open[l->depth++] = r;
}

/* ---- the lanes ---- */

/* Returns the location group of a device of the rank. */
static uint32_t group_of_device(struct pw_otf2_rank *rank, int32_t device)
{
    char name[96];
    snprintf(name, sizeof(name), "GPU %d of rank %" PRId64, device, rank->view->rank);
    const uint32_t text = pw_otf2_string(rank->defs, name);
    for (uint32_t i = 0; i < rank->ndevices; i++)
        if (rank->defs->groups[rank->devices[i]].name == text)
            return rank->devices[i];
    if (rank->ndevices == sizeof(rank->devices) / sizeof(rank->devices[0]))
        return rank->group;
    const struct pw_otf2_group group = {text, rank->defs->groups[rank->group].host, rank->group,
                                        OTF2_LOCATION_GROUP_TYPE_ACCELERATOR, -1};
    return rank->devices[rank->ndevices++] = pw_otf2_add_group(rank->defs, &group);
}

static void describe_lane(struct pw_otf2_rank *rank, const struct pw_otf2_lane *lane,
                          struct pw_otf2_location *location)
{
    const struct pw_rankview *view = rank->view;
    char name[160];
    location->group = rank->group;
    location->type = OTF2_LOCATION_TYPE_CPU_THREAD;
    switch (lane->kind) {
    case PW_OTF2_STREAM:
        snprintf(name, sizeof(name), "GPU %d stream %" PRIu32, lane->device, lane->number);
        location->group = group_of_device(rank, lane->device);
        location->type = OTF2_LOCATION_TYPE_ACCELERATOR_STREAM;
        break;
    case PW_OTF2_LIBRARY:
        snprintf(name, sizeof(name), "%s %.100s",
                 view->comms[lane->number].source == PW_SOURCE_HCCL ? "HCCL" : "NCCL",
                 pw_rankview_text(view, view->comms[lane->number].name));
        location->type = OTF2_LOCATION_TYPE_ACCELERATOR_STREAM;
        break;
    case PW_OTF2_SAMPLES:
        snprintf(name, sizeof(name), "samples");
        location->type = OTF2_LOCATION_TYPE_METRIC;
        break;
    default:
        pw_rankview_thread_name(view, lane->number, name, sizeof(name));
        break;
    }
    location->name = pw_otf2_string(rank->defs, name);
}

/* Writes the lane's events, of which `first` is the first; NULL: none. Returns the first record of
 * another lane, or NULL. */
static const struct pw_otf2_record *write_lane(struct pw_otf2_rank *rank, struct lane_out *l,
                                               size_t at, const struct pw_otf2_record *first,
                                               OTF2_Archive *archive)
{
    struct pw_otf2_location location = {.ref = pw_otf2_location_ref(rank->view->rank, at)};
    const struct pw_otf2_record *r = first;
    l->depth = 0;
    l->out = OTF2_Archive_GetEvtWriter(archive, location.ref);
    if (!l->out) {
        rank->err = -EIO;
        return NULL;
    }
    for (; r && r->key[0] == (int64_t)at; r = pw_sorter_next(rank->rows)) {
        if (r->what < PW_OTF2_POINTS) {
            write_interval(l, r);
            continue;
        }
        close_until(l, r->key[1], 0);
        write_point(l, r);
    }
    close_until(l, INT64_MAX, 1);
    check(l, OTF2_EvtWriter_GetNumberOfEvents(l->out, &location.events));
    check(l, OTF2_Archive_CloseEvtWriter(archive, l->out));
    rank->events += (int64_t)location.events;
    describe_lane(rank, &rank->lanes[at], &location);
    pw_otf2_add_location(rank->defs, &location);
    return r;
}

int pw_otf2_rank_write(struct pw_otf2_rank *rank, OTF2_Archive *archive)
{
    struct lane_out *l = malloc(sizeof(*l));
    int err = l ? pw_sorter_begin(rank->rows) : -ENOMEM;
    if (err) {
        free(l);
        return err;
    }
    l->rank = rank;
    l->code = OTF2_SUCCESS;
    l->attributes = OTF2_AttributeList_New();
    const struct pw_otf2_record *r = pw_sorter_next(rank->rows);
    for (size_t at = 0; at < rank->nlanes && l->attributes && !rank->err; at++)
        r = write_lane(rank, l, at, r, archive);
    err = !l->attributes            ? -ENOMEM
          : rank->err               ? rank->err
          : l->code != OTF2_SUCCESS ? -EIO
                                    : pw_sorter_error(rank->rows);
    OTF2_AttributeList_Delete(l->attributes);
    free(l);
    return err;
}
