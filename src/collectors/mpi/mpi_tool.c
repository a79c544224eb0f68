/* Turns the MPI wrappers' records into rows; see mpi_tool.h. */
#include "collectors/mpi/mpi_tool.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/ops.h"

enum { MAX_COMMS = 1 << 20, MAX_THREADS = 1 << 16, MAX_MEMBERS = 1 << 24 };

/* A communicator as far as its records have told. */
struct comm {
    struct pw_row_comms row;
    int32_t *members; /* until they are complete */
    int32_t known;
};

/* The last Wait or Test of a thread: what it completed follows it with the same end. */
struct wait {
    int64_t start, end;
    uint64_t end_ticks;
};

struct state {
    struct pw_rankfile *file;
    struct comm *comms;
    uint32_t ncomms, capacity;
    uint32_t base, epoch; /* row of the current process's communicator 0 */
    struct wait *waits;
    uint32_t nwaits;
    int64_t sync_first_ns, sync_ns, sync_wait_ns, syncs, sync_messages, sync_collectives;
};

static void *create(struct pw_rankfile *file)
{
    struct state *s = calloc(1, sizeof(*s));
    if (s)
        s->file = file;
    return s;
}

static void follow_process(struct state *s, const struct pw_origin *origin)
{
    if (origin->epoch != s->epoch) {
        s->epoch = origin->epoch;
        s->base = s->ncomms;
    }
}

/* The entry of the process's communicator `index`, made when it is new. NULL when there are too
 * many. */
static struct comm *comm_at(struct state *s, uint32_t index)
{
    uint64_t row = (uint64_t)s->base + index;
    if (row >= MAX_COMMS)
        return NULL;
    if (row >= s->capacity) {
        uint32_t capacity = s->capacity ? s->capacity : 16;
        while (capacity <= row)
            capacity *= 2;
        struct comm *comms = realloc(s->comms, capacity * sizeof(*comms));
        if (!comms)
            return NULL;
        memset(comms + s->capacity, 0, (capacity - s->capacity) * sizeof(*comms));
        s->comms = comms;
        s->capacity = capacity;
    }
    if (row >= s->ncomms)
        s->ncomms = (uint32_t)row + 1;
    return &s->comms[row];
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

static void fill_times(struct state *s, const struct pw_record *record,
                       const struct pw_origin *origin, struct pw_row_comm_event *row)
{
    struct wait *wait = wait_of(s, origin->thread);
    row->inside_ns = row->end - row->start;
    if (pw_op_info(record->op)->cls == PW_CLASS_WAIT && wait)
        *wait = (struct wait){row->start, row->end, record->end};
    if (!(record->flags & PW_FLAG_NONBLOCKING))
        return;
    /* `begun` is in units of 16 ticks; the tick's length is that of the whole operation. */
    uint64_t ticks = record->end - record->start;
    double rate = ticks ? (double)(row->end - row->start) / (double)ticks : 0;
    row->inside_ns = (int64_t)((double)record->comm.begun * 16 * rate);
    /* Ticks, for the map to ns may have been refined since the Wait's own record. */
    if (wait && wait->end_ticks == record->end && wait->start >= row->start) {
        row->end = wait->end;
        row->wait_start = wait->start;
        row->inside_ns += wait->end - wait->start;
    }
}

static void record_comm(struct state *s, const struct pw_record *record,
                        const struct pw_origin *origin)
{
    struct pw_row_comm_event row = {
        .start = origin->start,
        .end = origin->end,
        .op = record->op < PW_OP_COUNT ? record->op : PW_OP_None,
        .source = PW_SOURCE_MPI,
        .flags = record->flags,
        .comm = -1,
        .seq = record->comm.seq,
        .sent_bytes = record->comm.sent_bytes,
        .recv_bytes = record->comm.recv_bytes,
        .peer = record->comm.peer,
        .tag = record->comm.tag,
        .thread = origin->thread,
        .request = record->comm.request,
        .stack = pw_origin_stack(origin, record->stack),
    };
    fill_times(s, record, origin, &row);
    struct comm *comm = record->comm.comm == UINT32_MAX ? NULL : comm_at(s, record->comm.comm);
    if (comm) {
        row.comm = (int32_t)(comm - s->comms);
        if (pw_op_info(row.op)->cls == PW_CLASS_COLL && row.seq >= comm->row.collectives)
            comm->row.collectives = row.seq + 1;
    }
    pw_rankfile_append(s->file, PW_TABLE_comm_event, &row);
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
    comm->row.source = PW_SOURCE_MPI;
    if (record->def.name)
        comm->row.name = pw_origin_name(origin, record->def.name);
}

static void write_members(struct state *s, struct comm *comm)
{
    comm->row.first_member = pw_rankfile_rows(s->file, PW_TABLE_member);
    for (int32_t i = 0; i < comm->known; i++) {
        struct pw_row_member row = {comm->members[i]};
        pw_rankfile_append(s->file, PW_TABLE_member, &row);
    }
    free(comm->members);
    comm->members = NULL;
}

/* Of both groups; 0 for what no program of ours wrote. */
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
    if (!comm->members)
        comm->members = calloc((size_t)all, sizeof(*comm->members));
    for (uint32_t r = 0; r < record->members.nruns && r < PW_RUNS_PER_RECORD && comm->members; r++)
        for (int32_t i = 0; i < record->members.runs[r].count && comm->known < all; i++)
            comm->members[comm->known++] =
                /* Unsigned: a run that nobody of ours wrote may overflow. */
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

static void note_state(struct state *s, const struct pw_record *record)
{
    if (record->mpi.state == PW_MPI_FOREIGN)
        pw_say("the program uses an MPI that is not Open MPI: it runs, but its MPI calls are not "
               "recorded");
    if (record->mpi.state == PW_MPI_BEGAN)
        s->sync_first_ns = record->mpi.sync_ns;
    s->sync_ns += record->mpi.sync_ns;
    s->sync_messages += record->mpi.sync_messages;
    s->sync_collectives += record->mpi.sync_collectives;
    s->sync_wait_ns += record->mpi.sync_wait_ns;
}

static void record(void *state, const struct pw_record *record, const struct pw_origin *origin)
{
    struct state *s = state;
    follow_process(s, origin);
    switch (record->type) {
    case PW_REC_COMM:
        record_comm(s, record, origin);
        break;
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
        note_state(s, record);
        break;
    }
}

static void finish(void *state, int64_t end_ns)
{
    struct state *s = state;
    (void)end_ns;
    for (uint32_t i = 0; i < s->ncomms; i++)
        pw_rankfile_append(s->file, PW_TABLE_comms, &s->comms[i].row);
    pw_rankfile_overhead(s->file, "clock_sync", (double)s->sync_ns, "ns");
    pw_rankfile_overhead(s->file, "clock_sync_first", (double)s->sync_first_ns, "ns");
    pw_rankfile_overhead(s->file, "clock_sync_wait", (double)s->sync_wait_ns, "ns");
    pw_rankfile_overhead(s->file, "clock_syncs", (double)s->syncs, "syncs");
    pw_rankfile_overhead(s->file, "clock_sync_messages", (double)s->sync_messages, "messages");
    pw_rankfile_overhead(s->file, "clock_sync_collectives", (double)s->sync_collectives, "calls");
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
    free(s);
}

const struct pw_collector pw_collector_mpi = {
    .name = "mpi",
    .activity = PW_ACTIVITY_MPI,
    .first_type = PW_REC_COMM,
    .last_type = PW_REC_MPI_STATE,
    .create = create,
    .record = record,
    .finish = finish,
    .destroy = destroy,
};
