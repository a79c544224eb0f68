/* Module mpi, tool half: turns the wrappers' records into rows of /events/comm, /comms,
 * /comm_members, /clock and /unrecorded. Records are not trusted. */
#include "collectors/modules.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/mpi/mpi_open.h"
#include "core/log.h"
#include "core/ops.h"

enum { MAX_COMMS = 1 << 20, MAX_THREADS = 1 << 16, MAX_MEMBERS = 1 << 24, KEPT_MEMBERS = 1 << 20 };

/* A communicator, filled as its records come. */
struct comm {
    struct pw_row_comms row;
    int32_t file_row; /* of /comms */
    int32_t *members; /* stored when they are complete and there is room; else NULL */
    int32_t known;
    uint64_t handle; /* the application's handle, which may have been freed */
    int64_t unnumbered;
};

/* The last Wait or Test of a thread. Records of the operations that it completed follow it and have
 * the same end. */
struct wait {
    int64_t start, end;
    uint64_t end_ticks;
};

struct state {
    struct pw_rankfile *file;
    struct comm *comms;
    uint32_t ncomms, capacity;
    uint32_t base, epoch; /* row of the current process's communicator 0 */
    int64_t kept_members;
    struct wait *waits;
    uint32_t nwaits;
    struct pw_mpi_pairs *pairs; /* NULL: memory is short */
    bool was_paused;            /* recording has been paused */
    int64_t sync_first_ns, sync_ns, sync_wait_ns, syncs, sync_messages, sync_collectives;
};

/* Adds a row of /unrecorded with `certain` 1. */
static void write_unrecorded(struct pw_rankfile *file, enum pw_unrecorded reason, int64_t time,
                             int64_t count)
{
    const struct pw_row_unrecorded row = {
        .time = time, .reason = (uint8_t)reason, .certain = 1, .count = count};
    pw_rankfile_append(file, PW_TABLE_unrecorded, &row);
}

/* Adds a row for processes that were spawned: they are ranks of another MPI_COMM_WORLD, which is
 * not recorded. All ranks of the parents' group have the communicator; only the first one adds the
 * row. */
static void note_spawned(struct pw_rankfile *file, const struct pw_row_comms *comm, uint16_t op,
                         int64_t time)
{
    if ((op == PW_OP_Comm_spawn || op == PW_OP_Comm_spawn_multiple) && comm->remote_size > 0 &&
        comm->my_rank == 0)
        write_unrecorded(file, PW_UNRECORDED_SPAWNED, time, comm->remote_size);
}

static void *create(struct pw_rankfile *file)
{
    struct state *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->file = file;
    s->pairs = calloc(1, sizeof(*s->pairs));
    return s;
}

static void follow_process(struct state *s, const struct pw_origin *origin)
{
    if (origin->epoch != s->epoch) {
        s->epoch = origin->epoch;
        s->base = s->ncomms;
        if (s->pairs)
            memset(s->pairs, 0, sizeof(*s->pairs));
    }
}

/* Makes the entry `row`, and those before it. NULL when there are too many. */
static struct comm *make_comm(struct state *s, uint64_t row)
{
    if (row >= MAX_COMMS)
        return NULL;
    struct comm *comms = pw_budget_grow(pw_rankfile_borrow_budget(s->file), s->comms,
                                        sizeof(*comms), (uint32_t)row, &s->capacity);
    if (!comms)
        return NULL;
    s->comms = comms;
    while (row >= s->ncomms)
        s->comms[s->ncomms++].file_row = pw_rankfile_new_comm(s->file);
    return &s->comms[row];
}

/* Returns the entry of the process's communicator `index`, and makes it when it is new; NULL when
 * there are too many. */
static inline struct comm *comm_at(struct state *s, uint32_t index)
{
    const uint64_t row = (uint64_t)s->base + index;
    return row < s->ncomms ? &s->comms[row] : make_comm(s, row);
}

static struct wait *wait_of(struct state *s, uint16_t thread)
{
    if (thread >= s->nwaits) {
        struct wait *waits = realloc(s->waits, (thread + 1u) * sizeof(*waits));
        if (!waits)
            return NULL;
        memset(waits + s->nwaits, 0, (thread + 1u - s->nwaits) * sizeof(*waits));
        s->waits = waits;
        s->nwaits = thread + 1u;
    }
    return &s->waits[thread];
}

/* Fills in the times of an operation that a later call completed. */
static void fill_nonblocking(const struct wait *wait, const struct pw_record *record,
                             struct pw_row_comm_event *row)
{
    /* `begun` is in units of 16 ticks; converted to ns in proportion to the whole operation. */
    uint64_t ticks = record->end - record->start;
    double rate = ticks ? (double)(row->end - row->start) / (double)ticks : 0;
    row->inside_ns = (int64_t)((double)record->comm.begun * 16 * rate);
    /* Compares ticks, not ns: the map to ns may have changed since the record of the Wait. */
    if (wait && wait->end_ticks == record->end && wait->start >= row->start) {
        row->end = wait->end;
        row->wait_start = wait->start;
        row->inside_ns += wait->end - wait->start;
    }
}

/* Fills in the times of an operation of class `cls`. */
static void fill_times(struct state *s, const struct pw_record *record,
                       const struct pw_origin *origin, enum pw_op_class cls,
                       struct pw_row_comm_event *row)
{
    const bool is_wait = cls == PW_CLASS_WAIT;
    const bool is_nonblocking = record->flags & PW_FLAG_NONBLOCKING;
    struct wait *wait = is_wait || is_nonblocking ? wait_of(s, origin->thread) : NULL;
    row->start = origin->start;
    row->end = origin->end;
    row->inside_ns = origin->end - origin->start;
    row->wait_start = 0;
    if (is_wait && wait)
        *wait = (struct wait){origin->start, origin->end, record->end};
    if (is_nonblocking)
        fill_nonblocking(wait, record, row);
}

/* Whether it is not known with whom the message was exchanged, or whether it was: it failed, or was
 * cancelled, or its receive was freed before it had completed, or had another sender than the ranks
 * of the communicator. A receive from MPI_PROC_NULL has a tag that no message has. */
static bool is_uncertain(const struct pw_record *record, bool is_receive)
{
    if (record->flags & (PW_FLAG_ERROR | PW_FLAG_CANCELLED))
        return true;
    return is_receive &&
           ((record->flags & PW_FLAG_FREED) ||
            (record->comm.comm != UINT32_MAX && record->comm.peer < 0 && record->comm.tag >= 0));
}

static void count_message(struct pw_mpi_pairs *pairs, const struct pw_record *record,
                          enum pw_op_class cls)
{
    const bool is_receive = cls == PW_CLASS_RECV || (record->flags & PW_FLAG_RECV_PART);
    if (is_uncertain(record, is_receive))
        pairs->is_short = true;
    if (record->comm.comm == UINT32_MAX || record->comm.peer < 0)
        return;
    struct pw_mpi_pair *pair = pw_mpi_pairs_at(pairs, record->comm.comm, record->comm.peer);
    if (pair && is_receive)
        pair->received++;
    else if (pair)
        pair->sent++;
}

static_assert(sizeof(struct pw_row_comm_event) == 88, "record_comm() fills in all fields");

/* Fills in the row in its place, field by field: a copy of the row would have to wait until its
 * fields are in the cache. */
static void record_comm(struct state *s, const struct pw_record *record,
                        const struct pw_origin *origin)
{
    struct comm *comm = record->comm.comm == UINT32_MAX ? NULL : comm_at(s, record->comm.comm);
    const enum pw_op_class cls = pw_op_info(record->op)->cls;
    struct pw_row_comm_event unkept, *row = pw_rankfile_add(s->file, PW_TABLE_comm_event);
    row = row ? row : &unkept;
    row->op = record->op < PW_OP_COUNT ? record->op : PW_OP_None;
    row->source = PW_SOURCE_MPI;
    row->flags = record->flags;
    row->comm = comm ? comm->file_row : -1;
    row->seq = record->comm.seq;
    row->sent_bytes = record->comm.sent_bytes;
    row->recv_bytes = record->comm.recv_bytes;
    row->peer = record->comm.peer;
    row->tag = cls == PW_CLASS_COLL ? 0 : record->comm.tag;
    row->thread = origin->thread;
    row->request = record->comm.request;
    row->stack = pw_origin_stack(origin, record->stack);
    fill_times(s, record, origin, cls, row);
    if (comm && cls == PW_CLASS_COLL)
        pw_count_collective(&comm->row, record->comm.seq);
    else if (comm && (cls == PW_CLASS_COMM || cls == PW_CLASS_IO))
        comm->unnumbered += pw_live_is_counted(record->op);
    if ((cls == PW_CLASS_SEND || cls == PW_CLASS_RECV) && s->pairs &&
        !pw_live_is_partitioned(record->op))
        count_message(s->pairs, record, cls);
}

static void define_comm(struct state *s, const struct pw_record *record,
                        const struct pw_origin *origin)
{
    struct comm *comm = comm_at(s, record->def.comm);
    if (!comm)
        return;
    comm->row.uid = record->def.uid;
    comm->row.size = record->def.size;
    comm->row.remote_size = record->def.remote_size;
    comm->row.my_rank = record->def.my_rank;
    comm->handle = record->def.handle;
    comm->row.source = PW_SOURCE_MPI;
    if (record->def.name)
        comm->row.name = pw_origin_name(origin, record->def.name);
    note_spawned(s->file, &comm->row, record->op, origin->start);
}

static void write_members(struct state *s, struct comm *comm)
{
    comm->row.first_member = pw_rankfile_rows(s->file, PW_TABLE_member);
    for (int32_t i = 0; i < comm->known; i++) {
        struct pw_row_member row = {comm->members[i]};
        pw_rankfile_append(s->file, PW_TABLE_member, &row);
    }
    /* Needed for the ranks that open calls name; the memory is limited. */
    s->kept_members += comm->known;
    if (s->kept_members > KEPT_MEMBERS) {
        s->kept_members -= comm->known;
        free(comm->members);
        comm->members = NULL;
    }
}

/* Returns the number of members of both groups; 0 when the sizes are impossible. */
static int32_t member_count(const struct comm *comm)
{
    int32_t local = comm->row.size, remote = comm->row.remote_size;
    return local > 0 && local <= MAX_MEMBERS && remote >= 0 && remote <= MAX_MEMBERS
               ? local + remote
               : 0;
}

static void add_members(struct state *s, const struct pw_record *record)
{
    struct comm *comm = comm_at(s, record->members.comm);
    int32_t all = comm ? member_count(comm) : 0;
    if (all <= 0)
        return;
    if (comm->known == all)
        return;
    const int64_t size = (int64_t)sizeof(*comm->members) * all;
    if (!comm->members && pw_budget_take(pw_rankfile_borrow_budget(s->file), size))
        comm->members = calloc((size_t)all, sizeof(*comm->members));
    for (uint32_t r = 0; r < record->members.nruns && r < PW_RUNS_PER_RECORD && comm->members; r++)
        for (int32_t i = 0; i < record->members.runs[r].count && comm->known < all; i++)
            comm->members[comm->known++] =
                /* Unsigned: a run in a damaged record may overflow. */
                (int32_t)((uint32_t)record->members.runs[r].first +
                          (uint32_t)i * (uint32_t)record->members.runs[r].stride);
    if (comm->members && comm->known == all)
        write_members(s, comm);
}

static void record_knot(struct state *s, const struct pw_record *record)
{
    struct pw_row_clock row = {record->clock.local_ns, record->clock.offset_ns,
                               record->clock.error_ns};
    pw_rankfile_append_knot(s->file, &row);
    s->syncs++;
}

static void note_state(struct state *s, const struct pw_record *record,
                       const struct pw_origin *origin)
{
    if (record->mpi.state == PW_MPI_FOREIGN) {
        pw_say("the ABI of the program's MPI library is not known: the program runs, but its MPI "
               "calls "
               "are not recorded");
        write_unrecorded(s->file, PW_UNRECORDED_OTHER_MPI, origin->start, 1);
    }
    if (record->mpi.state == PW_MPI_BEGAN)
        s->sync_first_ns = record->mpi.sync_ns;
    s->sync_ns += record->mpi.sync_ns;
    s->sync_messages += record->mpi.sync_messages;
    s->sync_collectives += record->mpi.sync_collectives;
    s->sync_wait_ns += record->mpi.sync_wait_ns;
}

/* Not inline, so that record() needs few registers for the most frequent type. */
static __attribute__((noinline)) void record_other(struct state *s, const struct pw_record *record,
                                                   const struct pw_origin *origin)
{
    switch (record->type) {
    case PW_REC_COMM_DEF:
        define_comm(s, record, origin);
        break;
    case PW_REC_COMM_MEMBERS:
        add_members(s, record);
        break;
    case PW_REC_CLOCK:
        record_knot(s, record);
        break;
    default:
        note_state(s, record, origin);
        break;
    }
}

static void record(void *state, const struct pw_record *record, const struct pw_origin *origin)
{
    struct state *s = state;
    follow_process(s, origin);
    if (record->type == PW_REC_COMM)
        record_comm(s, record, origin);
    else
        record_other(s, record, origin);
}

/* ---- calls that are open ---- */

/* Whether the function has a communicator, window or file among its parameters. */
static bool has_handle(uint32_t op)
{
    enum pw_op_class cls = pw_op_info(op)->cls;
    if (op == PW_OP_Abort)
        return true;
    return cls != PW_CLASS_WAIT && cls != PW_CLASS_SYNC && cls != PW_CLASS_LOCAL &&
           op != PW_OP_Mrecv && op != PW_OP_Imrecv && op != PW_OP_Comm_create_from_group &&
           op != PW_OP_Intercomm_create_from_groups;
}

/* Whether the function has a rank among its parameters: a partner, target or root. */
static bool has_peer(uint32_t op)
{
    const struct pw_op_info *info = pw_op_info(op);
    switch (info->cls) {
    case PW_CLASS_COLL:
        return info->shape == PW_SHAPE_FROM_ROOT || info->shape == PW_SHAPE_TO_ROOT;
    case PW_CLASS_SEND:
    case PW_CLASS_RECV:
    case PW_CLASS_PROBE:
        return op != PW_OP_Mrecv && op != PW_OP_Imrecv;
    default:
        return op == PW_OP_Win_lock || op == PW_OP_Win_unlock || op == PW_OP_Win_flush ||
               op == PW_OP_Win_flush_local;
    }
}

/* Returns the newest row with this handle, or -1: MPI reuses freed handles. */
static int64_t find_handle(const struct state *s, uint64_t handle)
{
    for (int64_t row = (int64_t)s->ncomms - 1; handle && row >= (int64_t)s->base; row--)
        if (s->comms[row].handle == handle)
            return row;
    return -1;
}

/* Returns the world rank of a rank of the communicator (of the remote group, if there is one). */
static int32_t peer_of(const struct comm *comm, int32_t rank)
{
    int32_t remote = comm->row.remote_size, first = remote ? comm->row.size : 0;
    int32_t size = remote ? remote : comm->row.size;
    if (rank < 0 || rank >= size || !comm->members || comm->known != member_count(comm))
        return -1;
    return comm->members[first + rank];
}

/* Returns how many collectives this rank has completed, or begun if they are nonblocking. */
static int64_t reached(const struct state *s, const struct pw_segment_shared *segment, int64_t row)
{
    int64_t index = row - s->base;
    int64_t recorded = s->comms[row].row.collectives;
    if (!segment || index < 0 || index >= PW_SHARED_COMMS)
        return recorded;
    int64_t counted = atomic_load(&segment->collectives[index]);
    return counted > recorded ? counted : recorded;
}

/* Fills the row of a completion call of one request, whose open call shows the request's
 * operation. */
static void open_wait(const struct state *s, const struct pw_shown_call *call,
                      struct pw_row_open *row)
{
    uint64_t index = s->base + call->handle;
    int is_collective = pw_op_info(call->awaited)->cls == PW_CLASS_COLL;
    if (call->awaited == PW_OP_None || call->awaited >= PW_OP_COUNT)
        return;
    row->awaited = (uint16_t)call->awaited;
    row->peer = call->peer >= 0 ? call->peer : -1;
    row->tag = is_collective ? 0 : call->tag;
    if (call->handle >= UINT32_MAX || index >= s->ncomms)
        return;
    row->comm = s->comms[index].file_row;
    row->seq = is_collective ? call->tag : -1;
}

static void open_call(void *state, const struct pw_segment_shared *segment,
                      const struct pw_shown_call *call, struct pw_row_open *row)
{
    struct state *s = state;
    if (pw_op_info(call->op)->cls == PW_CLASS_WAIT) {
        open_wait(s, call, row);
        return;
    }
    int64_t found = has_handle(call->op) ? find_handle(s, call->handle) : -1;
    enum pw_op_class cls = pw_op_info(call->op)->cls;
    if (cls == PW_CLASS_SEND || cls == PW_CLASS_RECV || cls == PW_CLASS_PROBE ||
        call->op == PW_OP_Abort) /* its error code */
        row->tag = call->tag;
    if (found < 0)
        return;
    row->comm = s->comms[found].file_row;
    if (cls == PW_CLASS_COLL)
        row->seq = reached(s, segment, found);
    if (has_peer(call->op))
        row->peer = peer_of(&s->comms[found], call->peer);
}

/* Reads the hashes of the order. The program may count a collective meanwhile, and it stores the
 * hash of a collective before it counts it: a hash is taken only when it is known of which number
 * it is. */
static void read_order(const struct pw_segment_shared *segment, int64_t index,
                       struct pw_live_comm *out)
{
    const struct pw_comm_order *order = &segment->callorders[index];
    uint64_t hashes[PW_CALLORDER_LEVELS];
    const uint32_t before = atomic_load(&segment->collectives[index]);
    for (unsigned level = 0; level < PW_CALLORDER_LEVELS; level++)
        hashes[level] = atomic_load(&order->hash[level]);
    const uint32_t after = atomic_load(&segment->collectives[index]);
    out->order_state = (int)atomic_load(&order->state);
    for (unsigned level = 0; level < PW_CALLORDER_LEVELS; level++) {
        const uint32_t count = pw_callorder_at(before, level);
        if (count && count == pw_callorder_at(after + 1, level))
            out->order[out->norder++] = (struct pw_live_order){count, hashes[level]};
    }
}

/* Whether every call of this process has been recorded since its start. */
static bool is_whole(const struct state *s, const struct pw_segment_shared *segment,
                     const struct pw_live *live)
{
    return segment && !live->dropped && segment->level >= 1 && !segment->control.starts_paused &&
           !atomic_load(&segment->control.committed) && !atomic_load(&segment->no_ring) &&
           !s->was_paused;
}

static void add_live_comm(const struct state *s, const struct pw_segment_shared *segment,
                          int64_t row, struct pw_live *live)
{
    const struct comm *comm = &s->comms[row];
    const int64_t index = row - s->base;
    struct pw_live_comm shown = {
        .my_rank = -1,
        .uid = comm->row.uid,
        .size = comm->row.size + comm->row.remote_size,
        .reached = reached(s, segment, row),
        .unnumbered = is_whole(s, segment, live) ? comm->unnumbered : -1,
    };
    if (comm->row.remote_size)
        shown.order_state = PW_CALLORDER_INTER;
    else if (live->wants_order && segment && index >= 0 && index < PW_ORDERED_COMMS)
        read_order(segment, index, &shown);
    if (comm->row.uid)
        pw_live_add_comm(live, &shown, pw_rankfile_borrow_text(s->file, comm->row.name));
}

static int64_t find_file_row(const struct state *s, int32_t file_row)
{
    for (int64_t row = (int64_t)s->ncomms - 1; file_row >= 0 && row >= 0; row--)
        if (s->comms[row].file_row == file_row)
            return row;
    return -1;
}

static uint64_t uid_of(const void *state, uint32_t index)
{
    const struct state *s = state;
    const uint64_t row = (uint64_t)s->base + index;
    return row < s->ncomms ? s->comms[row].row.uid : 0;
}

/* Adds the two parts of an MPI_Sendrecv, as if it waited for two requests. Its peer is the source.
 */
static void add_both(const struct state *s, uint16_t index, struct pw_live *live)
{
    const struct pw_live_thread *t = &live->threads[index];
    const int64_t row = find_file_row(s, t->comm_row);
    if ((t->op != PW_OP_Sendrecv && t->op != PW_OP_Sendrecv_replace) || row < 0 ||
        live->nrequests + 2 > PW_LIVE_REQUESTS)
        return;
    struct pw_live_request part = {
        .thread = index,
        .op = PW_OP_Recv,
        .peer = t->peer,
        .tag = t->tag,
        .count = 1,
        .comm_uid = t->comm_uid,
        .seq = -1,
    };
    live->requests[live->nrequests++] = part;
    part.op = PW_OP_Send;
    part.peer = peer_of(&s->comms[row], t->dest);
    part.tag = -1;
    live->requests[live->nrequests++] = part;
}

/* Adds what is known of the open requests, and of the messages: only when every message has been
 * recorded since the start. */
static void add_open(struct state *s, const struct pw_segment_shared *segment, struct pw_live *live)
{
    const struct pw_mpi_uids uids = {s, uid_of};
    if (!s->pairs || !atomic_load(&segment->requests.front))
        return;
    pw_mpi_open_add(segment, s->pairs, &uids, live);
    for (size_t i = 0; live->requests && i < live->nthreads; i++)
        add_both(s, (uint16_t)i, live);
    if (!is_whole(s, segment, live))
        live->pairs_known = 0;
}

/* Adds communicators to the live data: those that threads use now, MPI_COMM_WORLD, and the newest
 * others. */
static void add_live(void *state, const struct pw_segment_shared *segment, struct pw_live *live)
{
    struct state *s = state;
    for (size_t i = 0; i < live->nthreads; i++) {
        int64_t row = find_file_row(s, live->threads[i].comm_row);
        if (row < 0)
            continue;
        live->threads[i].comm_uid = s->comms[row].row.uid;
        add_live_comm(s, segment, row, live);
    }
    if (s->base < s->ncomms)
        add_live_comm(s, segment, s->base, live);
    for (int64_t row = (int64_t)s->ncomms - 1; row > (int64_t)s->base; row--)
        if (s->comms[row].row.size + s->comms[row].row.remote_size > 1)
            add_live_comm(s, segment, row, live);
    if (segment)
        add_open(s, segment, live);
}

static void finish(void *state, int64_t end_ns)
{
    struct state *s = state;
    (void)end_ns;
    for (uint32_t i = 0; i < s->ncomms; i++)
        pw_rankfile_set_comm(s->file, s->comms[i].file_row, &s->comms[i].row);
    pw_rankfile_overhead(s->file, "clock_sync", (double)s->sync_ns, "ns");
    pw_rankfile_overhead(s->file, "clock_sync_first", (double)s->sync_first_ns, "ns");
    pw_rankfile_overhead(s->file, "clock_sync_wait", (double)s->sync_wait_ns, "ns");
    pw_rankfile_overhead(s->file, "clock_syncs", (double)s->syncs, "syncs");
    pw_rankfile_overhead(s->file, "clock_sync_messages", (double)s->sync_messages, "messages");
    pw_rankfile_overhead(s->file, "clock_sync_collectives", (double)s->sync_collectives, "calls");
}

static void watch(void *state, const struct pw_record *record, const struct pw_origin *origin)
{
    struct state *s = state;
    (void)origin;
    s->was_paused |= (record->flags & PW_WINDOW_STATE) == PW_WINDOW_CLOSED;
}

static void destroy(void *state)
{
    struct state *s = state;
    if (!s)
        return;
    for (uint32_t i = 0; i < s->ncomms; i++)
        free(s->comms[i].members);
    free(s->comms);
    free(s->waits);
    free(s->pairs);
    free(s);
}

const struct pw_module pw_module_mpi = {
    PW_MODULE_RECORDS("mpi", PW_ACTIVITY_MPI, PW_REC_COMM, PW_REC_MPI_STATE),
    PW_MODULE_FUNCTIONS(create, record, finish, destroy),
    .watch = watch,
    .watches = PW_WATCH(PW_REC_WINDOW),
    .open = open_call,
    .live = add_live,
};
