/* Passes each row of a rank's tables to a writer as an event, one function per table; see
 * chrome.h. */
#include "timeline/chrome.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/grow.h"
#include "core/hash.h"
#include "core/limits.h"
#include "core/ops.h"
#include "core/sort.h"

/* Sorts the ends by key and pairs each head with the tail before it. */

enum { MOST_MESSAGES = 1 << 23 };

static int grow(void **rows, size_t *capacity, size_t n, size_t row_size)
{
    if (n < *capacity)
        return 0;
    size_t more = *capacity ? 2 * *capacity : 1024;
    void *fresh = realloc(*rows, more * row_size);
    if (!fresh)
        return -1;
    *rows = fresh;
    *capacity = more;
    return 0;
}

void pw_arrows_add(struct pw_arrows *arrows, const struct pw_arrow_end *end, size_t most)
{
    void *rows = arrows->ends;
    if (arrows->n >= most || grow(&rows, &arrows->capacity, arrows->n, sizeof(*end))) {
        arrows->left_out++;
        return;
    }
    arrows->ends = rows;
    arrows->ends[arrows->n++] = *end;
}

/* Sorts by key, and a tail before its heads. */
static int by_key(const void *a, const void *b)
{
    const struct pw_arrow_end *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->is_head != y->is_head)
        return x->is_head - y->is_head;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

int64_t pw_arrows_draw(struct pw_arrows *arrows, pw_arrow_drawer *draw, void *context)
{
    const struct pw_arrow_end *tail = NULL;
    int64_t drawn = 0;
    if (arrows->n)
        qsort(arrows->ends, arrows->n, sizeof(*arrows->ends), by_key);
    for (size_t i = 0; i < arrows->n; i++) {
        const struct pw_arrow_end *end = &arrows->ends[i];
        if (!end->is_head)
            tail = end;
        else if (tail && tail->key == end->key && tail->time <= end->time)
            draw(context, drawn++, tail, end);
    }
    return drawn;
}

void pw_arrows_fini(struct pw_arrows *arrows)
{
    free(arrows->ends);
    *arrows = (struct pw_arrows){0};
}

void pw_message_ends_add(struct pw_message_ends *messages, const struct pw_message_end *end)
{
    void *rows = messages->ends;
    if (messages->n >= MOST_MESSAGES ||
        grow(&rows, &messages->capacity, messages->n, sizeof(*end))) {
        messages->is_too_many = 1;
        return;
    }
    messages->ends = rows;
    messages->ends[messages->n++] = *end;
}

static int by_stream(const void *a, const void *b)
{
    const struct pw_message_end *x = a, *y = b;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    if (x->end.is_head != y->end.is_head)
        return x->end.is_head - y->end.is_head;
    return (x->posted > y->posted) - (x->posted < y->posted);
}

void pw_message_ends_number(struct pw_message_ends *messages, struct pw_arrows *arrows, size_t most)
{
    uint64_t number = 0;
    if (messages->n)
        qsort(messages->ends, messages->n, sizeof(*messages->ends), by_stream);
    for (size_t i = 0; i < messages->n && !messages->is_too_many; i++) {
        struct pw_message_end *m = &messages->ends[i];
        int is_first = i == 0 || m[-1].stream != m->stream || m[-1].end.is_head != m->end.is_head;
        number = is_first ? 0 : number + 1;
        m->end.key = pw_hash_mix(m->stream, number);
        if (m->is_shown)
            pw_arrows_add(arrows, &m->end, most);
    }
    if (messages->is_too_many)
        arrows->left_out += messages->n;
    messages->n = 0;
    messages->is_too_many = 0;
}

void pw_message_ends_fini(struct pw_message_ends *messages)
{
    free(messages->ends);
    *messages = (struct pw_message_ends){0};
}

/* Follows the operators in the order of their starts with a stack of open slices, one for each
 * level. */

/* The character between the levels of a name; '\0': the name has no scope. A name with '.' must be
 * a path of identifiers and numbers: "aten::add.out" and "x 1.5" are none. */
static char separator_of(const char *name)
{
    if (strchr(name, '/'))
        return '/';
    const char *c = name;
    while (isalnum((unsigned char)*c) || *c == '_' || *c == '.')
        c++;
    return *c || !strchr(name, '.') ? '\0' : '.';
}

void pw_scopes_add(struct pw_scopes *s, int64_t start, int64_t end, const char *name)
{
    if (!separator_of(name))
        return;
    struct pw_scoped *v = pw_grow(s->v, s->n, sizeof(*v), &s->capacity);
    s->failed |= !v;
    if (!v)
        return;
    s->v = v;
    s->v[s->n++] = (struct pw_scoped){start, end, name};
}

void pw_scopes_break(struct pw_scopes *s, int64_t time)
{
    int64_t *breaks = pw_grow(s->breaks, s->nbreaks, sizeof(*breaks), &s->breaks_capacity);
    s->failed |= !breaks;
    if (!breaks)
        return;
    s->breaks = breaks;
    s->breaks[s->nbreaks++] = time;
}

/* An open slice. */
struct run {
    const char *name;
    size_t from, to; /* of its level in `name`; the scope is name[0 .. to) */
    int is_operator; /* 1: the last level of an operator's name, not only a scope */
    int64_t start, end;
};

struct drawing {
    struct run open[PW_SCOPE_LEVELS];
    int n, most;
    pw_scope_draw *draw;
    void *context;
};

static void close_from(struct drawing *d, int level, int64_t time)
{
    while (d->n > level) {
        const struct run *run = &d->open[--d->n];
        const struct pw_scope_slice slice = {d->n, run->name + run->from, run->to - run->from,
                                             run->start, run->end < time ? run->end : time};
        d->draw(d->context, &slice);
    }
}

/* Whether the operator's level ending at `to` is in the open slice. An operator that runs again has
 * a slice of its own. */
static int continues(const struct run *run, const struct pw_scoped *op, size_t to, int is_last)
{
    if (run->to != to || memcmp(run->name, op->name, to) != 0)
        return 0;
    return !(is_last && run->is_operator && op->start >= run->end);
}

static void take(struct drawing *d, const struct pw_scoped *op)
{
    const char separator = separator_of(op->name);
    size_t from = 0;
    int level = 0, is_last = 0;
    for (; !is_last; level++) {
        const char *end = strchr(op->name + from, separator);
        is_last = !end || level + 1 == PW_SCOPE_LEVELS;
        const size_t to = is_last ? strlen(op->name) : (size_t)(end - op->name);
        if (level < d->n && !continues(&d->open[level], op, to, is_last))
            close_from(d, level, op->start);
        if (level == d->n)
            d->open[d->n++] = (struct run){op->name, from, to, is_last, op->start, op->end};
        if (d->open[level].end < op->end)
            d->open[level].end = op->end;
        from = to + 1;
    }
    close_from(d, level, op->start);
    d->most = d->n > d->most ? d->n : d->most;
}

static int by_start(const void *a, const void *b)
{
    const struct pw_scoped *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->end < y->end) - (x->end > y->end); /* one that encloses others comes first */
}

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int pw_scopes_draw(struct pw_scopes *s, pw_scope_draw *draw, void *context)
{
    struct drawing d = {.draw = draw, .context = context};
    size_t at = 0;
    pw_sort(s->v, s->n, sizeof(*s->v), by_start);
    pw_sort(s->breaks, s->nbreaks, sizeof(*s->breaks), by_time);
    for (size_t i = 0; i < s->n; i++) {
        for (; at < s->nbreaks && s->breaks[at] <= s->v[i].start; at++)
            close_from(&d, 0, s->breaks[at]);
        take(&d, &s->v[i]);
    }
    close_from(&d, 0, INT64_MAX);
    s->n = 0;
    return d.most;
}

void pw_scopes_fini(struct pw_scopes *s)
{
    free(s->v);
    free(s->breaks);
    *s = (struct pw_scopes){0};
}

/* Passes counters, the lanes of scopes and the tracks of GPUs to the writer. */

int pw_chrome_is_shown(const struct pw_chrome *c, int64_t start, int64_t end)
{
    return start != INT64_MIN && end >= start && start < c->window.until && end >= c->window.from;
}

static void chrome_put_counter(struct pw_chrome *c, const struct pw_rankview *view, int64_t time,
                               struct pw_chrome_counter counter)
{
    const struct pw_track_counter at = {view->rank,   time,         counter.prefix,
                                        counter.name, counter.unit, counter.value};
    c->writer->ops->counter(c->writer, &at);
}

/* Where the slices of scopes go. */
struct lanes {
    struct pw_chrome *c;
    int64_t rank, track;
};

static void put_scope(void *context, const struct pw_scope_slice *slice)
{
    const struct lanes *lanes = context;
    struct pw_chrome *c = lanes->c;
    char text[256];
    const size_t length = slice->length < sizeof(text) ? slice->length : sizeof(text);
    snprintf(text, sizeof(text), "%.*s", (int)length, slice->name);
    const struct pw_track_event scope = {lanes->rank,
                                         lanes->track + slice->level,
                                         slice->start,
                                         slice->end,
                                         "",
                                         text,
                                         "scope",
                                         NULL,
                                         0};
    c->writer->ops->slice(c->writer, &scope);
    c->events++;
}

/* Writes a lane for each level of the scopes of the rank's operators, and of its kernels. */
static void chrome_scopes(struct pw_chrome *c, int64_t rank)
{
    char name[64];
    for (int side = 0; side < PW_SIDES; side++) {
        struct lanes lanes = {c, rank, PW_TRACK_SCOPES + (int64_t)side * PW_SCOPE_LEVELS};
        const int levels = pw_scopes_draw(&c->scopes[side], put_scope, &lanes);
        for (int level = 0; level < levels; level++) {
            snprintf(name, sizeof(name), "%s, level %d",
                     side == PW_SIDE_HOST ? "scope" : "scope of kernels", level + 1);
            c->writer->ops->name_track(c->writer, rank, lanes.track + level, name);
        }
        pw_scopes_fini(&c->scopes[side]);
    }
}

/* ---- the GPUs of a rank ---- */

/* The columns that the tables of kernels, copies and memsets have in common. */
struct activity {
    int64_t start, end, launch;
    int32_t device, thread;
    uint32_t stream, launched_by;
    uint64_t correlation;
};

#define ACTIVITY_OF(row)                                                                      \
    {                                                                                         \
        (row)->start, (row)->end, (row)->launch, (row)->device, (row)->thread, (row)->stream, \
            (row)->launched_by, (row)->correlation                                            \
    }

static int64_t stream_track(const struct activity *a)
{
    return PW_TRACK_STREAMS + ((int64_t)(a->device & 0xff) << 20) + (a->stream & 0xfffff);
}

/* Names a stream's track when the stream appears first. Names at most 64 streams of a rank. */
static void name_track(struct pw_chrome *c, const struct pw_rankview *view,
                       const struct activity *a)
{
    char name[64];
    uint64_t track = (uint64_t)stream_track(a);
    for (size_t i = 0; i < c->ntracks; i++)
        if (c->tracks[i] == track)
            return;
    if (c->ntracks == sizeof(c->tracks) / sizeof(c->tracks[0]))
        return;
    c->tracks[c->ntracks++] = track;
    snprintf(name, sizeof(name), "GPU %d stream %" PRIu32, (int)a->device, a->stream);
    c->writer->ops->name_track(c->writer, view->rank, (int64_t)track, name);
}

/* Draws an arrow from the launching call to the activity, when that call's time and thread are
 * known. */
static void put_launch(struct pw_chrome *c, const struct pw_rankview *view,
                       const struct activity *a, int64_t start)
{
    int64_t launch = a->launch < 0 ? INT64_MIN : pw_rankview_time(view, a->launch);
    if (a->thread < 0 || !pw_chrome_is_shown(c, launch, launch))
        return;
    const struct pw_track_arrow arrow = {"launch",
                                         c->launches,
                                         1,
                                         {view->rank, a->thread, launch},
                                         {view->rank, stream_track(a), start}};
    c->writer->ops->arrow(c->writer, &arrow);
    c->launches++;
}

/* A slice's category and name, and its last argument. The name that is shown is `prefix` followed
 * by `name`. */
struct label {
    const char *category, *prefix, *name;
    struct pw_track_arg args[2];
    size_t nargs;
};

/* Writes a slice. Returns 0, and writes nothing, when the slice is outside the window. */
static int put_slice(struct pw_chrome *c, const struct pw_rankview *view, const struct activity *a,
                     const struct label *label)
{
    int64_t start = pw_rankview_time(view, a->start), end = pw_rankview_time(view, a->end);
    if (!pw_chrome_is_shown(c, start, end))
        return 0;
    name_track(c, view, a);
    put_launch(c, view, a, start);
    struct pw_track_arg args[4] = {{"correlation", NULL, (int64_t)a->correlation},
                                   {"launched by", pw_rankview_text(view, a->launched_by), 0}};
    for (size_t i = 0; i < label->nargs; i++)
        args[2 + i] = label->args[i];
    const struct pw_track_event slice = {view->rank,      stream_track(a), start,           end,
                                         label->prefix,   label->name,     label->category, args,
                                         2 + label->nargs};
    c->writer->ops->slice(c->writer, &slice);
    c->events++;
    return 1;
}

static void visit_kernel(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_chrome *c = context;
    const struct pw_row_kernel *k = row;
    const struct activity a = ACTIVITY_OF(k);
    char grid[48], block[48];
    snprintf(grid, sizeof(grid), "%d,%d,%d", k->grid_x, k->grid_y, k->grid_z);
    snprintf(block, sizeof(block), "%d,%d,%d", k->block_x, k->block_y, k->block_z);
    const struct label label = {
        "kernel", "", pw_rankview_text(view, k->name), {{"grid", grid, 0}, {"block", block, 0}}, 2};
    if (put_slice(c, view, &a, &label) && c->window.has_scopes)
        pw_scopes_add(&c->scopes[PW_SIDE_DEVICE], pw_rankview_time(view, k->start),
                      pw_rankview_time(view, k->end), label.name);
}

static void visit_copy(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_chrome *c = context;
    const struct pw_row_memcpy *m = row;
    const struct activity a = ACTIVITY_OF(m);
    const struct label label = {
        "memcpy", "copy ", pw_enum_name(PW_F_COPY, m->kind), {{"bytes", NULL, m->bytes}}, 1};
    put_slice(c, view, &a, &label);
}

static void visit_memset(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_chrome *c = context;
    const struct pw_row_memset *m = row;
    const struct activity a = ACTIVITY_OF(m);
    const struct label label = {"memset", "", "memset", {{"bytes", NULL, m->bytes}}, 1};
    put_slice(c, view, &a, &label);
}

static void visit_sample(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_chrome *c = context;
    const struct pw_row_gpu *g = row;
    int64_t time = pw_rankview_time(view, g->time);
    char device[32];
    snprintf(device, sizeof(device), "GPU %d ", (int)g->device);
    if (!pw_chrome_is_shown(c, time, time))
        return;
    if (g->sm_clock_mhz >= 0)
        chrome_put_counter(c, view, time,
                           (struct pw_chrome_counter){device, "SM clock", "MHz", g->sm_clock_mhz});
    if (g->power_mw >= 0)
        chrome_put_counter(
            c, view, time,
            (struct pw_chrome_counter){device, "power", "W", (double)g->power_mw / 1000});
    if (g->temperature_c >= 0)
        chrome_put_counter(
            c, view, time,
            (struct pw_chrome_counter){device, "temperature", "C", g->temperature_c});
    if (g->busy_percent >= 0)
        chrome_put_counter(c, view, time,
                           (struct pw_chrome_counter){device, "use", "%", g->busy_percent});
}

/* Writes a rank's GPU activities: a track for each stream, arrows from launches, and counters. */
static void chrome_gpu(struct pw_chrome *c, const struct pw_rankview *view)
{
    static const struct {
        int table;
        pw_row_visitor *visit;
    } tables[] = {{PW_TABLE_kernel, visit_kernel},
                  {PW_TABLE_memcpy, visit_copy},
                  {PW_TABLE_memset, visit_memset},
                  {PW_TABLE_gpu, visit_sample}};
    c->ntracks = 0;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        pw_rankview_read(view, tables[i].table, tables[i].visit, c);
}

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

/* The track of an event: its thread, or for NCCL and HCCL a track for each communicator. */
static uint32_t track_of(const struct pw_row_comm_event *e)
{
    return pw_source_is_on_device(e->source) ? PW_TRACK_NCCL + ((uint32_t)e->comm & 0xffff)
                                             : e->thread;
}

static void put_row_slice(struct pw_chrome *c, const struct pw_rankview *view,
                          const struct pw_row_comm_event *e, int64_t start, int64_t duration)
{
    struct pw_track_arg args[COMM_ARGS];
    const struct pw_track_event slice = {view->rank,
                                         track_of(e),
                                         start,
                                         pw_sum(start, duration),
                                         pw_source_prefix(e->source),
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
    const struct pw_track_event whole = {view->rank,
                                         track_of(e),
                                         start,
                                         end,
                                         pw_source_prefix(e->source),
                                         pw_op_info(e->op)->name,
                                         "nonblocking",
                                         NULL,
                                         0};
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
    put_row_slice(c, view, e, start, is_async ? begun_ns(e) : pw_difference(end, start));
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
        chrome_put_counter(c, view, time,
                           (struct pw_chrome_counter){"", "resident memory", "MiB",
                                                      (double)p->rss_bytes / (1 << 20)});
    double elapsed = (double)p->time - (double)before.time;
    double cpu = ((double)p->cpu_user_ns - (double)before.cpu_user_ns) +
                 ((double)p->cpu_sys_ns - (double)before.cpu_sys_ns);
    if (before.time && elapsed > 0 && cpu >= 0)
        chrome_put_counter(c, view, time,
                           (struct pw_chrome_counter){"", "CPU use", "cores", cpu / elapsed});
}

static void visit_queue(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_chrome *c = context;
    const struct pw_row_queue *q = row;
    int64_t time = pw_rankview_time(view, q->time);
    if (pw_chrome_is_shown(c, time, time))
        chrome_put_counter(c, view, time,
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
        chrome_put_counter(c, view, time,
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
    chrome_gpu(c, view);
    chrome_scopes(c, view->rank);
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
