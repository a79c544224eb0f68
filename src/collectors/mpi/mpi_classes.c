/* The shared parts of the functions that run after a call, and the classes of messages,
 * communicators, one-sided operations, files, collectives and completions; see mpi_classes.h. */
#include "collectors/mpi/mpi_classes.h"

#include <string.h>

/* Writes a copy of `record`, unless the call is quiet. */
static void mpi_write(const struct pw_mpi_call *c, const struct pw_record *record)
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

/* Returns the entry of the call's communicator. Registers it when the call succeeded; otherwise
 * only looks it up, because an invalid handle must not be passed to MPI. */
static struct pw_mpi_comm *mpi_call_comm(const struct pw_mpi_call *c, int rc)
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

/* Returns the record of a call that begins a request, filled with pw_mpi_base_record(). It is in
 * the table, to be completed later; or it is `own`, when the call failed or is complete already.
 * `comm` is the communicator in which the source of a received message is looked up. */
static struct pw_record *mpi_open_record(const struct pw_mpi_call *c, int rc,
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

/* Writes `record` if it is `own`; otherwise it is in the table and is written when its request
 * completes. */
static void mpi_close_record(const struct pw_mpi_call *c, const struct pw_record *record,
                             const struct pw_record *own)
{
    if (record == own)
        mpi_write(c, own);
}

/* ---- messages ---- */

static int64_t sent_bytes(const struct pw_mpi_call *c, int rc)
{
    return rc == MPI_SUCCESS && c->dest != MPI_PROC_NULL ? c->scount * pw_mpi_type_size(c->stype)
                                                         : 0;
}

void pw_mpi_after_SEND(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *comm = mpi_call_comm(c, rc);
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
    const struct pw_mpi_comm *comm = mpi_call_comm(c, rc);
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
    struct pw_record own, *record = mpi_open_record(c, rc, message->comm, c->comm, &own);
    record->comm.peer = message->peer;
    record->comm.tag = message->tag;
    record->comm.sent_bytes = rc == MPI_SUCCESS ? message->bytes : 0;
    mpi_close_record(c, record, &own);
}

void pw_mpi_after_ISEND(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *comm = mpi_call_comm(c, rc);
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
    const struct pw_mpi_comm *comm = mpi_call_comm(c, rc);
    const bool is_from_nobody = rc == MPI_SUCCESS && pw_mpi_is_complete(c);
    const struct pw_mpi_message message = {.comm = comm,
                                           .peer = comm ? pw_mpi_world_rank(comm, c->src) : -1,
                                           .tag = is_from_nobody ? MPI_ANY_TAG : c->rtag};
    pw_mpi_begun_message(c, rc, &message);
}

/* Writes the record of the send of an MPI_Isendrecv, which ends at c->end. The entry's own record
 * is that of the receive. */
static void mpi_write_sent_part(struct pw_mpi_call *c, const struct pw_mpi_request *request)
{
    struct pw_record record = request->record;
    record.flags &= (uint8_t)~PW_FLAG_RECV_PART;
    record.end = c->end;
    record.comm.peer = request->sent_peer;
    record.comm.tag = request->sent_tag;
    record.comm.sent_bytes = request->sent_bytes;
    mpi_write(c, &record);
}

/* One request has two records: the entry has the record of the receive, and the values for that of
 * the send. */
void pw_mpi_after_ISENDRECV(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *comm = mpi_call_comm(c, rc);
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
    mpi_write_sent_part(c, filled);
    mpi_write(c, record);
}

/* ---- persistent requests ---- */

/* The times are set by MPI_Start. */
static struct pw_mpi_request *mpi_keep_record(struct pw_mpi_call *c, int rc,
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
    const struct pw_mpi_comm *comm = mpi_call_comm(c, rc);
    struct pw_mpi_request *request = mpi_keep_record(c, rc, comm);
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
    const struct pw_mpi_comm *comm = mpi_call_comm(c, rc);
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
    mpi_write(c, &record);
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
            pw_mpi_count_probe(c);
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
    mpi_write(c, &record);
}

void pw_mpi_after_IMRECV(struct pw_mpi_call *c, int rc)
{
    pw_mpi_key handle = take_message(c);
    struct pw_record own;
    struct pw_record *record = mpi_open_record(c, rc, pw_mpi_comm_known(handle), handle, &own);
    record->comm.tag = rc == MPI_SUCCESS && pw_mpi_is_complete(c) ? MPI_ANY_TAG : 0;
    mpi_close_record(c, record, &own);
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
    struct pw_mpi_comm *parent = mpi_call_comm(c, rc);
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
    struct pw_mpi_comm *parent = mpi_call_comm(c, rc);
    struct pw_record own;
    struct pw_record *record = mpi_open_record(c, rc, parent, c->comm, &own);
    note_child(c, rc, parent);
    mpi_close_record(c, record, &own);
    if (rc == MPI_SUCCESS && pw_mpi_is_complete(c))
        add_made(c);
}

/* For communicators, windows and files. */
void pw_mpi_after_FREEGROUP(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm freed = {.index = (uint32_t)c->freed};
    pw_mpi_record(c, c->freed >= 0 ? &freed : NULL, rc);
}

/* Copies the call's text argument, cut to `size` bytes. */
static void mpi_copy_text(const struct pw_mpi_call *c, char *text, size_t size)
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
    mpi_copy_text(c, text, sizeof(text));
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
    pw_mpi_record(c, mpi_call_comm(c, rc), rc);
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
    mpi_write(c, &record);
}

void pw_mpi_after_IRMA(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *window = pw_mpi_comm_known(c->comm);
    struct pw_record own;
    struct pw_record *record = mpi_open_record(c, rc, window, pw_mpi_handles.comm_null, &own);
    fill_rma(c, rc, window, record);
    mpi_close_record(c, record, &own);
}

void pw_mpi_after_WIN_FENCE(struct pw_mpi_call *c, int rc)
{
    struct pw_mpi_comm *window = pw_mpi_comm_known(c->comm);
    struct pw_record record;
    pw_mpi_base_record(c, window, rc, &record);
    record.comm.seq = window ? pw_mpi_comm_count(window, 0) : 0;
    mpi_write(c, &record);
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
    struct pw_mpi_comm *parent = mpi_call_comm(c, rc);
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
    pw_mpi_record(c, mpi_call_comm(c, rc), rc);
    if (rc != MPI_SUCCESS || pw_pmpi.File_get_group(c->made.file, &group) != MPI_SUCCESS)
        return;
    mpi_copy_text(c, name, sizeof(name));
    pw_mpi_group_add(c->thread, PW_MPI_FILE_KEY(c->made.file), group, name);
}

/* Sets the bytes of a file operation as received (read) or sent (written). */
static void mpi_io_bytes(struct pw_record *record, int64_t bytes)
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
        mpi_io_bytes(&record, pw_mpi_status_bytes(c->status));
    mpi_write(c, &record);
}

void pw_mpi_after_IIO(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *file = pw_mpi_comm_known(c->comm);
    struct pw_record own;
    struct pw_record *record = mpi_open_record(c, rc, file, pw_mpi_handles.comm_null, &own);
    mpi_close_record(c, record, &own);
}

/* Collectives, and the calls that complete requests. */

static bool is_rooted(uint16_t op)
{
    enum pw_op_shape shape = pw_op_info(op)->shape;
    return shape == PW_SHAPE_FROM_ROOT || shape == PW_SHAPE_TO_ROOT;
}

/* Sets the root. On an intercommunicator it is a rank of the remote group, or this rank (MPI_ROOT),
 * or another rank of this group, which is not known (MPI_PROC_NULL). */
static void fill_root(const struct pw_mpi_call *c, const struct pw_mpi_comm *comm,
                      struct pw_record *record)
{
    bool mine = c->root == (comm->inter ? MPI_ROOT : comm->my_rank);
    record->comm.peer = mine ? pw_mpi_comm_world_rank() : pw_mpi_world_rank(comm, c->root);
    record->flags |= mine ? PW_FLAG_ROOT : 0;
}

/* The number and the signature of a collective. */
struct counted {
    uint32_t seq, signature;
};

static struct counted count(const struct pw_mpi_call *c, int rc, struct pw_mpi_comm *comm)
{
    if (!comm)
        return (struct counted){0};
    if (rc != MPI_SUCCESS)
        pw_mpi_comm_lose_order(comm, PW_CALLORDER_FAILED);
    const uint32_t signature = rc == MPI_SUCCESS ? pw_mpi_signature_of(c, comm) : 0;
    return (struct counted){pw_mpi_comm_count(comm, signature), signature};
}

/* Adds the fields of a collective to a base record. */
static void fill_collective(struct pw_mpi_call *c, int rc, bool large, struct pw_mpi_comm *comm,
                            struct pw_record *record)
{
    if (!comm)
        return;
    if (rc == MPI_SUCCESS)
        pw_mpi_collective_bytes(c, large, comm, record);
    if (is_rooted(c->op))
        fill_root(c, comm, record);
}

static void record_collective(struct pw_mpi_call *c, int rc, bool large)
{
    struct pw_mpi_comm *comm = mpi_call_comm(c, rc);
    const struct counted counted = count(c, rc, comm);
    struct pw_record *record = pw_mpi_place(c, comm, rc);
    if (!record)
        return;
    fill_collective(c, rc, large, comm, record);
    record->comm.seq = counted.seq;
    record->comm.signature = counted.signature;
    pw_mpi_commit(c, record);
}

static void begin_collective(struct pw_mpi_call *c, int rc, bool large)
{
    struct pw_mpi_comm *comm = mpi_call_comm(c, rc);
    struct pw_record own, *record = mpi_open_record(c, rc, comm, c->comm, &own);
    fill_collective(c, rc, large, comm, record);
    const struct counted counted = count(c, rc, comm);
    record->comm.seq = counted.seq;
    record->comm.signature = counted.signature;
    mpi_close_record(c, record, &own);
}

/* Makes the entry of a persistent collective, which gets its sequence number at MPI_Start. */
static void keep_collective(struct pw_mpi_call *c, int rc, bool large)
{
    struct pw_mpi_comm *comm = mpi_call_comm(c, rc);
    struct pw_mpi_request *request = mpi_keep_record(c, rc, comm);
    if (request)
        fill_collective(c, rc, large, comm, &request->record);
}

#define AFTER(CLASS, function, large)                        \
    void pw_mpi_after_##CLASS(struct pw_mpi_call *c, int rc) \
    {                                                        \
        function(c, rc, large);                              \
    }
AFTER(COLL, record_collective, false)
AFTER(COLL_EVEN, record_collective, false)
AFTER(COLL_ROOTED, record_collective, false)
AFTER(COLL_C, record_collective, true)
AFTER(ICOLL, begin_collective, false)
AFTER(ICOLL_C, begin_collective, true)
AFTER(COLL_INIT, keep_collective, false)
AFTER(COLL_INIT_C, keep_collective, true)

/* As pw_mpi_comm_known() for a receive's communicator; fast when it is the one that was used
 * last. */
static const struct pw_mpi_comm *comm_of(const struct pw_mpi_request *request)
{
    const struct pw_mpi_last *last = &pw_mpi_last;
    if (last->handle == request->comm && last->epoch == pw_mpi_epoch_now())
        return last->comm;
    return pw_mpi_comm_known(request->comm);
}

/* Completes a request at c->end. A persistent one stays in the table. */
static void complete(struct pw_mpi_call *c, struct pw_mpi_request *request,
                     const MPI_Status *status)
{
    const uint32_t state = request->state, cls = state & PW_REQUEST_CLASS;
    if (__builtin_expect(state & PW_REQUEST_TWO_PARTS, 0))
        mpi_write_sent_part(c, request);
    if (!(state & PW_REQUEST_PERSISTENT))
        pw_mpi_request_has_ended();
    struct pw_record *slot = state & PW_REQUEST_QUIET
                                 ? NULL
                                 : pw_ring_reserve(&c->thread->ring, c->end, PW_LOST_COMMUNICATION);
    if (slot) {
        *slot = request->record;
        slot->end = c->end;
        if (cls == PW_CLASS_RECV)
            pw_mpi_read_status(slot, comm_of(request), status);
        else if (cls == PW_CLASS_IO)
            mpi_io_bytes(slot, pw_mpi_status_bytes(status));
        pw_probe_commit_record(c->thread, slot);
    }
    if (state & PW_REQUEST_PERSISTENT) {
        request->state = state & ~(uint32_t)PW_REQUEST_ACTIVE;
        return;
    }
    if (state & PW_REQUEST_MAKES_COMM)
        pw_mpi_comm_add_new(c->thread, request->newcomm ? *request->newcomm : request->made,
                            request->comm, PW_OP_None);
    pw_mpi_request_free(request);
}

/* How a class of calls returns what it completed; a constant in each pw_mpi_after_CLASS(). */
struct completion {
    bool has_flag;   /* a Test: it completed something only if its flag is set */
    bool has_index;  /* only the request at the returned index */
    int status_step; /* distance to the next request's status; 0: there is one status */
};

/* Whether the call's results show that request i has completed. Needed for persistent requests,
 * whose handle does not change at completion. For MPI_Waitsome and MPI_Testsome, called only for
 * the requests that they list. */
static bool says_done(const struct pw_mpi_call *c, int rc, struct completion how, int i)
{
    return rc == MPI_SUCCESS && (!how.has_flag || c->flag) && (!how.has_index || c->index == i);
}

static inline MPI_Request request_now(const struct pw_mpi_call *c, int i)
{
    return c->requests[i];
}

/* Whether the operation ended with the call that began it, and was recorded there
 * (pw_mpi_is_complete()). It still counts as completed by this call. */
static inline bool was_complete(const struct pw_mpi_call *c, int i)
{
    return pw_mpi_was_complete(c->saved[i].handle, pw_mpi_handles.request_empty) &&
           request_now(c, i) == pw_mpi_handles.request_null && pw_mpi_level() > 0;
}

/* Returns the operation of saved[i] if it has completed, and removes it from the table unless it is
 * persistent; else NULL. The handle of a completed request that is not persistent has become
 * MPI_REQUEST_NULL. */
static inline struct pw_mpi_request *take_done(const struct pw_mpi_call *c, int rc,
                                               struct completion how, int i)
{
    MPI_Request before = c->saved[i].handle, now;
    if (before == pw_mpi_handles.request_null ||
        pw_mpi_was_complete(before, pw_mpi_handles.request_empty))
        return NULL;
    now = request_now(c, i);
    if (now == pw_mpi_handles.request_null)
        return pw_mpi_request_take(before, c->start);
    struct pw_mpi_request *persistent = pw_mpi_request_find(before);
    return persistent && (persistent->state & PW_REQUEST_ACTIVE) && says_done(c, rc, how, i)
               ? persistent
               : NULL;
}

/* Whether the test says that none of its requests has completed. One whose requests are all
 * inactive says that they have. */
static bool found_nothing(const struct pw_mpi_call *c, int rc)
{
    return rc == MPI_SUCCESS && (c->op == PW_OP_Testsome ? c->outcount == 0 : !c->flag);
}

/* Writes the record of the Wait or Test. It comes before the records of the operations that it
 * completed, which have the same `end`; so the reader knows when the completing call began. */
static void record_wait(struct pw_mpi_call *c, int rc, bool is_test, uint32_t completed)
{
    int level = completed ? 0 : is_test ? 2 : 1;
    if (completed)
        c->quiet = false; /* the operations were begun before the pause, so they are recorded */
    struct pw_record *record =
        level <= pw_mpi_level() || completed ? pw_mpi_place(c, NULL, rc) : NULL;
    if (!record) {
        if (level == 2 && !c->quiet && found_nothing(c, rc))
            pw_mpi_count_poll(c);
        return;
    }
    record->comm.seq = completed;
    pw_mpi_commit(c, record);
}

static __attribute__((noinline)) uint32_t take_unusual(const struct pw_mpi_call *c, int rc,
                                                       struct completion how, int i)
{
    struct pw_mpi_request *request = take_done(c, rc, how, i);
    uint32_t completed = request || was_complete(c, i);
    c->saved[i].entry = request;
    return completed;
}

/* Replaces saved[i] by the entry of request i (NULL: none). Returns 1 if the call completed the
 * request. The usual case: it did, and the caller is C. */
PW_ALWAYS_INLINE uint32_t take_at(const struct pw_mpi_call *c, int rc, struct completion how, int i)
{
    MPI_Request before = c->saved[i].handle;
    struct pw_mpi_request *row = pw_mpi_request_row(before);
    if (__builtin_expect(c->requests[i] != pw_mpi_handles.request_null, 0))
        return take_unusual(c, rc, how, i);
    if (pw_mpi_was_complete(before, pw_mpi_handles.request_empty)) {
        c->saved[i].entry = NULL;
        return pw_mpi_level() > 0;
    }
    if (__builtin_expect(!(row->state & PW_REQUEST_OPEN) || row->handle != before, 0))
        return take_unusual(c, rc, how, i);
    c->saved[i].entry = pw_mpi_request_take(before, c->start);
    return 1;
}

static void complete_at(struct pw_mpi_call *c, int i, const MPI_Status *status)
{
    struct pw_mpi_request *request = c->saved[i].entry;
    if (request)
        complete(c, request, status);
}

/* ---- the usual requests of a call ----
 *
 * These are operations that ended with the call that began them, and messages in the front of the
 * table: nearly all that programs wait for. Their records are written directly into the ring, after
 * that of the call, and all are published at once. */

/* Whether the ring has consecutive room for the call's record and one of each request. The ring's
 * limit is never beyond the place where it wraps around. */
static bool can_be_usual(const struct pw_mpi_call *c)
{
    const struct pw_ring *ring = &c->thread->ring;
    return !c->quiet && pw_mpi_level() > 0 && ring->head < ring->limit &&
           ring->limit - ring->head > (uint64_t)c->nrequests + 1 &&
           !atomic_load_explicit(&pw_gate->left_open, memory_order_relaxed);
}

/* Writes the completed record of `row` without the values of its status, and frees the row. */
PW_ALWAYS_INLINE void write_usual(struct pw_record *slot, struct pw_mpi_request *row, uint64_t end)
{
    pw_ring_prefetch(slot);
    *slot = row->record;
    slot->end = end;
    row->state = 0;
}

static __attribute__((noinline)) void read_unusual_status(struct pw_record *slot,
                                                          const struct pw_mpi_request *row,
                                                          const MPI_Status *status)
{
    pw_mpi_read_status(slot, comm_of(row), status);
}

/* Adds the values of the status. The source is looked up only when the receive did not name it. */
PW_ALWAYS_INLINE void read_usual_status(struct pw_record *slot, const struct pw_mpi_request *row,
                                        const MPI_Status *status)
{
    const MPI_Status told = pw_mpi_status_at(status);
    if (__builtin_expect(pw_mpi_status_cancelled(&told) || row->record.comm.peer < 0, 0)) {
        read_unusual_status(slot, row, status);
        return;
    }
    slot->comm.recv_bytes = pw_mpi_status_count(&told);
    slot->comm.tag = told.MPI_TAG;
}

/* Processes the requests from the first one until one is not usual. Returns how many it processed.
 * Adds the completed ones to *completed, and writes their records from *slot on. `step` is the
 * status_step of struct completion. */
static int complete_all_usual(const struct pw_mpi_call *c, int step, struct pw_record **slot,
                              uint32_t *completed)
{
    enum { SENT = PW_CLASS_SEND | PW_REQUEST_OPEN | PW_REQUEST_HELD };
    enum { RECEIVED = PW_CLASS_RECV | PW_REQUEST_NEEDS_STATUS | PW_REQUEST_OPEN | PW_REQUEST_HELD };
    const MPI_Request null = pw_mpi_handles.request_null, empty = pw_mpi_handles.request_empty;
    const union pw_mpi_saved *before = c->saved;
    const MPI_Request *now = c->requests;
    const MPI_Status *status = c->status;
    const uint64_t end = c->end;
    const int n = c->nrequests;
    struct pw_record *next = *slot;
    int i = 0, receives = 0, nulls = 0;
    for (; i < n && now[i] == null; i++) {
        const MPI_Request handle = before[i].handle;
        if (pw_mpi_was_complete(handle, empty))
            continue;
        struct pw_mpi_request *row = pw_mpi_request_row(handle);
        if (row->handle == handle && row->state == RECEIVED && status) {
            write_usual(next, row, end);
            read_usual_status(next++, row, status + (size_t)i * (size_t)step);
            receives++;
        } else if (row->handle == handle && row->state == SENT) {
            write_usual(next++, row, end);
        } else if (handle == null) {
            nulls++;
        } else {
            break;
        }
    }
    if (receives)
        pw_mpi_request_count(&pw_mpi_request_counts.receives, -receives);
    *slot = next;
    *completed = (uint32_t)(i - nulls);
    return i;
}

static void complete_range(struct pw_mpi_call *c, int rc, struct completion how)
{
    struct pw_ring *ring = &c->thread->ring;
    struct pw_record *own = &ring->records[ring->head & ring->mask], *next = own + 1;
    uint32_t completed = 0;
    int usual = can_be_usual(c) ? complete_all_usual(c, how.status_step, &next, &completed) : 0;
    for (int i = usual; i < c->nrequests; i++)
        completed += take_at(c, rc, how, i);
    if (next > own + 1) {
        pw_mpi_base_record(c, NULL, rc, own);
        own->comm.seq = completed;
        pw_probe_commit_many(c->thread, (uint64_t)(next - own));
    } else {
        record_wait(c, rc, how.has_flag, completed);
    }
    for (int i = usual; i < c->nrequests; i++)
        complete_at(c, i, c->status ? &c->status[i * how.status_step] : NULL);
}

void pw_mpi_after_WAIT_ONE(struct pw_mpi_call *c, int rc)
{
    complete_range(c, rc, (struct completion){.status_step = 0});
}

void pw_mpi_after_TEST_ONE(struct pw_mpi_call *c, int rc)
{
    complete_range(c, rc, (struct completion){.has_flag = true});
}

void pw_mpi_after_WAIT_ANY(struct pw_mpi_call *c, int rc)
{
    complete_range(c, rc, (struct completion){.has_index = true});
}

void pw_mpi_after_TEST_ANY(struct pw_mpi_call *c, int rc)
{
    complete_range(c, rc, (struct completion){.has_flag = true, .has_index = true});
}

void pw_mpi_after_WAIT_ALL(struct pw_mpi_call *c, int rc)
{
    complete_range(c, rc, (struct completion){.status_step = 1});
}

void pw_mpi_after_TEST_ALL(struct pw_mpi_call *c, int rc)
{
    complete_range(c, rc, (struct completion){.has_flag = true, .status_step = 1});
}

/* For MPI_Waitsome and MPI_Testsome: the completed requests are listed in `indices`, and the
 * statuses are in that order. */
static void complete_listed(struct pw_mpi_call *c, int rc, bool is_test)
{
    const struct completion how = {.status_step = 1};
    int count = c->outcount < c->nrequests ? c->outcount : c->nrequests;
    uint32_t completed = 0;
    for (int k = 0; k < count; k++)
        if (c->indices[k] >= 0 && c->indices[k] < c->nrequests)
            completed += take_at(c, rc, how, c->indices[k]);
    record_wait(c, rc, is_test, completed);
    for (int k = 0; k < count; k++)
        if (c->indices[k] >= 0 && c->indices[k] < c->nrequests)
            complete_at(c, c->indices[k], c->status ? &c->status[k] : NULL);
}

void pw_mpi_after_WAIT_SOME(struct pw_mpi_call *c, int rc)
{
    complete_listed(c, rc, false);
}

void pw_mpi_after_TEST_SOME(struct pw_mpi_call *c, int rc)
{
    complete_listed(c, rc, true);
}

void pw_mpi_after_REQUEST_FREE(struct pw_mpi_call *c, int rc)
{
    struct pw_mpi_request *request = rc == MPI_SUCCESS && c->nrequests
                                         ? pw_mpi_request_take(c->saved[0].handle, c->start)
                                         : NULL;
    if (!request)
        return;
    c->quiet = false;
    if (!(request->state & PW_REQUEST_PERSISTENT))
        pw_mpi_request_has_ended();
    if ((request->state & (PW_REQUEST_PERSISTENT | PW_REQUEST_ACTIVE)) != PW_REQUEST_PERSISTENT) {
        request->record.flags |= PW_FLAG_FREED;
        request->record.end = c->end;
        mpi_write(c, &request->record);
    }
    pw_mpi_request_free(request);
}
