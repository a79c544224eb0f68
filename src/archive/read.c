/* Opens the archive, and makes the file of one rank after another; see read.h. What OTF2 tells
 * inside a call of MPI completes that call's row. */
#include "archive/read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/errors.h"
#include "archive/names.h"
#include "core/limits.h"
#include "core/readlimit.h"

/* A call's row is filled by the events inside it, and added when the call ends. Operations under
 * way are in a list, the latest last: programs have few of them at a time. */

enum { SORTER_MEMORY = 12 << 20, MOST_OPEN = 1 << 20 };

/* Returns the row of /strings of a string of the archive. */
static uint32_t otf2_row_text(struct pw_otf2_events *e, uint32_t text)
{
    const struct pw_otf2_text *found = pw_otf2_find(&e->archive->texts, text);
    if (!found || !found->text[0])
        return 0;
    const size_t at = (size_t)((const char *)found - e->archive->texts.rows) / sizeof(*found);
    if (!e->texts[at]) {
        e->texts[at] = ++e->ntexts;
        pw_rankfile_text(e->file, e->ntexts, found->text, strlen(found->text));
    }
    return e->texts[at];
}

/* ---- communicators ---- */

static int32_t my_number(const struct pw_otf2_events *e, const struct pw_otf2_known_comm *comm)
{
    for (int32_t i = 0; i < comm->n; i++)
        if (comm->members[i] == e->rank)
            return i;
    return comm->is_self ? 0 : -1;
}

/* Adds a row of /comms. `what` keeps windows apart from their communicators. */
static int32_t add_comm(struct pw_otf2_events *e, const struct pw_otf2_known_comm *comm,
                        uint64_t what, uint32_t name)
{
    struct pw_row_comms *more = realloc(e->comms, (e->ncomms + 1) * sizeof(*more));
    if (!more) {
        e->err = -ENOMEM;
        return -1;
    }
    e->comms = more;
    struct pw_row_comms *row = &e->comms[e->ncomms];
    uint64_t uid = pw_hash_mix(pw_hash_mix(5, comm->ref), what);
    *row = (struct pw_row_comms){
        .uid = comm->is_self ? pw_hash_mix(uid, (uint64_t)e->rank) : uid,
        .size = comm->is_self ? 1 : comm->n,
        .my_rank = my_number(e, comm),
        .source = PW_SOURCE_MPI,
        .name = otf2_row_text(e, name),
        .first_member = pw_rankfile_rows(e->file, PW_TABLE_member),
    };
    for (int32_t i = 0; i < row->size; i++) {
        const struct pw_row_member member = {comm->is_self ? (int32_t)e->rank : comm->members[i]};
        pw_rankfile_append(e->file, PW_TABLE_member, &member);
    }
    return (int32_t)e->ncomms++;
}

static const struct pw_otf2_known_comm *find_comm(const struct pw_otf2_events *e, uint32_t ref)
{
    const struct pw_otf2_known_comm *comm = pw_otf2_find(&e->archive->comms, ref);
    return comm && (comm->n || comm->is_self) ? comm : NULL;
}

/* Returns the row of a communicator; -1: it is not defined. */
static int32_t row_of_comm(struct pw_otf2_events *e, uint32_t ref)
{
    const struct pw_otf2_known_comm *comm = find_comm(e, ref);
    if (!comm)
        return -1;
    const size_t at = (size_t)((const char *)comm - e->archive->comms.rows) / sizeof(*comm);
    if (e->comm_rows[at] < 0)
        e->comm_rows[at] = add_comm(e, comm, 0, comm->name);
    return e->comm_rows[at];
}

static int32_t row_of_window(struct pw_otf2_events *e, uint32_t ref)
{
    const struct pw_otf2_known_window *window = pw_otf2_find(&e->archive->windows, ref);
    const struct pw_otf2_known_comm *comm = window ? find_comm(e, window->comm) : NULL;
    if (!comm)
        return -1;
    const size_t at = e->archive->comms.n +
                      (size_t)((const char *)window - e->archive->windows.rows) / sizeof(*window);
    if (e->comm_rows[at] < 0)
        e->comm_rows[at] = add_comm(e, comm, 1 + window->ref, window->name);
    return e->comm_rows[at];
}

/* Returns the world rank of a number in the communicator. */
static int32_t world_rank(const struct pw_otf2_events *e, uint32_t ref, uint32_t number)
{
    const struct pw_otf2_known_comm *comm = find_comm(e, ref);
    if (comm && comm->is_self)
        return number == 0 ? (int32_t)e->rank : -1;
    return comm && number < (uint32_t)comm->n ? comm->members[number] : -1;
}

static int64_t bytes_of(uint64_t bytes)
{
    return bytes <= (uint64_t)PW_LIMIT ? (int64_t)bytes : -1;
}

/* ---- rows ---- */

/* Begin and end a region; the end adds the call's row. */
static void otf2_call_begin(struct pw_otf2_events *e, struct pw_otf2_frame *frame)
{
    frame->row = (struct pw_row_comm_event){
        .start = frame->start,
        .op = (uint16_t)(frame->region ? frame->region->op : PW_OP_None),
        .source = PW_SOURCE_MPI,
        .comm = -1,
        .seq = -1,
        .peer = -1,
        .thread = e->thread,
    };
}

static void add_row(struct pw_otf2_events *e, const struct pw_row_comm_event *row)
{
    struct pw_otf2_keyed_call keyed = {.key = {row->start, row->thread, e->counts.calls},
                                       .row = *row};
    pw_sorter_add(e->calls, &keyed);
    e->counts.calls++;
}

/* Adds the operations that ended in the call: their end is that of the call. */
static void add_done(struct pw_otf2_events *e, const struct pw_otf2_frame *frame, int64_t end)
{
    for (size_t i = frame->first_done; i < e->ndone; i++) {
        struct pw_otf2_request *request = &e->done[i];
        const int is_own = request->row.start == frame->start;
        request->row.end = end;
        request->row.wait_start = is_own ? 0 : frame->start;
        request->row.inside_ns =
            is_own ? end - frame->start : request->begun_ns + (end - frame->start);
        add_row(e, &request->row);
    }
    e->ndone = frame->first_done;
}

static void otf2_call_end(struct pw_otf2_events *e, struct pw_otf2_frame *frame, int64_t end)
{
    const enum pw_op_class cls = pw_op_info(frame->region->op)->cls;
    for (size_t i = e->nopen; frame->is_begun && i > 0 && e->open[i - 1].begun_ns < 0; i--)
        e->open[i - 1].begun_ns = end - frame->start;
    for (size_t i = frame->first_done; i < e->ndone; i++)
        if (e->done[i].begun_ns < 0)
            e->done[i].begun_ns = end - frame->start;
    frame->row.end = end;
    frame->row.inside_ns = end - frame->start;
    if (cls == PW_CLASS_WAIT)
        frame->row.seq = (int64_t)(e->ndone - frame->first_done);
    if (!frame->is_begun)
        add_row(e, &frame->row);
    add_done(e, frame, end);
    if (frame->row.comm < 0 && cls == PW_CLASS_COLL && !frame->is_begun)
        e->counts.lacks[PW_OTF2_LACK_COLLECTIVE]++;
}

/* ---- operations under way ---- */

static int grow(struct pw_otf2_events *e, struct pw_otf2_request **list, size_t n, size_t *capacity)
{
    if (n < *capacity)
        return 1;
    const size_t more = *capacity ? 2 * *capacity : 64;
    struct pw_otf2_request *fresh =
        more <= MOST_OPEN ? realloc(*list, more * sizeof(*fresh)) : NULL;
    if (!fresh) {
        e->err = -ENOMEM;
        return 0;
    }
    *list = fresh;
    *capacity = more;
    return 1;
}

/* Ends an operation without the event that says so. A receive is then not known. */
static void forget(struct pw_otf2_events *e, const struct pw_otf2_request *request)
{
    struct pw_row_comm_event row = request->row;
    row.inside_ns = request->begun_ns < 0 ? 0 : request->begun_ns;
    row.end = row.start + row.inside_ns;
    if (!request->is_known)
        e->counts.lacks[pw_op_info(row.op)->cls == PW_CLASS_COLL ? PW_OTF2_LACK_COLLECTIVE
                                                                 : PW_OTF2_LACK_COMPLETION]++;
    add_row(e, &row);
}

/* Ends the operations that are still under way, when a location's events end. */
static void otf2_calls_forget(struct pw_otf2_events *e)
{
    for (size_t i = 0; i < e->nopen; i++)
        forget(e, &e->open[i]);
    e->nopen = e->ndone = 0;
}

static struct pw_otf2_frame *call_of(struct pw_otf2_events *e)
{
    struct pw_otf2_frame *frame = e->depth ? &e->frames[e->depth - 1] : NULL;
    return frame && frame->region && frame->region->op != PW_OP_None ? frame : NULL;
}

/* Notes an operation that the call begins; the call has no other row. */
static struct pw_otf2_request *begin_request(struct pw_otf2_events *e, uint64_t id)
{
    struct pw_otf2_frame *frame = call_of(e);
    if (!frame || !grow(e, &e->open, e->nopen, &e->capacity_of_open))
        return NULL;
    for (size_t i = 0; i < e->nopen; i++)
        if (e->open[i].id == id) {
            forget(e, &e->open[i]);
            e->open[i] = e->open[--e->nopen];
            break;
        }
    struct pw_otf2_request *request = &e->open[e->nopen++];
    *request = (struct pw_otf2_request){.id = id, .begun_ns = -1, .row = frame->row};
    request->row.flags |= PW_FLAG_NONBLOCKING;
    request->row.request = ++e->requests;
    frame->is_begun = 1;
    return request;
}

/* Moves the operation to those that ended in the open call. Returns NULL when it is not known. */
static struct pw_otf2_request *end_request(struct pw_otf2_events *e, uint64_t id)
{
    if (!call_of(e) || !grow(e, &e->done, e->ndone, &e->capacity_of_done))
        return NULL;
    for (size_t i = e->nopen; i > 0; i--)
        if (e->open[i - 1].id == id) {
            e->done[e->ndone] = e->open[i - 1];
            memmove(&e->open[i - 1], &e->open[i], (e->nopen - i) * sizeof(*e->open));
            e->nopen--;
            return &e->done[e->ndone++];
        }
    return NULL;
}

/* ---- what OTF2 calls for each of MPI's events ---- */

/* What is the same of all of them: where and when. */
#define WHERE                                                                      \
    OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *data, \
        OTF2_AttributeList *attributes
#define IGNORE_WHERE (void)location, (void)time, (void)position, (void)attributes
#define TAKE                                  \
    struct pw_otf2_events *e = data;          \
    struct pw_otf2_frame *frame = call_of(e); \
    IGNORE_WHERE;                             \
    e->counts.events++;                       \
    if (!frame)                               \
    return lost(e)

static OTF2_CallbackCode proceed(const struct pw_otf2_events *e)
{
    return e->err ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

/* Counts an event of MPI outside any call. */
static OTF2_CallbackCode lost(struct pw_otf2_events *e)
{
    e->counts.lacks[PW_OTF2_LACK_NEST]++;
    return proceed(e);
}

static OTF2_CallbackCode pw_otf2_on_begin(WHERE)
{
    struct pw_otf2_events *e = data;
    IGNORE_WHERE;
    e->counts.events++;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode pw_otf2_on_send(WHERE, uint32_t receiver, OTF2_CommRef comm, uint32_t tag,
                                         uint64_t bytes)
{
    TAKE;
    if (frame->has_row++) /* another message of the same call */
        add_row(e, &frame->row);
    frame->row.comm = row_of_comm(e, comm);
    frame->row.peer = world_rank(e, comm, receiver);
    frame->row.tag = (int32_t)tag;
    frame->row.sent_bytes = bytes_of(bytes);
    return proceed(e);
}

static OTF2_CallbackCode pw_otf2_on_recv(WHERE, uint32_t sender, OTF2_CommRef comm, uint32_t tag,
                                         uint64_t bytes)
{
    TAKE;
    const int is_part = pw_op_info(frame->row.op)->cls == PW_CLASS_SEND;
    struct pw_row_comm_event part = frame->row;
    struct pw_row_comm_event *row = is_part ? &part : &frame->row;
    row->comm = row_of_comm(e, comm);
    row->peer = world_rank(e, comm, sender);
    row->tag = (int32_t)tag;
    row->recv_bytes = bytes_of(bytes);
    if (is_part) {
        part.sent_bytes = 0;
        part.flags |= PW_FLAG_RECV_PART;
        part.end = pw_otf2_time(e->archive, time);
        part.inside_ns = part.end - part.start;
        add_row(e, &part);
    }
    return proceed(e);
}

static OTF2_CallbackCode pw_otf2_on_isend(WHERE, uint32_t receiver, OTF2_CommRef comm, uint32_t tag,
                                          uint64_t bytes, uint64_t id)
{
    TAKE;
    struct pw_otf2_request *request = begin_request(e, id);
    if (!request)
        return proceed(e);
    request->is_known = 1;
    request->row.comm = row_of_comm(e, comm);
    request->row.peer = world_rank(e, comm, receiver);
    request->row.tag = (int32_t)tag;
    request->row.sent_bytes = bytes_of(bytes);
    return proceed(e);
}

static OTF2_CallbackCode pw_otf2_on_request(WHERE, uint64_t id)
{
    TAKE;
    begin_request(e, id);
    return proceed(e);
}

static OTF2_CallbackCode pw_otf2_on_complete(WHERE, uint64_t id)
{
    TAKE;
    end_request(e, id);
    return proceed(e);
}

static OTF2_CallbackCode pw_otf2_on_cancelled(WHERE, uint64_t id)
{
    TAKE;
    struct pw_otf2_request *request = end_request(e, id);
    if (request)
        request->row.flags |= PW_FLAG_CANCELLED;
    return proceed(e);
}

static OTF2_CallbackCode pw_otf2_on_irecv(WHERE, uint32_t sender, OTF2_CommRef comm, uint32_t tag,
                                          uint64_t bytes, uint64_t id)
{
    TAKE;
    struct pw_otf2_request *request = end_request(e, id);
    if (!request)
        return lost(e);
    request->row.comm = row_of_comm(e, comm);
    request->row.peer = world_rank(e, comm, sender);
    request->row.tag = (int32_t)tag;
    request->row.recv_bytes = bytes_of(bytes);
    return proceed(e);
}

/* Sets what a collective is, in the row of its call. */
static void set_collective(struct pw_otf2_events *e, struct pw_row_comm_event *row,
                           OTF2_CommRef comm, uint32_t root)
{
    row->comm = row_of_comm(e, comm);
    row->peer = world_rank(e, comm, root);
    if (row->peer == e->rank)
        row->flags |= PW_FLAG_ROOT;
}

static OTF2_CallbackCode pw_otf2_on_collective(WHERE, OTF2_CollectiveOp op, OTF2_CommRef comm,
                                               uint32_t root, uint64_t sent, uint64_t received)
{
    TAKE;
    if (pw_op_info(frame->row.op)->cls != PW_CLASS_COLL)
        return proceed(e); /* as of the creation of a communicator */
    (void)op;
    set_collective(e, &frame->row, comm, root);
    frame->row.sent_bytes = bytes_of(sent);
    frame->row.recv_bytes = bytes_of(received);
    return proceed(e);
}

static OTF2_CallbackCode pw_otf2_on_collective_complete(WHERE, OTF2_CollectiveOp op,
                                                        OTF2_CommRef comm, uint32_t root,
                                                        uint64_t sent, uint64_t received,
                                                        uint64_t id)
{
    TAKE;
    struct pw_otf2_request *request = end_request(e, id);
    (void)op;
    if (!request)
        return lost(e);
    set_collective(e, &request->row, comm, root);
    request->row.sent_bytes = bytes_of(sent);
    request->row.recv_bytes = bytes_of(received);
    return proceed(e);
}

static OTF2_CallbackCode pw_otf2_on_remote(WHERE, OTF2_RmaWinRef window, uint32_t remote,
                                           uint64_t bytes, uint64_t id)
{
    TAKE;
    const struct pw_otf2_known_window *known = pw_otf2_find(&e->archive->windows, window);
    (void)id;
    frame->row.comm = row_of_window(e, window);
    frame->row.peer = known ? world_rank(e, known->comm, remote) : -1;
    if (frame->row.op == PW_OP_Get || frame->row.op == PW_OP_Rget)
        frame->row.recv_bytes = bytes_of(bytes);
    else
        frame->row.sent_bytes = bytes_of(bytes);
    return proceed(e);
}

static OTF2_CallbackCode pw_otf2_on_fence(WHERE, OTF2_CollectiveOp op, OTF2_RmaSyncLevel level,
                                          OTF2_RmaWinRef window, uint32_t root, uint64_t sent,
                                          uint64_t received)
{
    TAKE;
    (void)op, (void)level, (void)root, (void)sent, (void)received;
    frame->row.comm = row_of_window(e, window);
    return proceed(e);
}

/* Registers the callbacks of MPI's events. */
static void otf2_calls_register(OTF2_EvtReaderCallbacks *on)
{
    OTF2_EvtReaderCallbacks_SetMpiCollectiveBeginCallback(on, pw_otf2_on_begin);
    OTF2_EvtReaderCallbacks_SetRmaCollectiveBeginCallback(on, pw_otf2_on_begin);
    OTF2_EvtReaderCallbacks_SetMpiSendCallback(on, pw_otf2_on_send);
    OTF2_EvtReaderCallbacks_SetMpiRecvCallback(on, pw_otf2_on_recv);
    OTF2_EvtReaderCallbacks_SetMpiIsendCallback(on, pw_otf2_on_isend);
    OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(on, pw_otf2_on_complete);
    OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(on, pw_otf2_on_request);
    OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(on, pw_otf2_on_irecv);
    OTF2_EvtReaderCallbacks_SetMpiRequestCancelledCallback(on, pw_otf2_on_cancelled);
    OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(on, pw_otf2_on_collective);
    OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveRequestCallback(on, pw_otf2_on_request);
    OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveCompleteCallback(
        on, pw_otf2_on_collective_complete);
    OTF2_EvtReaderCallbacks_SetRmaPutCallback(on, pw_otf2_on_remote);
    OTF2_EvtReaderCallbacks_SetRmaGetCallback(on, pw_otf2_on_remote);
    OTF2_EvtReaderCallbacks_SetRmaCollectiveEndCallback(on, pw_otf2_on_fence);
}

/* ---- writing ---- */

/* Returns 0 or -ENOMEM; `dir` is for temporary files. */
static int otf2_events_create(struct pw_otf2_events *e, const char *dir)
{
    const size_t comms = e->archive->comms.n + e->archive->windows.n;
    e->comm_rows = malloc((comms + 1) * sizeof(*e->comm_rows));
    e->texts = calloc(e->archive->texts.n + 1, sizeof(*e->texts));
    e->frames = malloc(PW_OTF2_DEEPEST * sizeof(*e->frames));
    e->first_ns = INT64_MAX;
    e->last_ns = INT64_MIN;
    if (!e->comm_rows || !e->texts || !e->frames)
        return -ENOMEM;
    memset(e->comm_rows, 0xff, (comms + 1) * sizeof(*e->comm_rows));
    int err = pw_sorter_create(dir, sizeof(struct pw_otf2_keyed_call), SORTER_MEMORY, &e->calls);
    return err ? err
               : pw_sorter_create(dir, sizeof(struct pw_otf2_keyed_range), SORTER_MEMORY,
                                  &e->ranges);
}

static void otf2_events_destroy(struct pw_otf2_events *e)
{
    if (e->calls)
        pw_sorter_destroy(e->calls);
    if (e->ranges)
        pw_sorter_destroy(e->ranges);
    free(e->comm_rows);
    free(e->texts);
    free(e->frames);
    free(e->open);
    free(e->done);
    free(e->comms);
}

/* Numbers the collectives in the order in which they began, and sorts the calls by their ends: a
 * Wait comes before the operations that ended in it. */
static int number_calls(struct pw_otf2_events *e, struct pw_sorter *by_end)
{
    const struct pw_otf2_keyed_call *call;
    int err = pw_sorter_begin(e->calls);
    while (!err && (call = pw_sorter_next(e->calls))) {
        struct pw_otf2_keyed_call out = *call;
        const enum pw_op_class cls = pw_op_info(out.row.op)->cls;
        if (cls == PW_CLASS_COLL && out.row.comm >= 0)
            out.row.seq = e->comms[out.row.comm].collectives++;
        out.key[0] = out.row.end;
        out.key[1] = cls != PW_CLASS_WAIT;
        out.key[2] = -out.row.start;
        pw_sorter_add(by_end, &out);
    }
    return err ? err : pw_sorter_error(e->calls);
}

/* Writes the rows. Returns 0 or -errno. */
static int otf2_events_write(struct pw_otf2_events *e, const char *dir)
{
    struct pw_sorter *by_end = NULL;
    int err = pw_sorter_create(dir, sizeof(struct pw_otf2_keyed_call), SORTER_MEMORY, &by_end);
    err = err ? err : number_calls(e, by_end);
    err = err ? err : pw_sorter_begin(by_end);
    const struct pw_otf2_keyed_call *call;
    while (!err && (call = pw_sorter_next(by_end)))
        pw_rankfile_append(e->file, PW_TABLE_comm_event, &call->row);
    const struct pw_otf2_keyed_range *range;
    err = err ? err : pw_sorter_begin(e->ranges);
    while (!err && (range = pw_sorter_next(e->ranges)))
        pw_rankfile_append(e->file, PW_TABLE_range, &range->row);
    for (size_t i = 0; i < e->ncomms; i++)
        pw_rankfile_append(e->file, PW_TABLE_comms, &e->comms[i]);
    err = err ? err : pw_sorter_error(e->ranges);
    if (by_end)
        pw_sorter_destroy(by_end);
    return err;
}

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
        frame->category = otf2_row_text(e, value.stringRef);
    if (has_value(e, attributes, "profwrap::shapes", &value))
        frame->shapes = otf2_row_text(e, value.stringRef);
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
    otf2_call_begin(e, frame);
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
        .name = frame->region ? otf2_row_text(e, frame->region->name) : 0,
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
        otf2_call_end(e, frame, end);
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
    otf2_calls_forget(e);
}

static OTF2_ErrorCode register_all(const struct pw_otf2_archive *archive, OTF2_EvtReader *reader,
                                   struct pw_otf2_events *e)
{
    OTF2_EvtReaderCallbacks *on = OTF2_EvtReaderCallbacks_New();
    if (!on)
        return OTF2_ERROR_MEM_ALLOC_FAILED;
    OTF2_EvtReaderCallbacks_SetEnterCallback(on, pw_otf2_on_enter);
    OTF2_EvtReaderCallbacks_SetLeaveCallback(on, pw_otf2_on_leave);
    otf2_calls_register(on);
    const OTF2_ErrorCode code = OTF2_Reader_RegisterEvtCallbacks(archive->reader, reader, on, e);
    OTF2_EvtReaderCallbacks_Delete(on);
    return code;
}

/* Reads a location's events. Returns 0; -EINVAL: damaged, what comes before it was taken; -ENOMEM.
 */
static int otf2_events_read(struct pw_otf2_events *e, const struct pw_otf2_known_location *location)
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

enum { MOST_NAMES = 96 << 20 };

int pw_otf2_open(const struct pw_otf2_wish *wish, struct pw_otf2_archive *archive,
                 struct pw_otf2_taken *result)
{
    uint64_t id = 0;
    *result = (struct pw_otf2_taken){0};
    pw_otf2_errors_catch();
    const int err = pw_otf2_load(wish->path, archive);
    if (err) {
        const char *why = pw_otf2_error();
        snprintf(result->problem, sizeof(result->problem),
                 "'%.250s' is no OTF2 archive that can be read: %s", wish->path,
                 err == -ENOMEM ? "out of memory"
                 : why[0]       ? why
                                : "it has no processes");
        return err;
    }
    OTF2_Reader_GetTraceId(archive->reader, &id);
    snprintf(result->job, sizeof(result->job), "otf2-%016" PRIx64, id);
    return 0;
}

/* Clocks: an archive of ours has one. Processes on one host read the same clock, but EZTrace counts
 * from the start of each. Others' archives may have corrected times: the merge finds what is left.
 */
static int create_file(struct pw_otf2_events *e, const struct pw_otf2_wish *wish,
                       const struct pw_otf2_taken *result)
{
    const struct pw_otf2_archive *archive = e->archive;
    const char *host = pw_otf2_hostname(archive, e->rank);
    struct pw_identity id = {.rank = (int)e->rank, .size = (int)archive->nranks, .launched = 1};
    char command[300];
    snprintf(id.job, sizeof(id.job), "%s", result->job);
    snprintf(id.hostname, sizeof(id.hostname), "%.63s", host);
    if (archive->is_ours)
        snprintf(id.clock_domain, sizeof(id.clock_domain), "import %s", result->job);
    else if (archive->is_eztrace || !host[0])
        snprintf(id.clock_domain, sizeof(id.clock_domain), "import rank %d", id.rank);
    else
        snprintf(id.clock_domain, sizeof(id.clock_domain), "import %.100s", host);
    snprintf(command, sizeof(command), "import of an OTF2 archive of %.60s: %.200s",
             archive->creator[0] ? archive->creator : "an unknown tool", wish->path);
    const int err = pw_rankfile_create(wish->dir, &id, command, wish->level, &e->file);
    if (err)
        return err;
    pw_rankfile_borrow_budget(e->file)->limit_bytes = MOST_NAMES;
    pw_rankfile_set_text(e->file, "clock_sync", "passive");
    return 0;
}

/* Reads the rank's threads. Other locations are counted. */
static int read_locations(struct pw_otf2_events *e, struct pw_otf2_taken *result)
{
    const struct pw_otf2_table *locations = &e->archive->locations;
    for (size_t i = 0; i < locations->n; i++) {
        const struct pw_otf2_known_location *l =
            (const void *)(locations->rows + i * locations->size);
        if (l->rank != e->rank)
            continue;
        if (l->type != OTF2_LOCATION_TYPE_CPU_THREAD) {
            e->counts.lacks[PW_OTF2_LACK_DEVICE]++;
            continue;
        }
        const int err = otf2_events_read(e, l);
        if (err && err != -EINVAL)
            return err;
        result->damaged += err != 0;
        result->locations++;
    }
    return 0;
}

static void finish(struct pw_otf2_events *e)
{
    const int64_t since =
        e->archive->since != OTF2_UNDEFINED_TIMESTAMP && e->archive->since < (uint64_t)INT64_MAX
            ? (int64_t)e->archive->since
            : 0;
    const int64_t length = e->last_ns > e->first_ns ? e->last_ns - e->first_ns : 0;
    pw_rankfile_set_times(e->file, since, since + length);
}

static void add_counts(struct pw_otf2_counts *sum, const struct pw_otf2_counts *one)
{
    sum->events += one->events;
    sum->calls += one->calls;
    sum->ranges += one->ranges;
    for (int i = 0; i < PW_OTF2_LACKS; i++)
        sum->lacks[i] += one->lacks[i];
}

static int take_rank(struct pw_otf2_archive *archive, const struct pw_otf2_wish *wish, int64_t rank,
                     struct pw_otf2_taken *result)
{
    struct pw_otf2_events e = {.archive = archive, .rank = rank};
    const int64_t damaged = result->damaged;
    char path[4200];
    int err = create_file(&e, wish, result);
    err = err ? err : otf2_events_create(&e, wish->dir);
    err = err ? err : read_locations(&e, result);
    err = err ? err : otf2_events_write(&e, wish->dir);
    if (e.file) {
        const struct pw_rankfile_end end = {
            .exit_code = -1, .complete = !err && result->damaged == damaged, .pid = -1};
        finish(&e);
        const int closed = pw_rankfile_close(e.file, &end);
        err = err ? err : closed;
    }
    if (err) { /* removes a half-written file */
        snprintf(path, sizeof(path), "%s/rank-%05d.h5", wish->dir, (int)rank);
        unlink(path);
        strcat(path, ".part");
        unlink(path);
    }
    add_counts(&result->counts, &e.counts);
    otf2_events_destroy(&e);
    return err;
}

int pw_otf2_take_all(struct pw_otf2_archive *archive, const struct pw_otf2_wish *wish,
                     struct pw_otf2_taken *result)
{
    const struct pw_otf2_table *locations = &archive->locations;
    for (size_t i = 0; i < locations->n; i++)
        OTF2_Reader_SelectLocation(
            archive->reader,
            ((const struct pw_otf2_known_location *)(const void *)(locations->rows +
                                                                   i * locations->size))
                ->ref);
    OTF2_Reader_OpenDefFiles(archive->reader); /* an archive may have none */
    int err = OTF2_Reader_OpenEvtFiles(archive->reader) == OTF2_SUCCESS ? 0 : -EINVAL;
    for (int64_t rank = 0; rank < archive->nranks && !err; rank++) {
        err = take_rank(archive, wish, rank, result);
        result->ranks += !err;
    }
    if (err)
        snprintf(result->problem, sizeof(result->problem), "'%.250s' cannot be imported: %s",
                 wish->path,
                 err == -EEXIST ? "a rank's file already exists in the directory"
                 : err == -EINVAL && pw_otf2_error()[0] ? pw_otf2_error()
                                                        : pw_readlimit_error(err));
    return err;
}
