/* Writes a timeline as Trace Event JSON; see writer.h. The format: "Trace Event
 * Format", Google, docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "core/text.h"
#include "timeline/writer.h"

/* Escapes text and formats times. */

void pw_json_put_text(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + strlen(text);
    uint32_t code;
    putc('"', out);
    while (at < end) {
        size_t length = pw_utf8_decode(at, (size_t)(end - at), &code);
        if (length == 0)
            fputs("\\ufffd", out);
        else if (length == 1 && (*at < 0x20 || *at == '<' || *at == 0x7f))
            fprintf(out, "\\u%04x", *at);
        else if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else
            fwrite(at, 1, length, out);
        at += length ? length : 1;
    }
    putc('"', out);
}

void pw_json_put_us(FILE *out, int64_t ns)
{
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    fprintf(out, "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "", size / 1000, (unsigned)(size % 1000));
}

struct json {
    struct pw_writer writer; /* first: the functions cast */
    FILE *out;
    int64_t base;
    int has_event;
};

static struct json *of(struct pw_writer *writer)
{
    return (struct json *)writer;
}

/* Writes the start of an event: phase, track and time. The caller writes the other members and the
 * closing brace. */
static void begin(struct json *j, const char *phase, int64_t rank, int64_t track, int64_t time)
{
    fprintf(j->out, "%s\n{\"ph\":\"%s\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":",
            j->has_event ? "," : "", phase, rank, track);
    pw_json_put_us(j->out, pw_difference(time, j->base));
    j->has_event = 1;
}

static void put_name(struct json *j, const char *prefix, const char *name)
{
    fputs(",\"name\":", j->out);
    if (!prefix[0]) {
        pw_json_put_text(j->out, name);
        return;
    }
    char whole[320];
    snprintf(whole, sizeof(whole), "%s%s", prefix, name);
    pw_json_put_text(j->out, whole);
}

/* Names a process (`what` is process_name) or one of its tracks (thread_name). */
static void put_meta(struct json *j, const char *what, int64_t rank, int64_t track,
                     const char *name)
{
    fprintf(j->out, "%s\n{\"ph\":\"M\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"name\":\"%s\"",
            j->has_event ? "," : "", rank, track, what);
    fputs(",\"args\":{\"name\":", j->out);
    pw_json_put_text(j->out, name);
    fputs("}}", j->out);
    j->has_event = 1;
}

static void name_rank(struct pw_writer *writer, const struct pw_rankview *view)
{
    char name[128];
    snprintf(name, sizeof(name), "rank %" PRId64 " on %s", view->rank, view->hostname);
    put_meta(of(writer), "process_name", view->rank, 0, name);
}

static void name_track(struct pw_writer *writer, int64_t rank, int64_t track, const char *name)
{
    put_meta(of(writer), "thread_name", rank, track, name);
}

/* Writes name, category and arguments, and the closing brace. */
static void put_rest(struct json *j, const struct pw_track_event *event)
{
    put_name(j, event->prefix, event->name);
    fprintf(j->out, ",\"cat\":\"%s\"", event->category);
    for (size_t i = 0; i < event->nargs; i++) {
        const struct pw_track_arg *arg = &event->args[i];
        fprintf(j->out, "%s\"%s\":", i ? "," : ",\"args\":{", arg->key);
        if (arg->text)
            pw_json_put_text(j->out, arg->text);
        else
            fprintf(j->out, "%" PRId64, arg->number);
    }
    fputs(event->nargs ? "}}" : "}", j->out);
}

static void put_slice(struct pw_writer *writer, const struct pw_track_event *event)
{
    struct json *j = of(writer);
    const int64_t ns = pw_difference(event->end, event->start);
    begin(j, "X", event->rank, event->track, event->start);
    fputs(",\"dur\":", j->out);
    pw_json_put_us(j->out, ns > 0 ? ns : 0);
    put_rest(j, event);
}

static void put_mark(struct pw_writer *writer, const struct pw_track_event *event)
{
    struct json *j = of(writer);
    begin(j, "i", event->rank, event->track, event->start);
    fputs(",\"s\":\"t\"", j->out);
    put_rest(j, event);
}

static void put_beside(struct pw_writer *writer, const struct pw_track_event *event, int64_t number)
{
    struct json *j = of(writer);
    for (int i = 0; i < 2; i++) {
        begin(j, i ? "e" : "b", event->rank, event->track, i ? event->end : event->start);
        put_name(j, event->prefix, event->name);
        fprintf(j->out, ",\"cat\":\"%s\",\"id\":\"%" PRId64 "\"}", event->category, number);
    }
}

static void put_counter(struct pw_writer *writer, const struct pw_track_counter *counter)
{
    struct json *j = of(writer);
    begin(j, "C", counter->rank, 0, counter->time);
    put_name(j, counter->prefix, counter->name);
    fprintf(j->out, ",\"args\":{\"%s\":%.6g}}", counter->unit, counter->value);
}

static void put_arrow(struct pw_writer *writer, const struct pw_track_arrow *arrow)
{
    struct json *j = of(writer);
    for (int i = 0; i < 2; i++) {
        const struct pw_track_point *at = i ? &arrow->to : &arrow->from;
        begin(j, i ? "f" : "s", at->rank, at->track, at->time);
        fprintf(j->out, ",\"name\":\"%s\",\"cat\":\"%s\",\"id\":", arrow->name,
                arrow->is_launch ? "launch" : "arrow");
        if (arrow->is_launch)
            fprintf(j->out, "\"%" PRId64 ".%" PRId64 "\"", arrow->to.rank, arrow->number);
        else
            fprintf(j->out, "%" PRId64, arrow->number);
        fputs(i ? ",\"bp\":\"e\"}" : "}", j->out);
    }
}

static void end_rank(struct pw_writer *writer)
{
    (void)writer;
}

static int end(struct pw_writer *writer)
{
    fputs("\n]}\n", of(writer)->out);
    free(writer);
    return 0;
}

struct pw_writer *pw_jsonwriter_create(FILE *out, const struct pw_writer_head *head)
{
    static const struct pw_writer_ops ops = {name_rank, name_track, put_slice,
                                             put_mark,  put_beside, put_counter,
                                             put_arrow, end_rank,   end};
    struct json *j = calloc(1, sizeof(*j));
    if (!j)
        return NULL;
    *j = (struct json){.writer = {&ops}, .out = out, .base = head->base};
    fputs("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"job\":", out);
    pw_json_put_text(out, head->job);
    fputs(",\"command\":", out);
    pw_json_put_text(out, head->command);
    fputs("},\"traceEvents\":[", out);
    return &j->writer;
}
