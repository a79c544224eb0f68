/* The shared parts of the functions that run after a call, and the classes of messages,
 * communicators, one-sided operations and files; see mpi_classes.h. */
#include "collectors/mpi/mpi_classes.h"

#include <string.h>

#include "collectors/mpi/mpi_request.h"

void pw_mpi_write(const struct pw_mpi_call *c, const struct pw_record *record)
{
    if (c->quiet)
        return;
    struct pw_ring *ring = &c->thread->ring;
    struct pw_record *slot = pw_ring_reserve(ring, record->end, PW_LOST_COMMUNICATION);
    if (!slot)
        return;
    *slot = *record;
    pw_probe_commit(c->thread);
}

struct pw_mpi_comm *pw_mpi_call_comm(const struct pw_mpi_call *c, int rc)
{
    return rc == MPI_SUCCESS ? pw_mpi_comm_find(c->thread, c->comm) : pw_mpi_comm_known(c->comm);
}

void pw_mpi_record(const struct pw_mpi_call *c, const struct pw_mpi_comm *comm, int rc)
{
    struct pw_record *record = pw_mpi_place(c, comm, rc);
    if (record)
        pw_mpi_commit(c, record);
}

static uint32_t duration_16(const struct pw_mpi_call *c, uint8_t *flags)
{
    uint64_t units = (c->end - c->start) >> 4;
    if (units <= UINT32_MAX)
        return (uint32_t)units;
    *flags |= PW_FLAG_SATURATED;
    return UINT32_MAX;
}

struct pw_record *pw_mpi_open_record(const struct pw_mpi_call *c, int rc,
                                     const struct pw_mpi_comm *entry, pw_mpi_key comm,
                                     struct pw_record *own)
{
    struct pw_mpi_request *request = NULL;
    if (rc == MPI_SUCCESS && c->request != pw_mpi_handles.request_null && !pw_mpi_is_complete(c) &&
        (!c->quiet || c->op == PW_OP_Comm_idup))
        request = pw_mpi_request_add(c->request, pw_op_info(c->op)->cls, 0);
    struct pw_record *record = request ? &request->record : own;
    pw_mpi_base_record(c, entry, rc, record);
    record->flags |= PW_FLAG_NONBLOCKING;
    record->comm.begun = duration_16(c, &record->flags);
    record->comm.request = request ? request->id : pw_mpi_request_id();
    if (request) {
        request->comm = comm;
        if (c->op == PW_OP_Comm_idup) {
            request->state |= PW_REQUEST_MAKES_COMM;
            /* The Fortran layer passes the address of a local variable, which must not be read
             * after the call. */
            request->newcomm = c->flags & PW_FLAG_FORTRAN ? NULL : c->newcomm_at;
            request->made = c->flags & PW_FLAG_FORTRAN ? *c->newcomm_at : pw_mpi_handles.comm_null;
            if (c->quiet)
                pw_mpi_request_is_quiet(request);
        }
    }
    return record;
}

void pw_mpi_close_record(const struct pw_mpi_call *c, const struct pw_record *record,
                         const struct pw_record *own)
{
    if (record == own)
        pw_mpi_write(c, own);
}

/* ---- messages ---- */

static int64_t sent_bytes(const struct pw_mpi_call *c, int rc)
{
    return rc == MPI_SUCCESS && c->dest != MPI_PROC_NULL ? c->scount * pw_mpi_type_size(c->stype)
                                                         : 0;
}

void pw_mpi_after_SEND(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *comm = pw_mpi_call_comm(c, rc);
    const int64_t bytes = sent_bytes(c, rc);
    struct pw_record *record = pw_mpi_place(c, comm, rc);
    if (!record)
        return;
    record->comm.peer = comm ? pw_mpi_world_rank(comm, c->dest) : -1;
    record->comm.tag = c->stag;
    record->comm.sent_bytes = bytes;
    pw_mpi_commit(c, record);
}

static void record_receive(struct pw_mpi_call *c, int rc, uint8_t flags)
{
    const struct pw_mpi_comm *comm = pw_mpi_call_comm(c, rc);
    c->flags |= flags;
    struct pw_record *record = pw_mpi_place(c, comm, rc);
    if (!record)
        return;
    record->comm.tag = c->rtag;
    if (rc == MPI_SUCCESS)
        pw_mpi_read_status(record, comm, c->status);
    pw_mpi_commit(c, record);
}

void pw_mpi_after_RECV(struct pw_mpi_call *c, int rc)
{
    record_receive(c, rc, 0);
}

void pw_mpi_after_SENDRECV(struct pw_mpi_call *c, int rc)
{
    pw_mpi_after_SEND(c, rc);
    record_receive(c, rc, PW_FLAG_RECV_PART);
}

/* Makes the entry of a message's request, and fills in what is known before it completes. */
void pw_mpi_begun_message(const struct pw_mpi_call *c, int rc, const struct pw_mpi_message *message)
{
    struct pw_record own, *record = pw_mpi_open_record(c, rc, message->comm, c->comm, &own);
    record->comm.peer = message->peer;
    record->comm.tag = message->tag;
    record->comm.sent_bytes = rc == MPI_SUCCESS ? message->bytes : 0;
    pw_mpi_close_record(c, record, &own);
}

void pw_mpi_after_ISEND(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *comm = pw_mpi_call_comm(c, rc);
    const struct pw_mpi_message message = {.comm = comm,
                                           .peer = comm ? pw_mpi_world_rank(comm, c->dest) : -1,
                                           .tag = c->stag,
                                           .bytes = sent_bytes(c, rc)};
    pw_mpi_begun_message(c, rc, &message);
}

/* A receive that is complete at once is from MPI_PROC_NULL; its record gets the tag that its status
 * would have. */
void pw_mpi_after_IRECV(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *comm = pw_mpi_call_comm(c, rc);
    const bool is_from_nobody = rc == MPI_SUCCESS && pw_mpi_is_complete(c);
    const struct pw_mpi_message message = {.comm = comm,
                                           .peer = comm ? pw_mpi_world_rank(comm, c->src) : -1,
                                           .tag = is_from_nobody ? MPI_ANY_TAG : c->rtag};
    pw_mpi_begun_message(c, rc, &message);
}

void pw_mpi_write_sent_part(struct pw_mpi_call *c, const struct pw_mpi_request *request)
{
    struct pw_record record = request->record;
    record.flags &= (uint8_t)~PW_FLAG_RECV_PART;
    record.end = c->end;
    record.comm.peer = request->sent_peer;
    record.comm.tag = request->sent_tag;
    record.comm.sent_bytes = request->sent_bytes;
    pw_mpi_write(c, &record);
}

/* One request has two records: the entry has the record of the receive, and the values for that of
 * the send. */
void pw_mpi_after_ISENDRECV(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *comm = pw_mpi_call_comm(c, rc);
    struct pw_mpi_request spare, *request = NULL;
    if (rc == MPI_SUCCESS && !pw_mpi_is_complete(c))
        request = pw_mpi_request_add(c->request, PW_CLASS_RECV, 0);
    struct pw_mpi_request *filled = request ? request : &spare;
    struct pw_record *record = &filled->record;
    pw_mpi_base_record(c, comm, rc, record);
    record->flags |= PW_FLAG_NONBLOCKING | PW_FLAG_RECV_PART;
    record->comm.begun = duration_16(c, &record->flags);
    record->comm.request = request ? request->id : pw_mpi_request_id();
    record->comm.peer = comm ? pw_mpi_world_rank(comm, c->src) : -1;
    record->comm.tag = c->rtag;
    filled->comm = c->comm;
    filled->sent_peer = comm ? pw_mpi_world_rank(comm, c->dest) : -1;
    filled->sent_tag = c->stag;
    filled->sent_bytes = sent_bytes(c, rc);
    if (request) {
        request->state |= PW_REQUEST_TWO_PARTS;
        return;
    }
    pw_mpi_write_sent_part(c, filled);
    pw_mpi_write(c, record);
}

/* ---- persistent requests ---- */

/* The times are set by MPI_Start. */
struct pw_mpi_request *pw_mpi_keep_record(struct pw_mpi_call *c, int rc,
                                          const struct pw_mpi_comm *comm)
{
    struct pw_mpi_request *request =
        rc == MPI_SUCCESS ? pw_mpi_request_add(c->request, pw_op_info(c->op)->cls, 1) : NULL;
    if (!request)
        return NULL;
    pw_mpi_base_record(c, comm, rc, &request->record);
    request->record.flags |= PW_FLAG_NONBLOCKING;
    request->comm = c->comm;
    return request;
}

static void keep_message(struct pw_mpi_call *c, int rc, int peer, int tag, int64_t sent)
{
    const struct pw_mpi_comm *comm = pw_mpi_call_comm(c, rc);
    struct pw_mpi_request *request = pw_mpi_keep_record(c, rc, comm);
    if (!request)
        return;
    request->record.comm.peer = comm ? pw_mpi_world_rank(comm, peer) : -1;
    request->record.comm.tag = tag;
    request->record.comm.sent_bytes = sent;
}

void pw_mpi_after_PERSISTENT_SEND(struct pw_mpi_call *c, int rc)
{
    keep_message(c, rc, c->dest, c->stag, sent_bytes(c, rc));
}

void pw_mpi_after_PERSISTENT_RECV(struct pw_mpi_call *c, int rc)
{
    keep_message(c, rc, c->src, c->rtag, 0);
}

void pw_mpi_after_PARTITIONED_SEND(struct pw_mpi_call *c, int rc)
{
    keep_message(c, rc, c->dest, c->stag, c->partitions * sent_bytes(c, rc));
}

/* Members may start persistent collectives in different orders. */
static uint32_t count_persistent(struct pw_mpi_comm *comm)
{
    pw_mpi_comm_lose_order(comm, PW_CALLORDER_PERSISTENT);
    return pw_mpi_comm_count(comm, 0);
}

/* An operation that begins while recording is paused is not recorded; a collective still increments
 * the sequence number. */
static void start_quietly(const struct pw_mpi_request *request)
{
    struct pw_mpi_comm *comm = pw_op_info(request->record.op)->cls == PW_CLASS_COLL
                                   ? pw_mpi_comm_known(request->comm)
                                   : NULL;
    if (comm)
        count_persistent(comm);
}

void pw_mpi_after_START(struct pw_mpi_call *c, int rc)
{
    for (int i = 0; i < c->nrequests && rc == MPI_SUCCESS; i++) {
        struct pw_mpi_request *request = pw_mpi_request_find(c->saved[i].handle);
        if (!request)
            continue;
        if (c->quiet) {
            start_quietly(request);
            continue;
        }
        request->state |= PW_REQUEST_ACTIVE;
        request->record.start = c->start;
        request->record.stack = c->stack;
        request->record.comm.begun = duration_16(c, &request->record.flags);
        request->record.comm.request = pw_mpi_request_id();
        if (pw_op_info(request->record.op)->cls == PW_CLASS_COLL) {
            struct pw_mpi_comm *comm = pw_mpi_comm_known(request->comm);
            request->record.comm.seq = comm ? count_persistent(comm) : 0;
        }
    }
}

/* ---- probes and matched messages ---- */

static void record_probe(struct pw_mpi_call *c, int rc, int found)
{
    const struct pw_mpi_comm *comm = pw_mpi_call_comm(c, rc);
    struct pw_record record;
    pw_mpi_base_record(c, comm, rc, &record);
    record.comm.tag = c->rtag;
    /* The probe has received nothing and cannot be cancelled, so MPICH does not set the fields of
     * the status for the size and the cancellation. */
    if (rc == MPI_SUCCESS && found) {
        const MPI_Status told = pw_mpi_status_at(c->status);
        record.comm.peer = comm ? pw_mpi_world_rank(comm, told.MPI_SOURCE) : -1;
        record.comm.tag = told.MPI_TAG;
    }
    pw_mpi_write(c, &record);
}

void pw_mpi_after_PROBE(struct pw_mpi_call *c, int rc)
{
    record_probe(c, rc, c->op == PW_OP_Probe || c->flag);
}

/* Until the message is received, it has an entry in the table of requests, because its handle is an
 * address, too. A probe that found nothing is recorded as a cheap local call. */
void pw_mpi_after_MPROBE(struct pw_mpi_call *c, int rc)
{
    int found = rc == MPI_SUCCESS && (c->op == PW_OP_Mprobe || c->flag);
    if (!found && c->op == PW_OP_Improbe && pw_mpi_level() < 2) {
        if (rc == MPI_SUCCESS)
            pw_mpi_count_probe(c->thread, c);
        return;
    }
    record_probe(c, rc, found);
    if (!found || c->message == pw_mpi_handles.message_no_proc)
        return;
    struct pw_mpi_request *message = pw_mpi_request_add((MPI_Request)c->message, PW_CLASS_PROBE, 0);
    if (message) {
        message->comm = c->comm;
        message->record.end = c->end;
    }
}

/* Removes the message's entry. Returns the communicator on which it was probed, or
 * MPI_COMM_NULL. */
static pw_mpi_key take_message(const struct pw_mpi_call *c)
{
    struct pw_mpi_request *message = pw_mpi_request_take((MPI_Request)c->message, c->start);
    pw_mpi_key comm = message ? message->comm : pw_mpi_handles.comm_null;
    if (message)
        pw_mpi_request_free(message);
    return comm;
}

void pw_mpi_after_MRECV(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *comm = pw_mpi_comm_known(take_message(c));
    struct pw_record record;
    pw_mpi_base_record(c, comm, rc, &record);
    if (rc == MPI_SUCCESS)
        pw_mpi_read_status(&record, comm, c->status);
    pw_mpi_write(c, &record);
}

void pw_mpi_after_IMRECV(struct pw_mpi_call *c, int rc)
{
    pw_mpi_key handle = take_message(c);
    struct pw_record own;
    struct pw_record *record = pw_mpi_open_record(c, rc, pw_mpi_comm_known(handle), handle, &own);
    record->comm.tag = rc == MPI_SUCCESS && pw_mpi_is_complete(c) ? MPI_ANY_TAG : 0;
    pw_mpi_close_record(c, record, &own);
}

/* ---- communicators, types and local calls ---- */

static void add_made(struct pw_mpi_call *c)
{
    pw_mpi_comm_add_new(c->thread, *c->newcomm_at, c->comm, c->op);
}

/* Adds the creation to the order of the parent. Comm_create_group is called by the members of a
 * group only. */
static void note_child(const struct pw_mpi_call *c, int rc, struct pw_mpi_comm *parent)
{
    if (parent && rc == MPI_SUCCESS && c->op != PW_OP_Comm_create_group)
        pw_mpi_comm_note_child(parent, c->op);
}

void pw_mpi_after_NEWCOMM(struct pw_mpi_call *c, int rc)
{
    struct pw_mpi_comm *parent = pw_mpi_call_comm(c, rc);
    pw_mpi_record(c, parent, rc);
    note_child(c, rc, parent);
    if (rc == MPI_SUCCESS)
        add_made(c);
}

/* For communicators that are made from groups: they have no parent. */
void pw_mpi_after_NEWCOMM_ALONE(struct pw_mpi_call *c, int rc)
{
    pw_mpi_record(c, NULL, rc);
    c->comm = pw_mpi_handles.comm_null;
    if (rc == MPI_SUCCESS)
        add_made(c);
}

void pw_mpi_after_INEWCOMM(struct pw_mpi_call *c, int rc)
{
    struct pw_mpi_comm *parent = pw_mpi_call_comm(c, rc);
    struct pw_record own;
    struct pw_record *record = pw_mpi_open_record(c, rc, parent, c->comm, &own);
    note_child(c, rc, parent);
    pw_mpi_close_record(c, record, &own);
    if (rc == MPI_SUCCESS && pw_mpi_is_complete(c))
        add_made(c);
}

/* For communicators, windows and files. */
void pw_mpi_after_FREEGROUP(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm freed = {.index = (uint32_t)c->freed};
    pw_mpi_record(c, c->freed >= 0 ? &freed : NULL, rc);
}

void pw_mpi_copy_text(const struct pw_mpi_call *c, char *text, size_t size)
{
    size_t length = strnlen(c->text, size - 1);
    memcpy(text, c->text, length);
    text[length] = '\0';
}

void pw_mpi_after_NAMEGROUP(struct pw_mpi_call *c, int rc)
{
    char text[MPI_MAX_OBJECT_NAME + 1];
    if (rc != MPI_SUCCESS || !c->text)
        return;
    pw_mpi_copy_text(c, text, sizeof(text));
    pw_mpi_comm_name(c->thread, c->comm, text);
}

void pw_mpi_after_FREETYPE(struct pw_mpi_call *c, int rc)
{
    (void)c;
    if (rc == MPI_SUCCESS)
        pw_mpi_last_forget();
}

void pw_mpi_after_LOCAL(struct pw_mpi_call *c, int rc)
{
    pw_mpi_record(c, NULL, rc);
}

void pw_mpi_after_LOCAL_COMM(struct pw_mpi_call *c, int rc)
{
    pw_mpi_record(c, pw_mpi_call_comm(c, rc), rc);
}

/* ---- windows ----
 *
 * A window or file has an entry in the table of communicators, which is found by its handle. A
 * handle without an entry (invalid, or made before recording) is never passed to MPI. */

static void fill_rma(const struct pw_mpi_call *c, int rc, const struct pw_mpi_comm *window,
                     struct pw_record *record)
{
    record->comm.peer = window ? pw_mpi_world_rank(window, c->dest) : -1;
    if (rc == MPI_SUCCESS && c->dest != MPI_PROC_NULL)
        pw_mpi_one_sided_bytes(c, record);
}

void pw_mpi_after_RMA(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *window = pw_mpi_comm_known(c->comm);
    struct pw_record record;
    pw_mpi_base_record(c, window, rc, &record);
    fill_rma(c, rc, window, &record);
    pw_mpi_write(c, &record);
}

void pw_mpi_after_IRMA(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *window = pw_mpi_comm_known(c->comm);
    struct pw_record own;
    struct pw_record *record = pw_mpi_open_record(c, rc, window, pw_mpi_handles.comm_null, &own);
    fill_rma(c, rc, window, record);
    pw_mpi_close_record(c, record, &own);
}

void pw_mpi_after_WIN_FENCE(struct pw_mpi_call *c, int rc)
{
    struct pw_mpi_comm *window = pw_mpi_comm_known(c->comm);
    struct pw_record record;
    pw_mpi_base_record(c, window, rc, &record);
    record.comm.seq = window ? pw_mpi_comm_count(window, 0) : 0;
    pw_mpi_write(c, &record);
}

/* A call on a window or file for which only the handle is recorded. */
void pw_mpi_after_KNOWN_HANDLE(struct pw_mpi_call *c, int rc)
{
    pw_mpi_record(c, pw_mpi_comm_known(c->comm), rc);
}

void pw_mpi_after_WIN_TARGET(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *window = pw_mpi_comm_known(c->comm);
    struct pw_record *record = pw_mpi_place(c, window, rc);
    if (!record)
        return;
    record->comm.peer = window ? pw_mpi_world_rank(window, c->dest) : -1;
    pw_mpi_commit(c, record);
}

void pw_mpi_after_NEWWIN(struct pw_mpi_call *c, int rc)
{
    MPI_Group group;
    struct pw_mpi_comm *parent = pw_mpi_call_comm(c, rc);
    pw_mpi_record(c, parent, rc);
    note_child(c, rc, parent);
    if (rc == MPI_SUCCESS && pw_pmpi.Win_get_group(c->made.win, &group) == MPI_SUCCESS)
        pw_mpi_group_add(c->thread, PW_MPI_WIN_KEY(c->made.win), group, "window");
}

/* ---- files ---- */

void pw_mpi_after_NEWFILE(struct pw_mpi_call *c, int rc)
{
    MPI_Group group;
    char name[256];
    pw_mpi_record(c, pw_mpi_call_comm(c, rc), rc);
    if (rc != MPI_SUCCESS || pw_pmpi.File_get_group(c->made.file, &group) != MPI_SUCCESS)
        return;
    pw_mpi_copy_text(c, name, sizeof(name));
    pw_mpi_group_add(c->thread, PW_MPI_FILE_KEY(c->made.file), group, name);
}

void pw_mpi_io_bytes(struct pw_record *record, int64_t bytes)
{
    if (strstr(pw_op_info(record->op)->name, "write"))
        record->comm.sent_bytes = bytes;
    else
        record->comm.recv_bytes = bytes;
}

void pw_mpi_after_IO(struct pw_mpi_call *c, int rc)
{
    struct pw_record record;
    pw_mpi_base_record(c, pw_mpi_comm_known(c->comm), rc, &record);
    if (rc == MPI_SUCCESS)
        pw_mpi_io_bytes(&record, pw_mpi_status_bytes(c->status));
    pw_mpi_write(c, &record);
}

void pw_mpi_after_IIO(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *file = pw_mpi_comm_known(c->comm);
    struct pw_record own;
    struct pw_record *record = pw_mpi_open_record(c, rc, file, pw_mpi_handles.comm_null, &own);
    pw_mpi_close_record(c, record, &own);
}
