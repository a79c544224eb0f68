/* The out-of-line classes of wrapped calls; see mpi_classes.h. */
#include "collectors/mpi/mpi_classes.h"

#include <string.h>

#include "collectors/mpi/mpi_request.h"

static _Atomic uint32_t next_request = 1;

static bool is_rooted(uint16_t op)
{
    enum pw_op_shape shape;
    switch (op) {
#define PW_OP(name, class, shape_, factor, level) \
    case PW_OP_##name:                            \
        shape = PW_SHAPE_##shape_;                \
        break;
#include "core/ops.def"
#undef PW_OP
    default:
        return false;
    }
    return shape == PW_SHAPE_FROM_ROOT || shape == PW_SHAPE_TO_ROOT;
}

/* Fills a collective's fields of `record`. */
static void describe_collective(struct pw_mpi_call *c, int rc, struct pw_record *record)
{
    struct pw_mpi_comm *comm = pw_mpi_comm_find(c->thread, c->comm);
    int64_t sent = 0, received = 0;
    uint8_t flags = c->flags | pw_mpi_error_flag(rc);
    int32_t root = -1;
    if (comm && rc == MPI_SUCCESS)
        pw_mpi_collective_bytes(c, comm, &sent, &received);
    if (comm && is_rooted(c->op) && !comm->inter) {
        root = pw_mpi_world_rank(comm, c->root);
        flags |= c->root == comm->my_rank ? PW_FLAG_ROOT : 0;
    }
    *record = (struct pw_record){
        .start = c->start,
        .end = c->end,
        .type = PW_REC_COMM,
        .flags = flags,
        .op = c->op,
        .comm = {.comm = comm ? comm->index : UINT32_MAX,
                 .peer = root,
                 .seq = comm ? comm->collectives++ : 0,
                 .sent_bytes = sent,
                 .recv_bytes = received},
    };
}

static void write_record(struct pw_thread *thread, const struct pw_record *record)
{
    struct pw_record *slot = pw_ring_reserve(&thread->ring, record->end);
    if (!slot)
        return;
    *slot = *record;
    pw_probe_commit(thread);
}

void pw_mpi_after_COLL(struct pw_mpi_call *c, int rc)
{
    struct pw_record record;
    describe_collective(c, rc, &record);
    write_record(c->thread, &record);
}

static uint32_t duration_16(const struct pw_mpi_call *c, uint8_t *flags)
{
    uint64_t units = (c->end - c->start) >> 4;
    if (units <= UINT32_MAX)
        return (uint32_t)units;
    *flags |= PW_FLAG_SATURATED;
    return UINT32_MAX;
}

/* Keeps `record` until its request completes. */
static void begin_request(struct pw_mpi_call *c, const struct pw_record *record)
{
    struct pw_mpi_request request = {
        .handle = c->request,
        .record = *record,
        .comm = c->comm,
    };
    if (c->op == PW_OP_Comm_idup) {
        request.newcomm = c->newcomm_at;
        request.newcomm_f = c->newcomm_f;
    }
    request.record.flags |= PW_FLAG_NONBLOCKING;
    request.record.comm.begun = duration_16(c, &request.record.flags);
    request.record.comm.request = atomic_fetch_add_explicit(&next_request, 1, memory_order_relaxed);
    if (c->request == pw_mpi_handles.request_null || pw_mpi_request_add(&request))
        write_record(c->thread, &request.record);
}

void pw_mpi_after_ICOLL(struct pw_mpi_call *c, int rc)
{
    struct pw_record record;
    describe_collective(c, rc, &record);
    if (rc == MPI_SUCCESS)
        begin_request(c, &record);
    else
        write_record(c->thread, &record);
}

static int64_t sent_bytes(const struct pw_mpi_call *c, int rc)
{
    return rc == MPI_SUCCESS && c->dest != MPI_PROC_NULL ? c->scount * pw_mpi_type_size(c->stype)
                                                         : 0;
}

void pw_mpi_after_SEND(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *comm = pw_mpi_comm_find(c->thread, c->comm);
    int32_t peer = comm ? pw_mpi_world_rank(comm, c->dest) : -1;
    pw_mpi_record(c, comm, pw_mpi_error_flag(rc), peer, c->stag, 0, sent_bytes(c, rc), 0);
}

/* What a completed receive's status tells: the sender, the tag and the bytes that really came. */
static void read_status(struct pw_record *record, const struct pw_mpi_comm *comm,
                        const MPI_Status *status)
{
    MPI_Count bytes = 0;
    int cancelled = 0;
    if (!status)
        return;
    if (pw_pmpi.Test_cancelled(status, &cancelled) == MPI_SUCCESS && cancelled)
        record->flags |= PW_FLAG_CANCELLED;
    else if (pw_pmpi.Get_elements_x(status, pw_mpi_handles.byte, &bytes) != MPI_SUCCESS ||
             bytes < 0)
        bytes = 0;
    record->comm.peer = comm ? pw_mpi_world_rank(comm, status->MPI_SOURCE) : -1;
    record->comm.tag = status->MPI_TAG;
    record->comm.recv_bytes = bytes;
}

static void record_receive(struct pw_mpi_call *c, int rc, uint8_t flags)
{
    const struct pw_mpi_comm *comm = pw_mpi_comm_find(c->thread, c->comm);
    struct pw_record record = {
        .start = c->start,
        .end = c->end,
        .type = PW_REC_COMM,
        .flags = c->flags | flags | pw_mpi_error_flag(rc),
        .op = c->op,
        .comm = {.comm = comm ? comm->index : UINT32_MAX, .peer = -1, .tag = c->rtag},
    };
    if (rc == MPI_SUCCESS)
        read_status(&record, comm, c->status);
    write_record(c->thread, &record);
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

static void begin_message(struct pw_mpi_call *c, int rc, int peer, int tag, int64_t sent)
{
    const struct pw_mpi_comm *comm = pw_mpi_comm_find(c->thread, c->comm);
    struct pw_record record = {
        .start = c->start,
        .end = c->end,
        .type = PW_REC_COMM,
        .flags = c->flags | pw_mpi_error_flag(rc),
        .op = c->op,
        .comm = {.comm = comm ? comm->index : UINT32_MAX,
                 .peer = comm ? pw_mpi_world_rank(comm, peer) : -1,
                 .tag = tag,
                 .sent_bytes = sent},
    };
    if (rc == MPI_SUCCESS)
        begin_request(c, &record);
    else
        write_record(c->thread, &record);
}

void pw_mpi_after_ISEND(struct pw_mpi_call *c, int rc)
{
    begin_message(c, rc, c->dest, c->stag, sent_bytes(c, rc));
}

void pw_mpi_after_IRECV(struct pw_mpi_call *c, int rc)
{
    begin_message(c, rc, c->src, c->rtag, 0);
}

/* Ends a request taken from the table at c->end. */
static void complete(struct pw_mpi_call *c, struct pw_mpi_request *request,
                     const MPI_Status *status)
{
    request->record.end = c->end;
    if (request->record.op == PW_OP_Irecv)
        read_status(&request->record, pw_mpi_comm_find(c->thread, request->comm), status);
    write_record(c->thread, &request->record);
    if (request->newcomm)
        pw_mpi_comm_add(c->thread, *request->newcomm, request->comm);
    else if (request->newcomm_f)
        pw_mpi_comm_add(c->thread, pw_pmpi.Comm_f2c(*request->newcomm_f), request->comm);
    pw_mpi_request_free(request);
}

/* A completed request's handle has become MPI_REQUEST_NULL. */
static bool is_done(const struct pw_mpi_call *c, int i)
{
    if (c->saved[i] == pw_mpi_handles.request_null)
        return false;
    MPI_Request now = c->requests ? c->requests[i] : pw_pmpi.Request_f2c(c->requests_f[i]);
    return now == pw_mpi_handles.request_null;
}

/* The Wait's or Test's own record; it comes before those of what it completed, whose `end` is
 * equal, so that the reader knows when the call that completed them began. */
static void record_wait(struct pw_mpi_call *c, int rc, uint32_t completed)
{
    bool is_test = c->op == PW_OP_Test || c->op == PW_OP_Testall || c->op == PW_OP_Testany ||
                   c->op == PW_OP_Testsome;
    int level = completed ? 0 : is_test ? 2 : 1;
    if (level <= pw_mpi_level)
        pw_mpi_record(c, NULL, pw_mpi_error_flag(rc), -1, 0, completed, 0, 0);
}

/* Completes what is done among saved[first .. first+count); the status of saved[i] is
 * status[i * step], none where status is NULL. */
static void complete_range(struct pw_mpi_call *c, int rc, const MPI_Status *status, int step)
{
    struct pw_mpi_request *done = NULL, **tail = &done;
    uint32_t completed = 0;
    for (int i = 0; i < c->nrequests; i++) {
        struct pw_mpi_request *request = is_done(c, i) ? pw_mpi_request_take(c->saved[i]) : NULL;
        if (!request)
            continue;
        request->position = i;
        *tail = request;
        tail = &request->next;
        completed++;
    }
    *tail = NULL;
    record_wait(c, rc, completed);
    while (done) {
        struct pw_mpi_request *next = done->next;
        complete(c, done, status ? &status[done->position * step] : NULL);
        done = next;
    }
}

void pw_mpi_after_WAIT_ONE(struct pw_mpi_call *c, int rc)
{
    complete_range(c, rc, c->status, 0);
}

void pw_mpi_after_WAIT_ANY(struct pw_mpi_call *c, int rc)
{
    complete_range(c, rc, c->status, 0);
}

void pw_mpi_after_WAIT_ALL(struct pw_mpi_call *c, int rc)
{
    complete_range(c, rc, c->status, 1);
}

/* Statuses are in the order of `indices`, which are the only requests that can be done. */
void pw_mpi_after_WAIT_SOME(struct pw_mpi_call *c, int rc)
{
    int count = c->outcount > 0 && c->outcount != MPI_UNDEFINED ? c->outcount : 0;
    int base = c->requests ? 0 : 1; /* Fortran counts from 1 */
    uint32_t completed = 0;
    for (int i = 0; i < count; i++)
        completed += is_done(c, c->indices[i] - base);
    record_wait(c, rc, completed);
    for (int i = 0; i < count; i++) {
        int at = c->indices[i] - base;
        struct pw_mpi_request *request = is_done(c, at) ? pw_mpi_request_take(c->saved[at]) : NULL;
        if (request)
            complete(c, request, c->status ? &c->status[i] : NULL);
    }
}

void pw_mpi_after_REQUEST_FREE(struct pw_mpi_call *c, int rc)
{
    struct pw_mpi_request *request =
        rc == MPI_SUCCESS && c->nrequests ? pw_mpi_request_take(c->saved[0]) : NULL;
    if (!request)
        return;
    request->record.flags |= PW_FLAG_FREED;
    request->record.end = c->end;
    write_record(c->thread, &request->record);
    pw_mpi_request_free(request);
}

static void record_comm_call(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *comm = pw_mpi_comm_find(c->thread, c->comm);
    pw_mpi_record(c, comm, pw_mpi_error_flag(rc), -1, 0, 0, 0, 0);
}

void pw_mpi_after_NEWCOMM(struct pw_mpi_call *c, int rc)
{
    record_comm_call(c, rc);
    if (rc != MPI_SUCCESS)
        return;
    MPI_Comm made = c->newcomm_at ? *c->newcomm_at : pw_pmpi.Comm_f2c(*c->newcomm_f);
    pw_mpi_comm_add(c->thread, made, c->comm);
}

void pw_mpi_after_INEWCOMM(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *comm = pw_mpi_comm_find(c->thread, c->comm);
    struct pw_record record = {
        .start = c->start,
        .end = c->end,
        .type = PW_REC_COMM,
        .flags = c->flags,
        .op = c->op,
        .comm = {.comm = comm ? comm->index : UINT32_MAX, .peer = -1},
    };
    if (rc == MPI_SUCCESS)
        begin_request(c, &record);
}

void pw_mpi_after_NAMECOMM(struct pw_mpi_call *c, int rc)
{
    char text[MPI_MAX_OBJECT_NAME + 1];
    if (rc != MPI_SUCCESS || !c->text)
        return;
    size_t length = c->text_size ? (size_t)c->text_size : strlen(c->text);
    length = length < sizeof(text) ? length : sizeof(text) - 1;
    while (c->text_size && length && c->text[length - 1] == ' ')
        length--;
    memcpy(text, c->text, length);
    text[length] = '\0';
    pw_mpi_comm_name(c->thread, c->comm, text);
}

void pw_mpi_before_FREECOMM(struct pw_mpi_call *c)
{
    const struct pw_mpi_comm *comm = pw_mpi_comm_find(c->thread, c->comm);
    c->nrequests = comm ? (int)comm->index : -1;
    if (comm)
        pw_mpi_comm_remove(c->comm);
}

void pw_mpi_after_FREECOMM(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm freed = {.index = (uint32_t)c->nrequests};
    pw_mpi_record(c, c->nrequests >= 0 ? &freed : NULL, pw_mpi_error_flag(rc), -1, 0, 0, 0, 0);
}

void pw_mpi_after_FREETYPE(struct pw_mpi_call *c, int rc)
{
    (void)c;
    if (rc == MPI_SUCCESS)
        pw_mpi_type_forget();
}
