/* Writes each row of a rank's tables as an event, one function per table; see chrome.h. */
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
#include "timeline/jsonout.h"

enum { MOST_ARROWS = 1 << 23, ROUNDING_NS = 32 };

/* ---- communication ---- */

static void put_comm_args(struct pw_chrome *c, const struct pw_rankview *view,
                          const struct pw_row_comm_event *e)
{
    const struct pw_row_comms *comm = pw_rankview_comm(view, e->comm);
    enum pw_op_class cls = pw_op_info(e->op)->cls;
    const char *comma = "";
    fputs(",\"args\":{", c->out);
    if (comm) {
        fputs("\"communicator\":", c->out);
        pw_json_put_text(c->out, pw_rankview_text(view, comm->name));
        fprintf(c->out, ",\"size\":%d", comm->size);
        comma = ",";
    }
    if (cls == PW_CLASS_COLL || cls == PW_CLASS_WAIT) {
        fprintf(c->out, "%s\"%s\":%" PRId64, comma, cls == PW_CLASS_COLL ? "seq" : "completed",
                e->seq);
        comma = ",";
    }
    if (e->peer >= 0) {
        fprintf(c->out, "%s\"peer\":%d,\"tag\":%d", comma, e->peer, e->tag);
        comma = ",";
    }
    fprintf(c->out, "%s\"sent_bytes\":%" PRId64 ",\"recv_bytes\":%" PRId64 "}", comma,
            e->sent_bytes, e->recv_bytes);
}

static const char *prefix_of(const struct pw_row_comm_event *e)
{
    static const char *const prefixes[] = {[PW_SOURCE_MPI] = "MPI_",
                                           [PW_SOURCE_NCCL] = "nccl",
                                           [PW_SOURCE_GLOO] = "gloo ",
                                           [PW_SOURCE_HCCL] = "hccl",
                                           [PW_SOURCE_MCCL] = "mccl "};
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
    pw_chrome_begin_event(c, "X", view->rank, track_of(e), start);
    pw_chrome_put_duration(c, duration);
    pw_chrome_put_name(c, prefix_of(e), pw_op_info(e->op)->name);
    fprintf(c->out, ",\"cat\":\"%s\"", pw_enum_name(PW_F_SOURCE, e->source));
    put_comm_args(c, view, e);
    fputs("}", c->out);
}

/* Writes a nonblocking operation as a pair of async events, from the call that begins it to its
 * completion. */
static void put_async(struct pw_chrome *c, const struct pw_rankview *view,
                      const struct pw_row_comm_event *e, int64_t start, int64_t end)
{
    for (int i = 0; i < 2; i++) {
        pw_chrome_begin_event(c, i ? "e" : "b", view->rank, track_of(e), i ? end : start);
        pw_chrome_put_name(c, prefix_of(e), pw_op_info(e->op)->name);
        fprintf(c->out, ",\"cat\":\"nonblocking\",\"id\":\"%" PRId64 "\"}", c->asyncs);
    }
    c->asyncs++;
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
    pw_chrome_begin_event(c, r->kind == PW_KIND_MARK ? "i" : "X", view->rank, r->thread, start);
    if (r->kind == PW_KIND_MARK)
        fputs(",\"s\":\"t\"", c->out);
    else
        pw_chrome_put_duration(c, pw_difference(end, start));
    pw_chrome_put_name(c, "", pw_rankview_text(view, r->name));
    fprintf(c->out, ",\"cat\":\"%s\",\"args\":{\"type\":", pw_enum_name(PW_F_KIND, r->kind));
    pw_json_put_text(c->out, pw_rankview_text(view, r->category));
    fputs(",\"shapes\":", c->out);
    pw_json_put_text(c->out, pw_rankview_text(view, r->shapes));
    fprintf(c->out, ",\"alloc_bytes\":%" PRId64 "}}", r->alloc_bytes);
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
    pw_chrome_begin_event(c, "X", view->rank, PW_TRACK_STEPS, start);
    pw_chrome_put_duration(c, pw_difference(end, start));
    fprintf(c->out,
            ",\"name\":\"step %" PRId64 "\",\"cat\":\"step\",\"args\":{\"recorded\":\"%s\"}}",
            s->step, pw_enum_name(PW_F_RECORDED, s->recorded));
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
    pw_chrome_begin_event(c, "i", view->rank, g->thread, start);
    pw_chrome_put_name(c, "gap: ", pw_enum_name(PW_F_REASON, g->reason));
    fprintf(c->out,
            ",\"s\":\"t\",\"cat\":\"gap\",\"args\":{\"kind\":\"%s\",\"lost\":%" PRId64
            ",\"ns\":%" PRId64 "}}",
            pw_enum_name(PW_F_LOST, g->kind), g->lost, pw_difference(end, start));
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
    for (int i = 0; i < 2; i++) {
        const struct pw_arrow_end *end = i ? head : tail;
        pw_chrome_begin_event(c, i ? "f" : "s", end->rank, end->track, end->time);
        fprintf(c->out, ",\"name\":\"%s\",\"cat\":\"arrow\",\"id\":%" PRId64 "%s}",
                tail->is_collective ? "last to come" : "message", number, i ? ",\"bp\":\"e\"" : "");
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
    snprintf(name, sizeof(name), "rank %" PRId64 " on %s", view->rank, view->hostname);
    pw_chrome_put_meta(c, "process_name", view->rank, 0, name);
    pw_chrome_put_meta(c, "thread_name", view->rank, PW_TRACK_STEPS, "steps");
    c->before = (struct pw_row_process){0};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        pw_rankview_read(view, tables[i].table, tables[i].visit, c);
    for (size_t i = 0; i < view->ncomms && i <= 0xffff; i++) {
        const char *comm = pw_rankview_text(view, view->comms[i].name);
        snprintf(name, sizeof(name), "%s %.100s",
                 view->comms[i].source == PW_SOURCE_HCCL ? "HCCL" : "NCCL", comm);
        if (pw_source_is_on_device(view->comms[i].source))
            pw_chrome_put_meta(c, "thread_name", view->rank, PW_TRACK_NCCL + (int64_t)i, name);
    }
    pw_chrome_gpu(c, view);
    pw_chrome_scopes(c, view->rank);
    pw_message_ends_number(&c->messages, &c->arrows, MOST_ARROWS);
}

int pw_chrome_begin(FILE *out, const struct pw_cluster *cluster,
                    const struct pw_chrome_window *window, struct pw_chrome **result)
{
    struct pw_chrome *c = calloc(1, sizeof(*c));
    const struct pw_row_c_collective **rows = calloc(cluster->ncollectives + 1, sizeof(*rows));
    if (!c || !rows) {
        free(c);
        free(rows);
        return -ENOMEM;
    }
    for (size_t i = 0; i < cluster->ncollectives; i++)
        rows[i] = &cluster->collectives[i];
    pw_sort(rows, cluster->ncollectives, sizeof(*rows), by_number);
    c->out = out;
    c->cluster = cluster;
    c->collectives = rows;
    c->window = *window;
    fputs("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"job\":", out);
    pw_json_put_text(out, cluster->job_id);
    fputs(",\"command\":", out);
    pw_json_put_text(out, cluster->command);
    fputs("},\"traceEvents\":[", out);
    *result = c;
    return 0;
}

void pw_chrome_end(struct pw_chrome *c, int64_t *events, int64_t *arrows)
{
    *arrows = pw_arrows_draw(&c->arrows, draw_arrow, c) + c->launches;
    *events = c->events;
    fputs("\n]}\n", c->out);
    pw_arrows_fini(&c->arrows);
    pw_message_ends_fini(&c->messages);
    free(c->collectives);
    free(c);
}
