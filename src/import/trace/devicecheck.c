/* Looks for impossible times of device activities; see devicecheck.h. */
#include "import/trace/devicecheck.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"

/* The clocks of host and device, as the profiler converts them, differ by less than LAUNCH_NS;
 * kernels of one stream that are launched for it (programmatic dependent launch) overlap by less
 * than OVERLAP_NS. LONG_NS: an overlap that no conversion explains, whichever ends first. */
#define LAUNCH_NS ((int64_t)1000000)
#define OVERLAP_NS ((int64_t)100000)
#define LONG_NS ((int64_t)10000000)

enum {
    MOST_STREAMS = 1024,
    CLOCKS_DIFFER = 2, /* where more than one of so many is before its launch, the clocks differ */
    PART_OF_TRACE = 2, /* where more than one of so many is outside, the host's events are a part */
};

/* The last activity of a stream that is not left out. */
struct stream {
    int32_t device;
    uint32_t stream;
    int64_t number, end;
    uint64_t correlation;
    int is_in_graph;
};

struct checking {
    struct pw_trace *trace;
    struct pw_device_check *out;
    int drops_zero;            /* as in the window */
    int64_t first_ns, last_ns; /* of the trace; INT64_MIN, INT64_MAX: not known */
    int64_t slack_ns;          /* an activity may begin and end so long behind the one before it */
    struct stream streams[MOST_STREAMS];
    size_t nstreams, last;
    int64_t launched, early; /* activities with a launch, and before it */
    int64_t all, outside;
};

/* An activity may reach beyond the events of the host, or beyond the activity before it, by as much
 * as the host's events take, since the profiler ends when the device has done its work. */
static void find_span(const struct pw_trace_window *w, struct checking *c)
{
    c->first_ns = INT64_MIN;
    c->last_ns = INT64_MAX;
    if (w->end_ns < w->start_ns)
        return;
    const int64_t length = pw_difference(w->end_ns, w->start_ns);
    c->slack_ns = length > LONG_NS ? length : LONG_NS;
    c->first_ns = w->start_ns - c->slack_ns;
    c->last_ns = pw_sum(w->end_ns, w->has_span ? LONG_NS : c->slack_ns);
}

static struct stream *find_stream(struct checking *c, const struct pw_device_record *d)
{
    for (size_t i = 0; i < c->nstreams; i++) {
        struct stream *s = &c->streams[(c->last + i) % c->nstreams];
        if (s->device != d->device || s->stream != d->stream)
            continue;
        c->last = (size_t)(s - c->streams);
        return s;
    }
    if (c->nstreams == MOST_STREAMS)
        return NULL;
    struct stream *s = &c->streams[c->nstreams++];
    *s = (struct stream){.device = d->device, .stream = d->stream, .number = -1};
    return s;
}

static void leave_out(struct checking *c, int64_t number, enum pw_omission why)
{
    c->out->bits[number / 8] |= (uint8_t)(1 << (number % 8));
    c->trace->counts.omitted[why]++;
    c->trace->counts.taken--;
}

/* Whether the stream's last activity cannot have lasted as long as it says. Kernels of one replay
 * of a graph may overlap. */
static int is_too_long(const struct stream *s, const struct pw_device_record *next)
{
    const int64_t overlap_ns = s->end - next->start;
    if (s->number < 0 || s->is_in_graph || next->graph_node ||
        (s->correlation && s->correlation == next->correlation))
        return 0;
    return overlap_ns > LONG_NS || (overlap_ns > OVERLAP_NS && s->end >= next->end);
}

static int is_at_zero(const struct checking *c, const struct pw_device_record *d)
{
    return d->start == 0 && c->drops_zero;
}

/* Whether it is outside the trace, whose end moves with the activities that are not. `end` is that
 * end. */
static int is_outside(const struct checking *c, const struct pw_device_record *d, int64_t *end)
{
    if (is_at_zero(c, d) || d->start < c->first_ns || d->end > *end)
        return 1;
    const int64_t next = pw_sum(d->end, c->slack_ns);
    *end = c->last_ns < INT64_MAX && next > *end ? next : *end;
    return 0;
}

static int is_early(const struct pw_device_record *d)
{
    return d->launch >= 0 && d->start < d->launch - LAUNCH_NS;
}

static void check(struct checking *c, const struct pw_device_record *d, int64_t number,
                  int64_t *end)
{
    c->all++;
    c->outside += is_outside(c, d, end);
    c->launched += d->launch >= 0;
    c->early += is_early(d);
    struct stream *s = is_early(d) ? NULL : find_stream(c, d); /* else it would contradict others */
    if (!s)
        return;
    if (is_too_long(s, d)) {
        int64_t *most = &c->trace->counts.most_overlap_ns;
        *most = s->end - d->start > *most ? s->end - d->start : *most;
        leave_out(c, s->number, PW_OMIT_TOO_LONG);
    }
    *s = (struct stream){
        .device = d->device,
        .stream = d->stream,
        .number = number,
        .end = d->end,
        .correlation = d->correlation,
        .is_in_graph = d->graph_node != 0,
    };
}

/* The second pass: leaves out what is before its launch or outside the trace, unless that is usual,
 * and finds the span of the rest. It is usual to be outside where the trace is a part of a longer
 * one, such as one step, and the host was ahead of the device. */
static int finish(struct checking *c, struct pw_sorter *placed)
{
    const int clocks_differ = c->early * CLOCKS_DIFFER > c->launched;
    const int is_part = c->outside * PART_OF_TRACE > c->all;
    int64_t number = 0, end = c->last_ns;
    int err = pw_sorter_rewind(placed);
    for (const struct pw_device_record *d; !err && (d = pw_sorter_next(placed)); number++) {
        if (pw_device_is_left_out(c->out, number))
            continue;
        const int early = is_early(d) && !clocks_differ;
        if (early || (is_part ? is_at_zero(c, d) : is_outside(c, d, &end))) {
            leave_out(c, number, early ? PW_OMIT_EARLY : PW_OMIT_OUTSIDE);
            continue;
        }
        c->out->start_ns = d->start < c->out->start_ns ? d->start : c->out->start_ns;
        c->out->end_ns = d->end > c->out->end_ns ? d->end : c->out->end_ns;
    }
    if (c->early && clocks_differ)
        c->trace->counts.before_launch += c->early;
    return err ? err : pw_sorter_error(placed);
}

int pw_device_check(const struct pw_trace_window *window, struct pw_sorter *placed,
                    struct pw_device_check *out)
{
    struct checking *c = calloc(1, sizeof(*c));
    *out = (struct pw_device_check){
        .bits = calloc((size_t)pw_sorter_count(placed) / 8 + 1, 1),
        .start_ns = INT64_MAX,
        .end_ns = INT64_MIN,
    };
    int err = c && out->bits ? 0 : -ENOMEM;
    if (!err) {
        int64_t number = 0, end;
        c->trace = window->trace;
        c->out = out;
        c->drops_zero = window->drops_zero;
        find_span(window, c);
        end = c->last_ns;
        for (const struct pw_device_record *d; (d = pw_sorter_next(placed)); number++)
            check(c, d, number, &end);
        err = pw_sorter_error(placed);
        err = err ? err : finish(c, placed);
        err = err ? err : pw_sorter_rewind(placed);
    }
    free(c);
    return err;
}

void pw_device_check_fini(struct pw_device_check *check)
{
    free(check->bits);
    check->bits = NULL;
}
