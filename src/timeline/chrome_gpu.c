/* GPU activities as Trace Event JSON; see chrome_parts.h. */
#include <inttypes.h>
#include <string.h>

#include "core/limits.h"
#include "timeline/chrome_parts.h"
#include "timeline/jsonout.h"

/* The part of a row that kernels, copies and memsets share. */
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

static int64_t track_of(const struct activity *a)
{
    return PW_TRACK_STREAMS + ((int64_t)(a->device & 0xff) << 20) + (a->stream & 0xfffff);
}

/* Names the stream's track when it is met first; of very many streams some have no name. */
static void name_track(struct pw_chrome *c, const struct pw_rankview *view,
                       const struct activity *a)
{
    char name[64];
    uint64_t track = (uint64_t)track_of(a);
    for (size_t i = 0; i < c->ntracks; i++)
        if (c->tracks[i] == track)
            return;
    if (c->ntracks == sizeof(c->tracks) / sizeof(c->tracks[0]))
        return;
    c->tracks[c->ntracks++] = track;
    snprintf(name, sizeof(name), "GPU %d stream %" PRIu32, (int)a->device, a->stream);
    pw_chrome_put_meta(c, "thread_name", view->rank, (int64_t)track, name);
}

/* From the call that launched it, where that and its thread are known. */
static void put_launch(struct pw_chrome *c, const struct pw_rankview *view,
                       const struct activity *a, int64_t start)
{
    int64_t launch = a->launch < 0 ? INT64_MIN : pw_rankview_time(view, a->launch);
    if (a->thread < 0 || !pw_chrome_is_shown(c, launch, launch))
        return;
    for (int i = 0; i < 2; i++) {
        pw_chrome_begin_event(c, i ? "f" : "s", view->rank, i ? track_of(a) : a->thread,
                              i ? start : launch);
        fprintf(c->out,
                ",\"name\":\"launch\",\"cat\":\"launch\",\"id\":\"%" PRId64 ".%" PRId64 "\"%s}",
                view->rank, c->launches, i ? ",\"bp\":\"e\"" : "");
    }
    c->launches++;
}

/* A slice up to its arguments, which the caller adds and closes; 0 when it is not shown. */
static int begin_slice(struct pw_chrome *c, const struct pw_rankview *view,
                       const struct activity *a, const char *category, const char *prefix,
                       const char *name)
{
    int64_t start = pw_rankview_time(view, a->start), end = pw_rankview_time(view, a->end);
    if (!pw_chrome_is_shown(c, start, end))
        return 0;
    name_track(c, view, a);
    put_launch(c, view, a, start);
    pw_chrome_begin_event(c, "X", view->rank, track_of(a), start);
    pw_chrome_put_duration(c, pw_difference(end, start));
    pw_chrome_put_name(c, prefix, name);
    fprintf(c->out,
            ",\"cat\":\"%s\",\"args\":{\"correlation\":%" PRIu64 ",\"launched by\":", category,
            a->correlation);
    pw_json_put_text(c->out, pw_rankview_text(view, a->launched_by));
    c->events++;
    return 1;
}

static void visit_kernel(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_chrome *c = context;
    const struct pw_row_kernel *k = row;
    const struct activity a = ACTIVITY_OF(k);
    if (begin_slice(c, view, &a, "kernel", "", pw_rankview_text(view, k->name)))
        fprintf(c->out, ",\"grid\":\"%d,%d,%d\",\"block\":\"%d,%d,%d\"}}", k->grid_x, k->grid_y,
                k->grid_z, k->block_x, k->block_y, k->block_z);
}

static void visit_copy(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_chrome *c = context;
    const struct pw_row_memcpy *m = row;
    const struct activity a = ACTIVITY_OF(m);
    if (begin_slice(c, view, &a, "memcpy", "copy ", pw_enum_name(PW_F_COPY, m->kind)))
        fprintf(c->out, ",\"bytes\":%" PRId64 "}}", m->bytes);
}

static void visit_memset(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_chrome *c = context;
    const struct pw_row_memset *m = row;
    const struct activity a = ACTIVITY_OF(m);
    if (begin_slice(c, view, &a, "memset", "", "memset"))
        fprintf(c->out, ",\"bytes\":%" PRId64 "}}", m->bytes);
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
        pw_chrome_put_counter(c, view, time, device, "SM clock", "MHz", g->sm_clock_mhz);
    if (g->power_mw >= 0)
        pw_chrome_put_counter(c, view, time, device, "power", "W", (double)g->power_mw / 1000);
    if (g->temperature_c >= 0)
        pw_chrome_put_counter(c, view, time, device, "temperature", "C", g->temperature_c);
    if (g->busy_percent >= 0)
        pw_chrome_put_counter(c, view, time, device, "use", "%", g->busy_percent);
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
