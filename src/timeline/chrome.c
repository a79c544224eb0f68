/* Passes each row of a rank's tables to a writer as an event, one function per table; see
 * chrome.h. */
#include "timeline/chrome.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "core/limits.h"
#include "core/ops.h"
#include "core/sort.h"
#include "timeline/chromeout.h"

enum { MOST_ARROWS = 1 << 23, ROUNDING_NS = 32 };

/* ---- communication ---- */

enum { COMM_ARGS = 7 };

/* Returns the number of arguments. */
static size_t list_comm_args(const struct pw_rankview *view, const struct pw_row_comm_event *e,
                             struct pw_track_arg args[COMM_ARGS])
{
    const struct pw_row_comms *comm = pw_rankview_comm(view, e->comm);
    enum pw_op_class cls = pw_op_info(e->op)->cls;
    size_t n = 0;
    if (comm) {
        args[n++] = (struct pw_track_arg){"communicator", pw_rankview_text(view, comm->name), 0};
        args[n++] = (struct pw_track_arg){"size", NULL, comm->size};
    }
    if (cls == PW_CLASS_COLL || cls == PW_CLASS_WAIT)
        args[n++] = (struct pw_track_arg){cls == PW_CLASS_COLL ? "seq" : "completed", NULL, e->seq};
    if (e->peer >= 0) {
        args[n++] = (struct pw_track_arg){"peer", NULL, e->peer};
        args[n++] = (struct pw_track_arg){"tag", NULL, e->tag};
    }
    args[n++] = (struct pw_track_arg){"sent_bytes", NULL, e->sent_bytes};
    args[n++] = (struct pw_track_arg){"recv_bytes", NULL, e->recv_bytes};
    return n;
}

static const char *prefix_of(const struct pw_row_comm_event *e)
{
    static const char *const prefixes[] = {
        [PW_SOURCE_MPI] = "MPI_",      [PW_SOURCE_NCCL] = "nccl",  [PW_SOURCE_GLOO] = "gloo ",
        [PW_SOURCE_HCCL] = "hccl",     [PW_SOURCE_MCCL] = "mccl ", [PW_SOURCE_ONECCL] = "oneccl ",
        [PW_SOURCE_DEVICE] = "device "};
    return e->source < sizeof(prefixes) / sizeof(prefixes[0]) ? prefixes[e->source] : "";
}

/* The track of an event: its thread, or for NCCL and HCCL a track for each communicator. */
static uint32_t track_of(const struct pw_row_comm_event *e)
{
    return pw_source_is_on_device(e->source) ? PW_TRACK_NCCL + ((uint32_t)e->comm & 0xffff)
                                             : e->thread;
}

static void put_slice(struct pw_chrome *c, const struct pw_rankview *view,
                      const struct pw_row_comm_event *e, int64_t start, int64_t duration)
{
    struct pw_track_arg args[COMM_ARGS];
    const struct pw_track_event slice = {view->rank,
                                         track_of(e),
                                         start,
                                         pw_sum(start, duration),
                                         prefix_of(e),
                                         pw_op_info(e->op)->name,
                                         pw_enum_name(PW_F_SOURCE, e->source),
                                         args,
                                         list_comm_args(view, e, args)};
    c->writer->ops->slice(c->writer, &slice);
}

/* Writes a nonblocking operation from the call that begins it to its completion. */
static void put_async(struct pw_chrome *c, const struct pw_rankview *view,
                      const struct pw_row_comm_event *e, int64_t start, int64_t end)
{
    const struct pw_track_event whole = {view->rank,    track_of(e),  start,
                                         end,           prefix_of(e), pw_op_info(e->op)->name,
                                         "nonblocking", NULL,         0};
    c->writer->ops->beside(c->writer, &whole, c->asyncs++);
}

/* Returns the time inside the call that began a nonblocking operation, ns. */
static int64_t begun_ns(const struct pw_row_comm_event *e)
{
    int64_t waited = e->wait_start ? e->end - e->wait_start : 0;
    int64_t begun = e->inside_ns - waited;
    return begun < 0 ? 0 : begun > e->end - e->start ? e->end - e->start : begun;
}

static int by_number(const void *a, const void *b)
{
    const struct pw_row_c_collective *x = *(const struct pw_row_c_collective *const *)a,
                                     *y = *(const struct pw_row_c_collective *const *)b;
    if (x->comm_uid != y->comm_uid)
        return x->comm_uid < y->comm_uid ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static const struct pw_row_c_collective *find_collective(const struct pw_chrome *c, uint64_t uid,
                                                         int64_t seq)
{
    const struct pw_row_c_collective key = {.comm_uid = uid, .seq = seq}, *wanted = &key;
    const struct pw_row_c_collective **found =
        c->cluster->ncollectives ? bsearch(&wanted, c->collectives, c->cluster->ncollectives,
                                           sizeof(*c->collectives), by_number)
                                 : NULL;
    return found ? *found : NULL;
}

/* An event's times on the cluster clock, and whether its arrows are drawn. */
struct shown {
    int64_t start, end;
    int64_t last_start; /* start of the slice in which the event ends: its own, or that of the
                           completing call */
    int is_shown;
};

/* The time for an arrow's head: the viewer needs it inside the slice in which the event ends. That
 * slice may have length 0: a Wait for a complete operation can be shorter than the clock's tick. */
static int64_t last_ns(const struct shown *shown)
{
    return shown->end > shown->last_start ? shown->end - 1 : shown->last_start;
}

/* Adds an end of an arrow for a rank's event in a collective. The rank that entered last has the
 * tail, each other rank has a head. */
static void add_collective(struct pw_chrome *c, const struct pw_row_comm_event *e,
                           const struct pw_row_comms *comm, const struct shown *shown,
                           struct pw_arrow_end *arrow)
{
    const struct pw_row_c_collective *row = find_collective(c, comm->uid, e->seq);
    if (!row || pw_op_info(e->op)->shape != PW_SHAPE_ALL)
        return;
    arrow->key = pw_hash_mix(comm->uid, (uint64_t)e->seq);
    arrow->is_collective = 1;
    arrow->is_head = row->last_rank != arrow->rank;
    arrow->time = arrow->is_head ? last_ns(shown) : shown->start;
    pw_arrows_add(&c->arrows, arrow, MOST_ARROWS);
}

/* Adds the event's end of an arrow, if it has one. Messages that are not shown are added, too: they
 * count in the numbering of their stream. */
static void add_arrow(struct pw_chrome *c, const struct pw_rankview *view,
                      const struct pw_row_comm_event *e, const struct shown *shown)
{
    const struct pw_row_comms *comm = pw_rankview_comm(view, e->comm);
    enum pw_op_class cls = pw_op_info(e->op)->cls;
    if (!comm || (e->flags & (PW_FLAG_ERROR | PW_FLAG_CANCELLED | PW_FLAG_FREED)))
        return;
    int receives = cls == PW_CLASS_RECV || (e->flags & PW_FLAG_RECV_PART);
    struct pw_arrow_end arrow = {.rank = (int32_t)view->rank, .track = track_of(e)};
    if (cls == PW_CLASS_COLL) {
        if (shown->is_shown)
            add_collective(c, e, comm, shown, &arrow);
    } else if ((cls == PW_CLASS_SEND || receives) && e->peer >= 0) {
        int64_t source = receives ? e->peer : view->rank, target = receives ? view->rank : e->peer;
        arrow.time = receives ? last_ns(shown) : shown->start;
        arrow.is_head = (uint8_t)receives;
        uint64_t stream = pw_hash_mix(
            pw_hash_mix(comm->uid, (uint64_t)source << 32 | (uint32_t)target), (uint32_t)e->tag);
        const struct pw_message_end message = {stream, e->start, arrow, (uint8_t)shown->is_shown};
        pw_message_ends_add(&c->messages, &message);
    }
}

/* Whether the slice exists at which the arrow of a nonblocking operation begins or ends: for a send
 * the call that began it; else the completing call, which may be missing (after a Test, say). */
static int has_both_ends(const struct pw_chrome *c, const struct pw_rankview *view,
                         const struct pw_row_comm_event *e)
{
    return pw_op_info(e->op)->cls == PW_CLASS_SEND ||
           (e->wait_start && pw_rankview_time(view, e->wait_start) < c->window.until);
}

static void visit_comm(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_chrome *c = context;
    const struct pw_row_comm_event *e = row;
    int64_t start = pw_rankview_time(view, e->start), end = pw_rankview_time(view, e->end);
    int shown = pw_chrome_is_shown(c, start, end);
    if (!pw_is_possible(e->wait_start) || !pw_is_possible(e->inside_ns))
        return;
    /* inside_ns is rounded down by less than 16 ticks of the clock, hence ROUNDING_NS. */
    int is_async = (e->flags & PW_FLAG_NONBLOCKING) &&
                   (e->wait_start || begun_ns(e) < e->end - e->start - ROUNDING_NS);
    const int64_t last_start = e->wait_start ? pw_rankview_time(view, e->wait_start) : start;
    const struct shown ends = {start, end, last_start,
                               shown && (!is_async || has_both_ends(c, view, e))};
    add_arrow(c, view, e, &ends);
    if (!shown || (e->flags & PW_FLAG_RECV_PART))
        return;
    put_slice(c, view, e, start, is_async ? begun_ns(e) : pw_difference(end, start));
    if (is_async)
        put_async(c, view, e, start, end);
    c->events++;
}

/* ---- the rest ---- */

static void visit_range(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_chrome *c = context;
    const struct pw_row_range *r = row;
    int64_t start = pw_rankview_time(view, r->start), end = pw_rankview_time(view, r->end);
    if (!pw_chrome_is_shown(c, start, end) || (r->flags & PW_RANGE_PROCESS))
        return; /* a slice must lie inside the enclosing slice of its thread */
    const struct pw_track_arg args[] = {{"type", pw_rankview_text(view, r->category), 0},
                                        {"shapes", pw_rankview_text(view, r->shapes), 0},
                                        {"alloc_bytes", NULL, r->alloc_bytes}};
    const struct pw_track_event range = {view->rank,
                                         r->thread,
                                         start,
                                         end,
                                         "",
                                         pw_rankview_text(view, r->name),
                                         pw_enum_name(PW_F_KIND, r->kind),
                                         args,
                                         3};
    if (r->kind == PW_KIND_MARK)
        c->writer->ops->mark(c->writer, &range);
    else
        c->writer->ops->slice(c->writer, &range);
    c->events++;
    if (c->window.has_scopes && r->kind == PW_KIND_OPERATOR)
        pw_scopes_add(&c->scopes[PW_SIDE_HOST], start, end, pw_rankview_text(view, r->name));
}

static void visit_step(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_chrome *c = context;
    const struct pw_row_step *s = row;
    int64_t start = pw_rankview_time(view, s->start), end = pw_rankview_time(view, s->end);
    if (!pw_chrome_is_shown(c, start, end))
        return;
    char name[32];
    snprintf(name, sizeof(name), "step %" PRId64, s->step);
    const struct pw_track_arg recorded = {"recorded", pw_enum_name(PW_F_RECORDED, s->recorded), 0};
    const struct pw_track_event step = {view->rank, PW_TRACK_STEPS, start,     end, "",
                                        name,       "step",         &recorded, 1};
    c->writer->ops->slice(c->writer, &step);
    c->events++;
    for (int side = 0; side < PW_SIDES && c->window.has_scopes; side++)
        pw_scopes_break(&c->scopes[side], start);
}

static void visit_gap(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_chrome *c = context;
    const struct pw_row_gap *g = row;
    int64_t start = pw_rankview_time(view, g->start), end = pw_rankview_time(view, g->end);
    if (!pw_chrome_is_shown(c, start, end))
        return;
    const struct pw_track_arg args[] = {{"kind", pw_enum_name(PW_F_LOST, g->kind), 0},
                                        {"lost", NULL, g->lost},
                                        {"ns", NULL, pw_difference(end, start)}};
    const struct pw_track_event gap = {view->rank, g->thread, start,
                                       start,      "gap: ",   pw_enum_name(PW_F_REASON, g->reason),
                                       "gap",      args,      3};
    c->writer->ops->mark(c->writer, &gap);
}

static void visit_process(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_chrome *c = context;
    const struct pw_row_process *p = row, before = c->before;
    int64_t time = pw_rankview_time(view, p->time);
    c->before = *p;
    if (!pw_chrome_is_shown(c, time, time))
        return;
    if (p->rss_bytes >= 0)
        pw_chrome_put_counter(c, view, time,
                              (struct pw_chrome_counter){"", "resident memory", "MiB",
                                                         (double)p->rss_bytes / (1 << 20)});
    double elapsed = (double)p->time - (double)before.time;
    double cpu = ((double)p->cpu_user_ns - (double)before.cpu_user_ns) +
                 ((double)p->cpu_sys_ns - (double)before.cpu_sys_ns);
    if (before.time && elapsed > 0 && cpu >= 0)
        pw_chrome_put_counter(c, view, time,
                              (struct pw_chrome_counter){"", "CPU use", "cores", cpu / elapsed});
}

static void visit_queue(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_chrome *c = context;
    const struct pw_row_queue *q = row;
    int64_t time = pw_rankview_time(view, q->time);
    if (pw_chrome_is_shown(c, time, time))
        pw_chrome_put_counter(c, view, time,
                              (struct pw_chrome_counter){"queue ", pw_rankview_text(view, q->queue),
                                                         "size", (double)q->size});
}

static void visit_memory(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_chrome *c = context;
    const struct pw_row_memory *m = row;
    int64_t time = pw_rankview_time(view, m->time);
    char device[24] = "of the host";
    if (m->device >= 0)
        snprintf(device, sizeof(device), "of device %d", m->device);
    if (pw_chrome_is_shown(c, time, time))
        pw_chrome_put_counter(c, view, time,
                              (struct pw_chrome_counter){"allocated memory ", device, "bytes",
                                                         (double)m->total_bytes});
}

static void draw_arrow(void *context, int64_t number, const struct pw_arrow_end *tail,
                       const struct pw_arrow_end *head)
{
    struct pw_chrome *c = context;
    const struct pw_track_arrow arrow = {tail->is_collective ? "last to come" : "message",
                                         number,
                                         0,
                                         {tail->rank, tail->track, tail->time},
                                         {head->rank, head->track, head->time}};
    c->writer->ops->arrow(c->writer, &arrow);
}

static void name_thread(struct pw_chrome *c, const struct pw_rankview *view, int32_t thread)
{
    char name[160];
    pw_rankview_thread_name(view, thread, name, sizeof(name));
    c->writer->ops->name_track(c->writer, view->rank, thread, name);
}

/* Names the main thread, and up to 64 others that have names. */
static void name_threads(struct pw_chrome *c, const struct pw_rankview *view)
{
    int32_t named[64];
    size_t n = 0;
    if (view->main_thread >= 0 && view->main_thread <= UINT16_MAX)
        name_thread(c, view, named[n++] = (int32_t)view->main_thread);
    for (size_t i = 0; i < view->nthread_names && n < sizeof(named) / sizeof(named[0]); i++) {
        const int32_t thread = view->thread_names[i].thread;
        size_t k = 0;
        while (k < n && named[k] != thread)
            k++;
        if (k == n && thread >= 0 && thread <= UINT16_MAX)
            name_thread(c, view, named[n++] = thread);
    }
}

void pw_chrome_rank(struct pw_chrome *c, const struct pw_rankview *view)
{
    static const struct {
        int table;
        pw_row_visitor *visit;
    } tables[] = {{PW_TABLE_step, visit_step},       {PW_TABLE_comm_event, visit_comm},
                  {PW_TABLE_range, visit_range},     {PW_TABLE_gap, visit_gap},
                  {PW_TABLE_process, visit_process}, {PW_TABLE_queue, visit_queue},
                  {PW_TABLE_memory, visit_memory}};
    char name[128];
    c->writer->ops->rank(c->writer, view);
    c->writer->ops->name_track(c->writer, view->rank, PW_TRACK_STEPS, "steps");
    name_threads(c, view);
    c->before = (struct pw_row_process){0};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        pw_rankview_read(view, tables[i].table, tables[i].visit, c);
    for (size_t i = 0; i < view->ncomms && i <= 0xffff; i++) {
        const char *comm = pw_rankview_text(view, view->comms[i].name);
        snprintf(name, sizeof(name), "%s %.100s",
                 view->comms[i].source == PW_SOURCE_HCCL     ? "HCCL"
                 : view->comms[i].source == PW_SOURCE_ONECCL ? "oneCCL"
                                                             : "NCCL",
                 comm);
        if (pw_source_is_on_device(view->comms[i].source))
            c->writer->ops->name_track(c->writer, view->rank, PW_TRACK_NCCL + (int64_t)i, name);
    }
    pw_chrome_gpu(c, view);
    pw_chrome_scopes(c, view->rank);
    c->writer->ops->end_rank(c->writer);
    pw_message_ends_number(&c->messages, &c->arrows, MOST_ARROWS);
}

int pw_chrome_begin(FILE *out, const struct pw_cluster *cluster,
                    const struct pw_chrome_window *window, struct pw_chrome **result)
{
    const struct pw_writer_head head = {cluster->job_id, cluster->command, window->base};
    struct pw_chrome *c = calloc(1, sizeof(*c));
    const struct pw_row_c_collective **rows = calloc(cluster->ncollectives + 1, sizeof(*rows));
    struct pw_writer *writer = NULL;
    if (c && rows)
        writer =
            window->is_perfetto ? pw_perfetto_create(out, &head) : pw_jsonwriter_create(out, &head);
    if (!writer) {
        free(c);
        free(rows);
        return -ENOMEM;
    }
    for (size_t i = 0; i < cluster->ncollectives; i++)
        rows[i] = &cluster->collectives[i];
    pw_sort(rows, cluster->ncollectives, sizeof(*rows), by_number);
    c->writer = writer;
    c->cluster = cluster;
    c->collectives = rows;
    c->window = *window;
    *result = c;
    return 0;
}

int pw_chrome_end(struct pw_chrome *c, struct pw_chrome_counts *counts)
{
    *counts = (struct pw_chrome_counts){
        .events = c->events,
        .arrows = pw_arrows_draw(&c->arrows, draw_arrow, c) + c->launches,
        .ends_left_out = (int64_t)c->arrows.left_out,
    };
    const int err = c->writer->ops->end(c->writer);
    pw_arrows_fini(&c->arrows);
    pw_message_ends_fini(&c->messages);
    free(c->collectives);
    free(c);
    return err;
}
