/* Passes counters and the lanes of scopes to the writer; see chromeout.h. */
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
