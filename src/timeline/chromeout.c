/* Passes counters, the lanes of scopes and the tracks of GPUs to the writer; see chromeout.h. */
#include "timeline/chromeout.h"

#include <stdio.h>

int pw_chrome_is_shown(const struct pw_chrome *c, int64_t start, int64_t end)
{
    return start != INT64_MIN && end >= start && start < c->window.until && end >= c->window.from;
}

void pw_chrome_put_counter(struct pw_chrome *c, const struct pw_rankview *view, int64_t time,
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
void pw_chrome_scopes(struct pw_chrome *c, int64_t rank)
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
        pw_chrome_put_counter(
            c, view, time, (struct pw_chrome_counter){device, "SM clock", "MHz", g->sm_clock_mhz});
    if (g->power_mw >= 0)
        pw_chrome_put_counter(
            c, view, time,
            (struct pw_chrome_counter){device, "power", "W", (double)g->power_mw / 1000});
    if (g->temperature_c >= 0)
        pw_chrome_put_counter(
            c, view, time,
            (struct pw_chrome_counter){device, "temperature", "C", g->temperature_c});
    if (g->busy_percent >= 0)
        pw_chrome_put_counter(c, view, time,
                              (struct pw_chrome_counter){device, "use", "%", g->busy_percent});
}

void pw_chrome_gpu(struct pw_chrome *c, const struct pw_rankview *view)
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
