/* Makes records of the rows of a rank's file, one function per table, and metrics of its samples;
 * see rankout.h. */
#include <errno.h>
#include <inttypes.h>
#include <otf2/otf2.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/names.h"
#include "archive/rankout.h"
#include "core/limits.h"
#include "core/ops.h"
#include "core/tables.h"

/* The columns of the tables of samples that are metrics of an archive, with their names. A column
 * of -1 is not known, and is not written. Constants only. */

/* C(table, field, mode, unit, name). A metric of a GPU has "GPU N " before its name. */
#define PW_OTF2_COLUMNS(C)                                                              \
    C(process, cpu_user_ns, ACCUMULATED_START, "ns", "CPU time, user")                  \
    C(process, cpu_sys_ns, ACCUMULATED_START, "ns", "CPU time, system")                 \
    C(process, rss_bytes, ABSOLUTE_POINT, "bytes", "resident memory")                   \
    C(process, minor_faults, ACCUMULATED_START, "#", "minor faults")                    \
    C(process, major_faults, ACCUMULATED_START, "#", "major faults")                    \
    C(process, voluntary_cs, ACCUMULATED_START, "#", "context switches, voluntary")     \
    C(process, involuntary_cs, ACCUMULATED_START, "#", "context switches, involuntary") \
    C(process, runq_wait_ns, ACCUMULATED_START, "ns", "ready without a CPU")            \
    C(process, read_bytes, ACCUMULATED_START, "bytes", "bytes read")                    \
    C(process, write_bytes, ACCUMULATED_START, "bytes", "bytes written")                \
    C(process, threads, ABSOLUTE_POINT, "#", "threads")                                 \
    C(process, main_cpu_ns, ACCUMULATED_START, "ns", "CPU time, main thread")           \
    C(host, busy_ns, ACCUMULATED_START, "ns", "host, busy")                             \
    C(host, idle_ns, ACCUMULATED_START, "ns", "host, idle")                             \
    C(host, steal_ns, ACCUMULATED_START, "ns", "host, stolen")                          \
    C(host, throttled_ns, ACCUMULATED_START, "ns", "cgroup throttled")                  \
    C(gpu, sm_clock_mhz, ABSOLUTE_POINT, "MHz", "SM clock")                             \
    C(gpu, memory_clock_mhz, ABSOLUTE_POINT, "MHz", "memory clock")                     \
    C(gpu, power_mw, ABSOLUTE_POINT, "mW", "power")                                     \
    C(gpu, temperature_c, ABSOLUTE_POINT, "C", "temperature")                           \
    C(gpu, busy_percent, ABSOLUTE_POINT, "%", "use")                                    \
    C(gpu, memory_used_bytes, ABSOLUTE_POINT, "bytes", "memory used")

struct pw_otf2_column {
    int table;
    size_t offset, size;
    OTF2_MetricMode mode;
    const char *unit, *name;
};
extern const struct pw_otf2_column pw_otf2_columns[];
extern const size_t pw_otf2_ncolumns;

/* Metrics of what the program told, by profwrap.h. */
#define PW_OTF2_QUEUE "queue "
#define PW_OTF2_MEMORY "allocated memory "
#define PW_OTF2_WORK "work"
#define PW_OTF2_FLOPS "FLOPs"

const struct pw_otf2_column pw_otf2_columns[] = {
#define COLUMN(table, field, mode, unit, name)    \
    {PW_TABLE_##table,                            \
     offsetof(struct pw_row_##table, field),      \
     sizeof(((struct pw_row_##table *)0)->field), \
     OTF2_METRIC_##mode,                          \
     unit,                                        \
     name},
    PW_OTF2_COLUMNS(COLUMN)
#undef COLUMN
};
const size_t pw_otf2_ncolumns = sizeof(pw_otf2_columns) / sizeof(pw_otf2_columns[0]);

static void add_value(struct pw_otf2_rank *rank, uint32_t metric, int64_t time, int64_t number,
                      int is_real)
{
    int64_t at = pw_rankview_time(rank->view, time);
    if (at < rank->from || at >= rank->until)
        return;
    if (at < 0 || at > PW_LIMIT) {
        rank->left_out++;
        return;
    }
    const int64_t lane = pw_otf2_lane(rank, PW_OTF2_SAMPLES, 0, 0);
    const uint64_t location = pw_otf2_location_ref(rank->view->rank, (uint64_t)lane);
    size_t i = rank->first_metric; /* instances of this rank come after it */
    while (i < rank->defs->nmetrics &&
           !(rank->defs->metrics[i].is_instance && rank->defs->metrics[i].metric == metric))
        i++;
    if (i == rank->defs->nmetrics)
        pw_otf2_add_instance(rank->defs, metric, rank->group, location);
    const struct pw_otf2_record r = {
        .key = {lane, at, 0},
        .what = PW_OTF2_VALUE,
        .has = is_real ? PW_OTF2_IS_REAL : 0,
        .region = (uint32_t)i,
        .number = number,
    };
    pw_sorter_add(rank->rows, &r);
}

/* Adds the columns of a table. `prefix` is that of the metrics' names. Values below 0 are not
 * known. */
static void add_columns(struct pw_otf2_rank *rank, int table, const void *row, int64_t time,
                        const char *prefix)
{
    char name[96];
    for (size_t i = 0; i < pw_otf2_ncolumns; i++) {
        const struct pw_otf2_column *c = &pw_otf2_columns[i];
        int64_t number = 0;
        int32_t small = 0;
        if (c->table != table)
            continue;
        if (c->size == sizeof(small))
            memcpy(&small, (const char *)row + c->offset, sizeof(small));
        else
            memcpy(&number, (const char *)row + c->offset, sizeof(number));
        number += small;
        if (number < 0)
            continue;
        snprintf(name, sizeof(name), "%s%s", prefix, c->name);
        add_value(rank, pw_otf2_metric(rank->defs, name, c->unit, c->mode, OTF2_TYPE_INT64), time,
                  number, 0);
    }
}

static void take_process(void *context, const struct pw_rankview *view, const void *row)
{
    (void)view;
    add_columns(context, PW_TABLE_process, row, ((const struct pw_row_process *)row)->time, "");
}

static void take_host(void *context, const struct pw_rankview *view, const void *row)
{
    (void)view;
    add_columns(context, PW_TABLE_host, row, ((const struct pw_row_host *)row)->time, "");
}

static void take_gpu(void *context, const struct pw_rankview *view, const void *row)
{
    const struct pw_row_gpu *g = row;
    char prefix[32];
    (void)view;
    snprintf(prefix, sizeof(prefix), "GPU %d ", g->device);
    add_columns(context, PW_TABLE_gpu, row, g->time, prefix);
}

static void take_queue(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_otf2_rank *rank = context;
    const struct pw_row_queue *q = row;
    char name[160];
    snprintf(name, sizeof(name), PW_OTF2_QUEUE "%.120s", pw_rankview_text(view, q->queue));
    add_value(
        rank,
        pw_otf2_metric(rank->defs, name, "items", OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_INT64),
        q->time, q->size, 0);
}

static void take_memory(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_otf2_rank *rank = context;
    const struct pw_row_memory *m = row;
    char name[64] = PW_OTF2_MEMORY "of the host";
    (void)view;
    if (m->device >= 0)
        snprintf(name, sizeof(name), PW_OTF2_MEMORY "of device %d", m->device);
    if (m->total_bytes >= 0)
        add_value(
            rank,
            pw_otf2_metric(rank->defs, name, "bytes", OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_INT64),
            m->time, m->total_bytes, 0);
}

static void take_work(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_otf2_rank *rank = context;
    const struct pw_row_work *w = row;
    (void)view;
    add_value(rank,
              pw_otf2_metric(rank->defs, PW_OTF2_WORK, "units", OTF2_METRIC_RELATIVE_POINT,
                             OTF2_TYPE_INT64),
              w->time, w->amount, 0);
}

static void take_flops(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_otf2_rank *rank = context;
    const struct pw_row_flops *f = row;
    int64_t bits;
    (void)view;
    memcpy(&bits, &f->flops, sizeof(bits));
    add_value(rank,
              pw_otf2_metric(rank->defs, PW_OTF2_FLOPS, "FLOP", OTF2_METRIC_RELATIVE_POINT,
                             OTF2_TYPE_DOUBLE),
              f->time, bits, 1);
}

void pw_otf2_take_samples(struct pw_otf2_rank *rank)
{
    static const struct {
        int table;
        pw_row_visitor *visit;
    } tables[] = {
        {PW_TABLE_process, take_process}, {PW_TABLE_host, take_host},
        {PW_TABLE_gpu, take_gpu},         {PW_TABLE_queue, take_queue},
        {PW_TABLE_memory, take_memory},   {PW_TABLE_work, take_work},
        {PW_TABLE_flops, take_flops},
    };
    rank->first_metric = rank->defs->nmetrics;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !rank->err; i++)
        rank->unread |= pw_rankview_read(rank->view, tables[i].table, tables[i].visit, rank) != 0;
}

/* inside_ns is rounded down by less than 16 ticks of the clock, hence ROUNDING_NS. */
enum { ROUNDING_NS = 32 };

static uint32_t text_of(struct pw_otf2_rank *rank, uint32_t row)
{
    if (row >= rank->view->nstrings)
        return pw_otf2_string(rank->defs, "");
    if (rank->strings[row] == UINT32_MAX)
        rank->strings[row] = pw_otf2_string(rank->defs, pw_rankview_text(rank->view, row));
    return rank->strings[row];
}

/* Converts the times to the cluster clock, and tells whether they are in the part to write. Times
 * before 0 are not possible in OTF2. */
static int convert(struct pw_otf2_rank *rank, int64_t *start, int64_t *end)
{
    *start = pw_rankview_time(rank->view, *start);
    *end = pw_rankview_time(rank->view, *end);
    if (*start >= 0 && *end >= *start && *end <= PW_LIMIT)
        return *start < rank->until && *end >= rank->from;
    rank->left_out++;
    return 0;
}

/* Adds an interval. Longer ones come first among those that begin at the same time. */
static void add_interval(struct pw_otf2_rank *rank, struct pw_otf2_record *r, int64_t lane,
                         int64_t start, int64_t end)
{
    r->key[0] = lane;
    r->key[1] = start;
    r->key[2] = INT64_MAX - (end - start);
    r->end = end;
    pw_sorter_add(rank->rows, r);
}

static void add_point(struct pw_otf2_rank *rank, struct pw_otf2_record *r, int64_t lane,
                      int64_t time)
{
    r->key[0] = lane;
    r->key[1] = time;
    r->key[2] = 0;
    pw_sorter_add(rank->rows, r);
}

/* ---- communicators ---- */

/* Returns a world rank of /comm_members; -1: there is none. */
static int32_t member_at(const struct pw_otf2_rank *rank, int64_t at)
{
    return at >= 0 && (size_t)at < rank->nmembers && rank->members[at].world_rank < rank->nranks
               ? rank->members[at].world_rank
               : -1;
}

/* Sets the members from the file, where the communicator has them there. Those of an
 * intercommunicator are both sides, as in the merge: the side with the lower first rank comes
 * first, whichever side's file is read. OTF2 has a definition of its own for these, but its reader
 * for Python (3.0) does not read archives that have one. */
static void set_members(struct pw_otf2_rank *rank, struct pw_otf2_comm *comm,
                        const struct pw_row_comms *row)
{
    const int64_t n = (int64_t)row->size + row->remote_size;
    if (comm->members || row->size < 1 || row->remote_size < 0 || n > 1 << 26)
        return;
    comm->members = malloc((size_t)n * sizeof(*comm->members));
    if (!comm->members) {
        rank->err = -ENOMEM;
        return;
    }
    comm->size = (int32_t)n;
    const int64_t other = pw_sum(row->first_member, row->size);
    const int turned =
        row->remote_size && member_at(rank, other) < member_at(rank, row->first_member);
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = turned ? (i + row->size) % n : i;
        comm->members[i] = pw_source_is_on_device(row->source)
                               ? -1
                               : member_at(rank, pw_sum(row->first_member, from));
    }
}

/* Adds the rank's communicators to those of the archive. */
static void take_comms(struct pw_otf2_rank *rank)
{
    for (size_t i = 0; i < rank->view->ncomms; i++) {
        const struct pw_row_comms *row = &rank->view->comms[i];
        const char *name = pw_rankview_text(rank->view, row->name);
        const int is_self = row->size == 1 && strcmp(name, "MPI_COMM_SELF") == 0;
        const uint32_t at = pw_otf2_comm(rank->defs, is_self ? 0 : row->uid, row->source);
        if (rank->defs->err)
            return;
        struct pw_otf2_comm *comm = &rank->defs->comms[at];
        if (!comm->members)
            comm->name = pw_otf2_string(rank->defs, name);
        set_members(rank, comm, row);
        if (pw_source_is_on_device(row->source) && row->my_rank >= 0 && comm->members &&
            row->my_rank < comm->size)
            comm->members[row->my_rank] = (int32_t)rank->view->rank;
        rank->comms[i] = at;
    }
}

/* Returns the number of a world rank in the communicator in this row, or OTF2_UNDEFINED_UINT32. */
static uint32_t number_in(struct pw_otf2_rank *rank, int32_t row, int32_t world)
{
    const struct pw_otf2_comm *comm = &rank->defs->comms[rank->comms[row]];
    if (world < 0 || world >= rank->nranks || !comm->members)
        return OTF2_UNDEFINED_UINT32;
    if (pw_source_is_on_device(comm->source))
        return world < comm->size ? (uint32_t)world : OTF2_UNDEFINED_UINT32;
    if (!rank->numbers[row]) {
        rank->numbers[row] = malloc((size_t)rank->nranks * sizeof(**rank->numbers));
        if (!rank->numbers[row])
            return OTF2_UNDEFINED_UINT32;
        memset(rank->numbers[row], 0xff, (size_t)rank->nranks * sizeof(**rank->numbers));
        for (int32_t i = 0; i < comm->size; i++)
            if (comm->members[i] >= 0)
                rank->numbers[row][comm->members[i]] = i;
    }
    return (uint32_t)rank->numbers[row][world];
}

/* ---- communication ---- */

static uint32_t region_of(struct pw_otf2_rank *rank, const struct pw_row_comm_event *e)
{
    char name[96];
    snprintf(name, sizeof(name), "%s%s", pw_source_prefix(e->source), pw_op_info(e->op)->name);
    const OTF2_Paradigm paradigm = e->source == PW_SOURCE_MPI          ? OTF2_PARADIGM_MPI
                                   : pw_source_is_on_device(e->source) ? OTF2_PARADIGM_CUDA
                                                                       : OTF2_PARADIGM_USER;
    return pw_otf2_region(rank->defs, name, pw_otf2_role(e->op), paradigm);
}

/* Returns the time inside the call that began a nonblocking operation, ns. */
static int64_t begun_ns(const struct pw_row_comm_event *e)
{
    const int64_t waited = e->wait_start ? e->end - e->wait_start : 0;
    const int64_t begun = e->inside_ns - waited;
    return begun < 0 ? 0 : begun > e->end - e->start ? e->end - e->start : begun;
}

static void set_bytes(struct pw_otf2_record *r, const struct pw_row_comm_event *e)
{
    r->sent = e->sent_bytes > 0 ? (uint64_t)e->sent_bytes : 0;
    r->received = e->recv_bytes > 0 ? (uint64_t)e->recv_bytes : 0;
}

/* Sets what a window's operation does. Its communicator is then known to be a window. */
static void set_remote(struct pw_otf2_rank *rank, const struct pw_row_comm_event *e,
                       struct pw_otf2_record *r)
{
    r->what = pw_otf2_remote(e->op, &r->collective);
    if (r->what == PW_OTF2_PLAIN)
        return;
    if (r->what != PW_OTF2_FENCE && r->partner == OTF2_UNDEFINED_UINT32)
        r->what = PW_OTF2_PLAIN;
    else
        r->comm = pw_otf2_window(rank->defs, r->comm);
    r->request = ++rank->requests;
}

/* Sets what happens at the ends of the call, for a row whose communicator is known. */
static void set_action(struct pw_otf2_rank *rank, const struct pw_row_comm_event *e,
                       struct pw_otf2_record *r)
{
    const enum pw_op_class cls = pw_op_info(e->op)->cls;
    const int is_nonblocking = (e->flags & PW_FLAG_NONBLOCKING) != 0;
    const int has_partner = r->partner != OTF2_UNDEFINED_UINT32;
    const int op = pw_otf2_collective(e->op);
    if (is_nonblocking && (cls == PW_CLASS_SEND || cls == PW_CLASS_RECV || cls == PW_CLASS_COLL))
        r->request = ++rank->requests;
    if (cls == PW_CLASS_RMA || e->op == PW_OP_Win_fence)
        set_remote(rank, e, r);
    else if (cls == PW_CLASS_COLL && op >= 0) {
        r->what = is_nonblocking ? PW_OTF2_COLLECTIVE_REQUEST : PW_OTF2_COLLECTIVE;
        r->collective = (uint32_t)op;
    } else if (cls == PW_CLASS_SEND && has_partner)
        r->what = is_nonblocking ? PW_OTF2_ISEND : PW_OTF2_SEND;
    else if (cls == PW_CLASS_RECV && has_partner)
        r->what = is_nonblocking ? PW_OTF2_IRECV_REQUEST : PW_OTF2_RECV;
}

/* Adds the event that ends a nonblocking operation. */
static void add_completion(struct pw_otf2_rank *rank, const struct pw_row_comm_event *e,
                           struct pw_otf2_record *r, int64_t lane, int64_t end)
{
    static const uint16_t completions[] = {
        [PW_OTF2_ISEND] = PW_OTF2_ISEND_COMPLETE,
        [PW_OTF2_IRECV_REQUEST] = PW_OTF2_IRECV,
        [PW_OTF2_COLLECTIVE_REQUEST] = PW_OTF2_COLLECTIVE_COMPLETE,
    };
    if (r->what != PW_OTF2_ISEND && r->what != PW_OTF2_IRECV_REQUEST &&
        r->what != PW_OTF2_COLLECTIVE_REQUEST)
        return;
    if (e->flags & PW_FLAG_FREED)
        return;
    r->what = e->flags & PW_FLAG_CANCELLED ? PW_OTF2_CANCELLED : completions[r->what];
    add_point(rank, r, lane, end);
}

static void fill(struct pw_otf2_rank *rank, const struct pw_row_comm_event *e,
                 struct pw_otf2_record *r)
{
    const struct pw_row_comms *comm = pw_rankview_comm(rank->view, e->comm);
    const enum pw_op_shape shape = pw_op_info(e->op)->shape;
    const enum pw_op_class cls = pw_op_info(e->op)->cls;
    r->has = PW_OTF2_IS_CALL;
    set_bytes(r, e);
    if (cls == PW_CLASS_IO) {
        r->has |= PW_OTF2_HAS_BYTES;
        r->sent += r->received;
    }
    if (!comm || (e->flags & PW_FLAG_ERROR))
        return;
    r->comm = rank->comms[e->comm];
    const int has_root = shape == PW_SHAPE_FROM_ROOT || shape == PW_SHAPE_TO_ROOT;
    r->partner = cls == PW_CLASS_COLL && !has_root ? OTF2_UNDEFINED_UINT32
                                                   : number_in(rank, e->comm, e->peer);
    r->tag = (uint32_t)e->tag;
    set_action(rank, e, r);
}

static void take_comm_event(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_otf2_rank *rank = context;
    const struct pw_row_comm_event *e = row;
    int64_t start = e->start, end = e->end;
    struct pw_otf2_record r = {.what = PW_OTF2_PLAIN, .partner = OTF2_UNDEFINED_UINT32};
    (void)view;
    if (!pw_is_possible(e->wait_start) || !pw_is_possible(e->inside_ns) ||
        !convert(rank, &start, &end))
        return;
    const int64_t lane = pw_source_is_on_device(e->source) && pw_rankview_comm(rank->view, e->comm)
                             ? pw_otf2_lane(rank, PW_OTF2_LIBRARY, 0, (uint32_t)e->comm)
                             : pw_otf2_lane(rank, PW_OTF2_THREAD, 0, e->thread);
    fill(rank, e, &r);
    if (e->flags & PW_FLAG_RECV_PART) {
        r.what = PW_OTF2_RECV_PART;
        if (r.partner != OTF2_UNDEFINED_UINT32 && !(e->flags & PW_FLAG_NONBLOCKING))
            add_point(rank, &r, lane, end);
        return;
    }
    r.region = region_of(rank, e);
    const int is_async = (e->flags & PW_FLAG_NONBLOCKING) &&
                         (e->wait_start || begun_ns(e) < e->end - e->start - ROUNDING_NS);
    add_interval(rank, &r, lane, start,
                 is_async ? pw_sum(start, begun_ns(e)) < end ? start + begun_ns(e) : end : end);
    add_completion(rank, e, &r, lane, end);
}

/* ---- ranges and steps ---- */

static void take_range(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_otf2_rank *rank = context;
    const struct pw_row_range *range = row;
    int64_t start = range->start, end = range->end;
    if (!convert(rank, &start, &end))
        return;
    if (range->flags & PW_RANGE_PROCESS) { /* not nested in any thread */
        rank->left_out++;
        return;
    }
    const OTF2_RegionRole role = range->kind == PW_KIND_PHASE      ? OTF2_REGION_ROLE_CODE
                                 : range->kind == PW_KIND_OPERATOR ? OTF2_REGION_ROLE_FUNCTION
                                 : range->kind == PW_KIND_FUNCTION ? OTF2_REGION_ROLE_FUNCTION
                                                                   : OTF2_REGION_ROLE_CODE;
    struct pw_otf2_record r = {
        .what = PW_OTF2_PLAIN,
        .has = PW_OTF2_HAS_KIND,
        .kind = pw_otf2_string(rank->defs, pw_enum_name(PW_F_KIND, range->kind)),
        .region = pw_otf2_region(rank->defs, pw_rankview_text(view, range->name), role,
                                 OTF2_PARADIGM_USER),
    };
    if (range->category) {
        r.has |= PW_OTF2_HAS_CATEGORY;
        r.category = text_of(rank, range->category);
    }
    if (range->shapes) {
        r.has |= PW_OTF2_HAS_SHAPES;
        r.shapes = text_of(rank, range->shapes);
    }
    if (range->sequence >= 0) {
        r.has |= PW_OTF2_HAS_SEQUENCE;
        r.number = range->sequence;
    }
    add_interval(rank, &r, pw_otf2_lane(rank, PW_OTF2_THREAD, 0, range->thread), start, end);
}

static void take_step(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_otf2_rank *rank = context;
    const struct pw_row_step *step = row;
    int64_t start = step->start, end = step->end;
    (void)view;
    if (!convert(rank, &start, &end))
        return;
    struct pw_otf2_record r = {
        .what = PW_OTF2_PLAIN,
        .has = PW_OTF2_HAS_SEQUENCE | PW_OTF2_HAS_RECORDED,
        .number = step->step,
        .category = pw_otf2_string(rank->defs, pw_enum_name(PW_F_RECORDED, step->recorded)),
        .region =
            pw_otf2_region(rank->defs, PW_OTF2_STEP, OTF2_REGION_ROLE_LOOP, OTF2_PARADIGM_USER),
    };
    add_interval(rank, &r, 0, start, end);
}

static void take_gap(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_otf2_rank *rank = context;
    const struct pw_row_gap *gap = row;
    int64_t start = gap->start, end = gap->end;
    (void)view;
    if (!convert(rank, &start, &end))
        return;
    struct pw_otf2_record r = {
        .what = PW_OTF2_OFF,
        .has = PW_OTF2_HAS_REASON,
        .kind = pw_otf2_string(rank->defs, pw_enum_name(PW_F_REASON, gap->reason)),
        .number = gap->lost,
    };
    const int64_t lane = pw_otf2_lane(rank, PW_OTF2_THREAD, 0, gap->thread);
    add_point(rank, &r, lane, start);
    r.what = PW_OTF2_ON;
    r.has = 0;
    add_point(rank, &r, lane, end);
}

/* ---- devices ---- */

/* The columns that the tables of kernels, copies and memsets have in common. */
struct activity {
    int64_t start, end;
    int32_t device;
    uint32_t stream;
};

static void add_activity(struct pw_otf2_rank *rank, struct activity a, const char *name,
                         OTF2_RegionRole role, int64_t bytes)
{
    if (!convert(rank, &a.start, &a.end))
        return;
    struct pw_otf2_record r = {
        .what = PW_OTF2_PLAIN,
        .has = bytes >= 0 ? PW_OTF2_HAS_BYTES : 0,
        .sent = bytes > 0 ? (uint64_t)bytes : 0,
        .region = pw_otf2_region(rank->defs, name, role, OTF2_PARADIGM_CUDA),
    };
    add_interval(rank, &r, pw_otf2_lane(rank, PW_OTF2_STREAM, a.device, a.stream), a.start, a.end);
}

static void take_kernel(void *context, const struct pw_rankview *view, const void *row)
{
    const struct pw_row_kernel *k = row;
    add_activity(context, (struct activity){k->start, k->end, k->device, k->stream},
                 pw_rankview_text(view, k->name), OTF2_REGION_ROLE_FUNCTION, -1);
}

static void take_copy(void *context, const struct pw_rankview *view, const void *row)
{
    const struct pw_row_memcpy *m = row;
    char name[64];
    (void)view;
    snprintf(name, sizeof(name), "copy %s", pw_enum_name(PW_F_COPY, m->kind));
    add_activity(context, (struct activity){m->start, m->end, m->device, m->stream}, name,
                 OTF2_REGION_ROLE_DATA_TRANSFER, m->bytes < 0 ? 0 : m->bytes);
}

static void take_memset(void *context, const struct pw_rankview *view, const void *row)
{
    const struct pw_row_memset *m = row;
    (void)view;
    add_activity(context, (struct activity){m->start, m->end, m->device, m->stream}, "memset",
                 OTF2_REGION_ROLE_DATA_TRANSFER, m->bytes < 0 ? 0 : m->bytes);
}

void pw_otf2_take(struct pw_otf2_rank *rank)
{
    static const struct {
        int table;
        pw_row_visitor *visit;
    } tables[] = {
        {PW_TABLE_step, take_step},     {PW_TABLE_range, take_range},
        {PW_TABLE_gap, take_gap},       {PW_TABLE_comm_event, take_comm_event},
        {PW_TABLE_kernel, take_kernel}, {PW_TABLE_memcpy, take_copy},
        {PW_TABLE_memset, take_memset},
    };
    pw_otf2_lane(rank, PW_OTF2_THREAD, 0, 0);
    take_comms(rank);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !rank->err; i++)
        rank->unread |= pw_rankview_read(rank->view, tables[i].table, tables[i].visit, rank) != 0;
    pw_otf2_take_samples(rank);
}
