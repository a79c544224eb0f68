/* A call's row is filled by the events inside it, and added when the call ends; see callrows.h.
 * Operations under way are in a list, the latest last: programs have few of them at a time. */
#include "archive/callrows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "archive/mpinames.h"
#include "core/limits.h"

enum { SORTER_MEMORY = 12 << 20, MOST_OPEN = 1 << 20 };

uint32_t pw_otf2_row_text(struct pw_otf2_events *e, uint32_t text)
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
        .name = pw_otf2_row_text(e, name),
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

void pw_otf2_call_begin(struct pw_otf2_events *e, struct pw_otf2_frame *frame)
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

void pw_otf2_call_end(struct pw_otf2_events *e, struct pw_otf2_frame *frame, int64_t end)
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

void pw_otf2_calls_forget(struct pw_otf2_events *e)
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

void pw_otf2_calls_register(OTF2_EvtReaderCallbacks *on)
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

int pw_otf2_events_create(struct pw_otf2_events *e, const char *dir)
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

void pw_otf2_events_destroy(struct pw_otf2_events *e)
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

int pw_otf2_events_write(struct pw_otf2_events *e, const char *dir)
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
