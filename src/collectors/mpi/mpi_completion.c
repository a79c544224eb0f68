/* Collectives, and the calls that complete requests; see mpi_classes.h. */
#include "collectors/mpi/mpi_classes.h"
#include "collectors/mpi/mpi_request.h"

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
    struct pw_mpi_comm *comm = pw_mpi_call_comm(c, rc);
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
    struct pw_mpi_comm *comm = pw_mpi_call_comm(c, rc);
    struct pw_record own, *record = pw_mpi_open_record(c, rc, comm, c->comm, &own);
    fill_collective(c, rc, large, comm, record);
    const struct counted counted = count(c, rc, comm);
    record->comm.seq = counted.seq;
    record->comm.signature = counted.signature;
    pw_mpi_close_record(c, record, &own);
}

/* Makes the entry of a persistent collective, which gets its sequence number at MPI_Start. */
static void keep_collective(struct pw_mpi_call *c, int rc, bool large)
{
    struct pw_mpi_comm *comm = pw_mpi_call_comm(c, rc);
    struct pw_mpi_request *request = pw_mpi_keep_record(c, rc, comm);
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
        pw_mpi_write_sent_part(c, request);
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
            pw_mpi_io_bytes(slot, pw_mpi_status_bytes(status));
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
        pw_mpi_write(c, &request->record);
    }
    pw_mpi_request_free(request);
}
