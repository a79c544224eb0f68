/* Writes a window's records as rows of the rank's file (pw_trace_write() of trace.h): joins device
 * records with the calls that launched them, sorts the rows and writes them. import.c calls it for
 * one window after the other, each after its file was read. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/comm_kernel.h"
#include "core/limits.h"
#include "core/ops.h"
#include "import/trace/communicators.h"
#include "import/trace/devicecheck.h"
#include "import/trace/gloo.h"
#include "import/trace/nest.h"
#include "import/trace/stepsums.h"
#include "import/trace/trace.h"

/* ---- device activities and the calls that launched them ---- */

enum { MEMORY = 24 << 20 };

/* Adds to a device record what only its launch knows. */
static void apply(struct pw_device_record *device, const struct pw_launch_record *launch)
{
    device->launch = launch->timed ? launch->time : -1;
    device->thread = launch->thread;
    device->launched_by = launch->launched_by;
    if (!device->is_nccl || device->count_in >= 0)
        return;
    if (!device->collective)
        device->collective = launch->collective;
    device->count_in = launch->count_in;
    device->count_out = launch->count_out;
}

/* Sorts the device records by External id instead of correlation: in a trace without calls of
 * CUDA, this is the only link from a kernel to its operator. Returns 0 or -errno. */
static int key_by_external(struct pw_trace_window *window)
{
    struct pw_sorter *keyed;
    int err = pw_sorter_create(window->trace->dir, sizeof(struct pw_device_record), MEMORY, &keyed);
    err = err ? err : pw_sorter_begin(window->device);
    if (err)
        return err;
    for (const struct pw_device_record *device; (device = pw_sorter_next(window->device));) {
        struct pw_device_record record = *device;
        record.key[0] = (int64_t)record.external;
        pw_sorter_add(keyed, &record);
    }
    err = pw_sorter_error(window->device);
    pw_sorter_destroy(window->device);
    window->device = keyed;
    return err;
}

/* Reads window->device and `launches` (struct pw_launch_record) to their ends, and adds the joined
 * device records to a new sorter *out, which sorts them by start. Returns 0 or -errno. */
static int pw_join(struct pw_trace_window *window, struct pw_sorter *launches,
                   struct pw_sorter **out)
{
    int err = window->calls ? 0 : key_by_external(window);
    err = err ? err
              : pw_sorter_create(window->trace->dir, sizeof(struct pw_device_record), MEMORY, out);
    err = err ? err : pw_sorter_begin(window->device);
    err = err ? err : pw_sorter_begin(launches);
    if (err)
        return err;
    const struct pw_launch_record *launch = pw_sorter_next(launches);
    for (const struct pw_device_record *device; (device = pw_sorter_next(window->device));) {
        struct pw_device_record joined = *device;
        while (launch && launch->id < device->key[0])
            launch = pw_sorter_next(launches);
        if (launch && launch->id == device->key[0] && device->key[0])
            apply(&joined, launch);
        joined.key[0] = joined.start;
        joined.key[1] = joined.end;
        joined.key[2] = joined.stream;
        pw_sorter_add(*out, &joined);
    }
    err = pw_sorter_error(window->device);
    return err ? err : pw_sorter_error(launches);
}

/* A row of /events/comm, sorted by end, and for an NCCL operation its row of /events/nccl. */
struct keyed_nccl {
    int64_t key[3];
    struct pw_row_comm_event event;
    struct pw_row_nccl nccl;
    int64_t is_nccl; /* int64_t, because a sorter's records need a size that is a multiple of 8 */
};

struct writing {
    struct pw_trace_window *window;
    struct pw_trace *trace;
    struct pw_sorter *nccl;
    struct pw_sorter *placed; /* the device records by start */
    struct pw_device_check check;
    int64_t base;
    struct {
        int64_t thread, until;
    } waited; /* end of the last wait that was written for Gloo, and its thread */
};

/* A table whose rows begin with `ntimes` fields of time. These are relative to the window: its base
 * is added to them. */
struct timed_rows {
    enum pw_table_id table;
    size_t row_size;
    int ntimes;
};
enum { MOST_WORDS = 32 }; /* words of 8 bytes in the longest row */
#define TIMED_ROWS(table, ntimes) \
    ((const struct timed_rows){PW_TABLE_##table, sizeof(struct pw_row_##table), ntimes})
#define IS_SPAN(table)                                                                \
    _Static_assert(offsetof(struct pw_row_##table, start) == 0 &&                     \
                       offsetof(struct pw_row_##table, end) == sizeof(int64_t) &&     \
                       sizeof(struct pw_row_##table) <= MOST_WORDS * sizeof(int64_t), \
                   "a row begins with its start and end")
IS_SPAN(range);
IS_SPAN(cuda_api);
IS_SPAN(cuda_sync);
_Static_assert(offsetof(struct pw_row_memory, time) == 0, "a row begins with its time");

/* Sorts complete rows (struct pw_keyed_*) and writes them. Returns 0 or -errno. */
static int write_rows(const struct writing *w, struct timed_rows rows, struct pw_sorter *sorter)
{
    int64_t row[MOST_WORDS];
    int err = pw_sorter_begin(sorter);
    if (err)
        return err;
    for (const int64_t *keyed; (keyed = pw_sorter_next(sorter));) {
        memcpy(row, keyed + 3, rows.row_size); /* the row follows the key */
        for (int i = 0; i < rows.ntimes; i++)
            row[i] += w->base;
        pw_rankfile_append(w->trace->file, rows.table, row);
    }
    return pw_sorter_error(sorter);
}

/* ---- devices ---- */

#define DEVICE_FIELDS(w, d)                                                                  \
    .start = (d)->start + (w)->base, .end = (d)->end + (w)->base, .device = (d)->device,     \
    .context = (d)->context, .stream = (d)->stream, .correlation = (d)->correlation,         \
    .graph_node = (d)->graph_node, .launch = (d)->launch < 0 ? -1 : (d)->launch + (w)->base, \
    .thread = (d)->thread, .launched_by = (d)->launched_by

static void write_kernel(const struct writing *w, const struct pw_device_record *d)
{
    struct pw_row_kernel row = {
        DEVICE_FIELDS(w, d),
        .name = d->name,
        .grid_x = d->grid[0],
        .grid_y = d->grid[1],
        .grid_z = d->grid[2],
        .block_x = d->block[0],
        .block_y = d->block[1],
        .block_z = d->block[2],
        .registers = d->registers,
        .static_shared_bytes = d->shared_bytes,
        .dynamic_shared_bytes = -1,
        .cluster_x = -1,
        .cluster_y = -1,
        .cluster_z = -1,
    };
    pw_rankfile_append(w->trace->file, PW_TABLE_kernel, &row);
}

static void write_memcpy(const struct writing *w, const struct pw_device_record *d)
{
    struct pw_row_memcpy row = {
        DEVICE_FIELDS(w, d),         .kind = d->copy,
        .bytes = d->bytes,           .src_device = d->src_device,
        .dst_device = d->dst_device, .asynchronous = d->asynchronous,
    };
    pw_rankfile_append(w->trace->file, PW_TABLE_memcpy, &row);
}

static void write_memset(const struct writing *w, const struct pw_device_record *d)
{
    struct pw_row_memset row = {DEVICE_FIELDS(w, d), .bytes = d->bytes};
    pw_rankfile_append(w->trace->file, PW_TABLE_memset, &row);
}

static int64_t bytes_of(int64_t count, uint32_t element_bytes)
{
    int64_t bytes;
    if (count < 0 || !element_bytes ||
        __builtin_mul_overflow(count, (int64_t)element_bytes, &bytes))
        return -1;
    return bytes;
}

/* Returns the operation: as the trace says, else as the kernel's name says, else PW_OP_Sendrecv.
 * oneCCL launches barriers of its own inside an operation. */
static uint16_t choose_op(const struct pw_collective *collective,
                          const struct pw_nccl_kernel *named)
{
    if (collective && collective->op != PW_OP_None && named->op != PW_OP_Barrier)
        return collective->op;
    return named->op != PW_OP_None ? named->op : PW_OP_Sendrecv;
}

static uint32_t find_text(struct writing *w, const char *text, size_t length)
{
    return pw_names_find(&w->trace->names, text, length);
}

/* Returns the rows of an NCCL operation, with only those fields set that a kernel and a record of
 * a log have in common. */
static struct keyed_nccl make_operation(const struct writing *w, const struct pw_device_record *d,
                                        uint16_t op)
{
    struct keyed_nccl out;
    memset(&out, 0, sizeof(out));
    out.is_nccl = 1;
    out.key[0] = d->end;
    out.key[1] = d->start;
    out.event = (struct pw_row_comm_event){
        .start = d->start + w->base,
        .end = d->end + w->base,
        .op = op,
        .source = PW_SOURCE_NCCL,
    };
    out.nccl = (struct pw_row_nccl){
        .enqueue = d->launch < 0 ? -1 : d->launch + w->base,
        .device = d->device,
        .count = d->count_in > d->count_out ? d->count_in : d->count_out,
        .channels = d->grid[0],
    };
    return out;
}

/* Returns the operation of "oneccl_allreduce_pcie": what follows the library's name. */
static uint16_t op_of_name(const char *name)
{
    const char *at = strchr(name, '_');
    return at ? pw_collective_op(at + 1, strlen(at + 1)) : PW_OP_None;
}

static void take_nccl(struct writing *w, const struct pw_device_record *d)
{
    const char *name = pw_rankfile_borrow_text(w->trace->file, d->name);
    const struct pw_collective *c = pw_collectives_borrow(&w->trace->collectives, d->collective);
    struct pw_nccl_kernel named = {0};
    const enum pw_library library = d->library ? d->library : c ? c->library : PW_LIBRARY_NCCL;
    const struct pw_comm_kernel *known = pw_comm_kernel_find(name, strlen(name));
    if (!pw_collective_kernel(name, strlen(name), &named) && known)
        named.op = known->op != PW_OP_None ? known->op : op_of_name(name);
    uint16_t op = choose_op(c, &named);
    int is_collective = pw_op_info(op)->cls == PW_CLASS_COLL;
    uint32_t element = c && c->element_bytes
                           ? c->element_bytes
                           : pw_collective_element(named.datatype, named.datatype_length);
    struct keyed_nccl out = make_operation(w, d, op);
    out.event.source = pw_library_source(library);
    out.event.sent_bytes = op == PW_OP_Barrier ? 0 : bytes_of(d->count_in, element);
    out.event.recv_bytes = op == PW_OP_Barrier ? 0 : bytes_of(d->count_out, element);
    out.event.thread = (uint16_t)d->thread;
    if (library ==
        PW_LIBRARY_DEVICE) { /* which ranks they are of, and which is which, is not told */
        out.event.comm = out.event.peer = -1;
        out.event.seq = -1;
    } else {
        out.event.comm = pw_comm_table_find(
            w->trace, d, is_collective && !d->is_numbered && (d->launch >= 0 || !w->window->calls),
            &out.event.seq, &out.event.peer);
    }
    if (is_collective && d->is_numbered)
        out.event.seq = pw_comm_table_number(w->trace, out.event.comm, d->seq);
    out.nccl.correlation = d->correlation;
    out.nccl.stream = d->stream;
    out.nccl.datatype =
        c && c->datatype ? c->datatype : find_text(w, named.datatype, named.datatype_length);
    out.nccl.algorithm =
        c && c->algorithm ? c->algorithm : find_text(w, named.algorithm, named.algorithm_length);
    out.nccl.protocol = find_text(w, named.protocol, named.protocol_length);
    out.nccl.timed = PW_TIMED_KERNEL;
    pw_sorter_add(w->nccl, &out);
    w->trace->counts.operations[library]++;
}

/* The elements that all members must give alike, or -1: of all_to_all they may differ, and of
 * others only the root gives, or gets, those of all. */
static int64_t common_count(const struct pw_device_record *d, uint16_t op)
{
    switch (op) {
    case PW_OP_Allreduce:
    case PW_OP_Reduce:
    case PW_OP_Bcast:
    case PW_OP_Allgather:
    case PW_OP_Gather:
    case PW_OP_Reduce_scatter_block:
        return d->count_in;
    case PW_OP_Scatter:
        return d->count_out;
    default:
        return -1;
    }
}

/* Writes the call that the rank was in when its log was written. */
static void write_open(const struct writing *w, const struct pw_device_record *d,
                       const struct pw_row_comm_event *event, const struct pw_collective *c)
{
    const int is_collective = pw_op_info(c->op)->cls == PW_CLASS_COLL;
    const struct pw_row_open row = {
        .start = event->start,
        .seen_until = pw_sum(w->window->end_ns, w->base),
        .op = c->op,
        .comm = event->comm,
        .seq = is_collective ? d->seq : -1,
        .peer = pw_comm_table_world_rank(w->trace, event->comm, c->peer),
        .source = event->source,
        .count = common_count(d, c->op),
        .datatype = is_collective ? c->datatype : 0,
        .error_time = -1,
    };
    pw_rankfile_append(w->trace->file, PW_TABLE_open, &row);
}

/* Adds the rows of an operation that a log has; such an operation has no kernel. */
static void take_operation(struct writing *w, const struct pw_device_record *d)
{
    const struct pw_collective *c = pw_collectives_borrow(&w->trace->collectives, d->collective);
    int64_t none;
    if (!c)
        return;
    struct keyed_nccl out = make_operation(w, d, c->op);
    out.event.source = pw_library_source(c->library);
    out.is_nccl = c->library != PW_LIBRARY_GLOO;
    out.event.flags = d->timed == PW_TIMED_ENQUEUED ? PW_FLAG_ENQUEUED : 0;
    out.event.sent_bytes = bytes_of(d->count_in, c->element_bytes);
    out.event.recv_bytes = bytes_of(d->count_out, c->element_bytes);
    out.event.comm = pw_comm_table_find(w->trace, d, 0, &none, &out.event.peer);
    out.event.seq = d->seq >= 0 ? pw_comm_table_number(w->trace, out.event.comm, d->seq) : -1;
    out.event.peer = c->peer;
    out.nccl.datatype = c->datatype;
    out.nccl.algorithm = c->algorithm;
    out.nccl.protocol = c->protocol;
    out.nccl.timed = d->timed;
    out.nccl.ran_ns = d->ran_ns;
    out.nccl.operation = (int64_t)d->external;
    if (d->is_open)
        write_open(w, d, &out.event, c);
    pw_sorter_add(w->nccl, &out);
    w->trace->counts.operations[c->library]++;
}

/* ---- Gloo ---- */

/* Adds a row for the wait for a Gloo operation, like that of a call of MPI_Wait: the thread does
 * nothing else meanwhile. A wait that begins before the thread's previous one has ended is cut. */
static void add_gloo_wait(struct writing *w, const struct pw_gloo_op *op)
{
    struct keyed_nccl out;
    int64_t start = op->wait_start;
    if (op->thread == w->waited.thread && w->waited.until > start)
        start = w->waited.until;
    if (!op->wait_start || start >= op->end)
        return;
    w->waited.thread = op->thread;
    w->waited.until = op->end;
    memset(&out, 0, sizeof(out));
    out.key[0] = op->end;
    out.key[1] = start;
    out.event = pw_gloo_wait_row(start + w->base, op->end + w->base, (uint16_t)op->thread);
    pw_sorter_add(w->nccl, &out);
}

/* Sets the event's bytes, peer and root flag. PyTorch's annotation of the operation has the size of
 * the input only. The size of the output follows from it when all ranks pass the same size. In a
 * broadcast the root only sends and the others only receive, as in live records. */
static void set_gloo_sizes(const struct writing *w, const struct pw_gloo_op *op,
                           const struct pw_collective *c, struct pw_row_comm_event *event)
{
    const int64_t bytes = bytes_of(op->count_in, c->element_bytes);
    int32_t size, my_rank;
    pw_comm_table_shape(w->trace, event->comm, &size, &my_rank);
    const int is_rooted = c->op == PW_OP_Bcast || c->op == PW_OP_Reduce || c->op == PW_OP_Gather ||
                          c->op == PW_OP_Scatter;
    const int is_root = is_rooted && op->peer >= 0 && op->peer == my_rank;
    event->flags |= is_root ? PW_FLAG_ROOT : 0;
    event->peer = pw_comm_table_world_rank(w->trace, event->comm, op->peer);
    event->sent_bytes = c->op == PW_OP_Recv ? 0 : bytes;
    event->recv_bytes = bytes_of(op->count_out, c->element_bytes);
    if (c->op == PW_OP_Allgather && size > 0 && bytes >= 0 &&
        __builtin_mul_overflow(bytes, (int64_t)size, &event->recv_bytes))
        event->recv_bytes = -1;
    else if (c->op == PW_OP_Alltoall || c->op == PW_OP_Recv)
        event->recv_bytes = bytes;
    else if (c->op == PW_OP_Send)
        event->recv_bytes = 0;
    else if (c->op == PW_OP_Barrier)
        event->sent_bytes = event->recv_bytes = 0;
    else if (c->op == PW_OP_Bcast && op->peer >= 0 && my_rank >= 0 && bytes >= 0)
        *(is_root ? &event->recv_bytes : &event->sent_bytes) = 0;
}

/* Writes a Gloo operation as the live recorder does (collectors/torch): the operation runs beside
 * the program, and the program waits for it from wait_start on. When it is not known when the
 * program called it, the row has the times at which Gloo executed it. */
static void take_gloo(struct writing *w, const struct pw_gloo_op *op)
{
    const struct pw_collective *c = pw_collectives_borrow(&w->trace->collectives, op->collective);
    const struct pw_collective *told = pw_collectives_borrow(&w->trace->collectives, op->told);
    const int64_t returned = -op->minus_return;
    struct keyed_nccl out;
    if (!c)
        return;
    memset(&out, 0, sizeof(out));
    out.key[0] = op->end;
    out.key[1] = op->start;
    out.event = (struct pw_row_comm_event){
        .start = op->start + w->base,
        .end = op->end + w->base,
        .op = c->op,
        .source = PW_SOURCE_GLOO,
        .flags = op->is_begun ? PW_FLAG_NONBLOCKING : 0,
        .thread = (uint16_t)op->thread,
        .wait_start = op->wait_start ? op->wait_start + w->base : 0,
        .inside_ns = returned - op->start + (op->wait_start ? op->end - op->wait_start : 0),
    };
    out.event.comm = pw_comm_table_find_gloo(
        w->trace, told ? told : c, pw_op_info(c->op)->cls == PW_CLASS_COLL, &out.event.seq);
    set_gloo_sizes(w, op, c, &out.event);
    pw_sorter_add(w->nccl, &out);
    add_gloo_wait(w, op);
    w->trace->counts.operations[PW_LIBRARY_GLOO]++;
}

static int take_gloos(struct writing *w, struct pw_sorter *records)
{
    struct pw_sorter *ops = NULL;
    int err = pw_gloo_join(w->trace, records, &ops);
    err = err ? err : pw_sorter_begin(ops);
    if (!err) {
        for (const struct pw_gloo_op *op; (op = pw_sorter_next(ops));)
            take_gloo(w, op);
        err = pw_sorter_error(ops);
    }
    pw_sorter_destroy(ops);
    return err;
}

static void write_nccl(const struct writing *w)
{
    for (const struct keyed_nccl *r; (r = pw_sorter_next(w->nccl));) {
        struct pw_row_nccl row = r->nccl;
        row.comm_row = pw_rankfile_rows(w->trace->file, PW_TABLE_comm_event);
        pw_rankfile_append(w->trace->file, PW_TABLE_comm_event, &r->event);
        if (r->is_nccl)
            pw_rankfile_append(w->trace->file, PW_TABLE_nccl, &row);
    }
}

static void write_device(struct writing *w, const struct pw_device_record *d)
{
    if (w->trace->sums && d->type == PW_DEVICE_KERNEL)
        pw_stepsums_add_task(w->trace->sums, d->is_nccl, d->start, d->end);
    if (d->type == PW_DEVICE_OPERATION)
        take_operation(w, d);
    else if (d->type == PW_DEVICE_KERNEL)
        write_kernel(w, d);
    else if (d->type == PW_DEVICE_MEMCPY)
        write_memcpy(w, d);
    else
        write_memset(w, d);
    if (d->is_nccl)
        take_nccl(w, d);
}

/* Joins the device records with their launches, and checks their times. The window's span then is
 * that of what is possible. Returns 0 or -errno. */
static int place_devices(struct writing *w, struct pw_sorter *launches)
{
    struct pw_trace_window *window = w->window;
    int err = pw_join(window, launches, &w->placed);
    err = err ? err : pw_sorter_begin(w->placed);
    if (err || !w->trace->checks_devices)
        return err;
    if (window->is_device_only) {
        window->start_ns = INT64_MAX;
        window->end_ns = INT64_MIN;
    }
    err = pw_device_check(window, w->placed, &w->check);
    if (w->check.end_ns >= w->check.start_ns) {
        window->start_ns =
            w->check.start_ns < window->start_ns ? w->check.start_ns : window->start_ns;
        window->end_ns = w->check.end_ns > window->end_ns ? w->check.end_ns : window->end_ns;
    }
    return err;
}

static int write_devices(struct writing *w, struct pw_sorter *gloo)
{
    int64_t number = 0;
    int err = pw_sorter_create(w->trace->dir, sizeof(struct keyed_nccl), PW_ROWS_MEMORY, &w->nccl);
    if (!err)
        for (const struct pw_device_record *d; (d = pw_sorter_next(w->placed)); number++)
            if (!pw_device_is_left_out(&w->check, number))
                write_device(w, d);
    err = err ? err : pw_sorter_error(w->placed);
    err = err ? err : take_gloos(w, gloo);
    err = err ? err : pw_sorter_begin(w->nccl);
    if (!err)
        write_nccl(w);
    err = err ? err : pw_sorter_error(w->nccl);
    pw_sorter_destroy(w->nccl);
    return err;
}

/* ---- steps and the window ---- */

static int write_steps(struct writing *w, struct pw_row_window *window)
{
    int64_t behind = INT64_MIN;
    int err = pw_sorter_begin(w->window->steps);
    if (err)
        return err;
    for (const struct pw_keyed_step *r; (r = pw_sorter_next(w->window->steps));) {
        struct pw_row_step row = r->row;
        if (row.start < behind || (row.start == 0 && w->window->drops_zero))
            continue; /* another thread marked the same step, or its time is impossible */
        behind = row.end;
        if (w->trace->sums)
            pw_stepsums_add_step(w->trace->sums, row.step, row.start, row.end);
        row.start += w->base;
        row.end += w->base;
        pw_rankfile_append(w->trace->file, PW_TABLE_step, &row);
        window->first_step = window->first_step < 0 ? row.step : window->first_step;
        window->last_step = row.step;
    }
    return pw_sorter_error(w->window->steps);
}

static int write_window(struct writing *w)
{
    struct pw_import_counts *counts = &w->trace->counts;
    struct pw_row_window row = {
        .window = counts->windows++,
        .first_step = -1,
        .last_step = -1,
        .warmup_first_step = -1,
        .warmup_last_step = -1,
        .start = pw_sum(w->window->start_ns, w->base),
        .end = pw_sum(w->window->end_ns, w->base),
        .cause = PW_OPENED_PROGRAM,
    };
    int err = write_steps(w, &row);
    if (row.first_step >= 0) {
        counts->first_step = counts->first_step < 0 ? row.first_step : counts->first_step;
        counts->last_step = row.last_step;
    }
    if (w->window->end_ns >= w->window->start_ns)
        pw_rankfile_append(w->trace->file, PW_TABLE_window, &row);
    return err;
}

int pw_trace_write(struct pw_trace_window *window)
{
    struct writing w = {.window = window,
                        .trace = window->trace,
                        .base = window->base_ns,
                        .waited = {.thread = -1}};
    struct pw_nested nested;
    if (w.trace->sums)
        pw_stepsums_begin(w.trace->sums);
    int err = pw_nest(window, &nested);
    pw_sorter_destroy(window->host);
    window->host = NULL;
    err = err ? err : place_devices(&w, nested.launches);
    err = err ? err : write_window(&w);
    struct pw_sorter *syncs = pw_sorter_count(window->syncs) ? window->syncs : nested.syncs;
    err = err ? err : write_rows(&w, TIMED_ROWS(range, 2), nested.ranges);
    err = err ? err : write_rows(&w, TIMED_ROWS(cuda_api, 2), nested.calls);
    err = err ? err : write_rows(&w, TIMED_ROWS(cuda_sync, 2), syncs);
    err = err ? err : write_rows(&w, TIMED_ROWS(memory, 1), nested.memory);
    err = err ? err : write_devices(&w, nested.gloo);
    pw_sorter_destroy(w.placed);
    pw_device_check_fini(&w.check);
    if (w.trace->sums)
        pw_stepsums_end(w.trace->sums);
    pw_nested_fini(&nested);
    return err;
}
