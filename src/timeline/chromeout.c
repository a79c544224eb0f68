/* Writes parts of events, and the lanes of scopes; see chromeout.h. */
#include "timeline/chromeout.h"

#include <inttypes.h>

#include "core/limits.h"
#include "timeline/jsonout.h"

/* Writes the start of an event: phase, track and time. The caller writes the other members and the
 * closing brace. */
void pw_chrome_begin_event(struct pw_chrome *c, const char *phase, int64_t rank, int64_t track,
                           int64_t time)
{
    fprintf(c->out, "%s\n{\"ph\":\"%s\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":",
            c->has_event ? "," : "", phase, rank, track);
    pw_json_put_us(c->out, pw_difference(time, c->window.base));
    c->has_event = 1;
}

void pw_chrome_put_name(struct pw_chrome *c, const char *prefix, const char *name)
{
    fputs(",\"name\":", c->out);
    if (!prefix[0]) {
        pw_json_put_text(c->out, name);
        return;
    }
    char whole[320];
    snprintf(whole, sizeof(whole), "%s%s", prefix, name);
    pw_json_put_text(c->out, whole);
}

void pw_chrome_put_duration(struct pw_chrome *c, int64_t ns)
{
    fputs(",\"dur\":", c->out);
    pw_json_put_us(c->out, ns > 0 ? ns : 0);
}

/* Names a process (`what` is process_name) or one of its tracks (thread_name). */
void pw_chrome_put_meta(struct pw_chrome *c, const char *what, int64_t rank, int64_t track,
                        const char *name)
{
    fprintf(c->out, "%s\n{\"ph\":\"M\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"name\":\"%s\"",
            c->has_event ? "," : "", rank, track, what);
    fputs(",\"args\":{\"name\":", c->out);
    pw_json_put_text(c->out, name);
    fputs("}}", c->out);
    c->has_event = 1;
}

int pw_chrome_is_shown(const struct pw_chrome *c, int64_t start, int64_t end)
{
    return start != INT64_MIN && end >= start && start < c->window.until && end >= c->window.from;
}

void pw_chrome_put_counter(struct pw_chrome *c, const struct pw_rankview *view, int64_t time,
                           struct pw_chrome_counter counter)
{
    pw_chrome_begin_event(c, "C", view->rank, 0, time);
    pw_chrome_put_name(c, counter.prefix, counter.name);
    fprintf(c->out, ",\"args\":{\"%s\":%.6g}}", counter.unit, counter.value);
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
    pw_chrome_begin_event(c, "X", lanes->rank, lanes->track + slice->level, slice->start);
    pw_chrome_put_duration(c, pw_difference(slice->end, slice->start));
    pw_chrome_put_name(c, "", text);
    fputs(",\"cat\":\"scope\"}", c->out);
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
            pw_chrome_put_meta(c, "thread_name", rank, lanes.track + level, name);
        }
        pw_scopes_fini(&c->scopes[side]);
    }
}
