/* What a timeline consists of, for the writers of its formats: jsonwriter.c writes Trace Event
 * JSON, perfetto.c Perfetto's protobuf. Called by chrome.c, which reads the tables.
 * Times are ns of the cluster clock. A writer keeps no pointer that it is given. */
#ifndef PW_TIMELINE_WRITER_H
#define PW_TIMELINE_WRITER_H

#include <stdint.h>
#include <stdio.h>

#include "timeline/rankview.h"

/* The first track numbers for a rank's steps, NCCL communicators, levels of scopes and GPU streams;
 * smaller numbers are the rank's threads. */
enum {
    PW_TRACK_STEPS = 1 << 16,
    PW_TRACK_NCCL = 1 << 17,
    PW_TRACK_SCOPES = 1 << 18,
    PW_TRACK_STREAMS = 1 << 20
};

/* The part of the run to show: events that overlap [from, until), ns of the cluster clock. `base`
 * is the time that the trace calls 0. */
struct pw_chrome_window {
    int64_t from, until, base;
    int has_scopes;  /* 1: also lanes for the levels of scopes */
    int is_perfetto; /* 1: Perfetto's protobuf; 0: JSON */
};

struct pw_track_arg {
    const char *key;
    const char *text; /* NULL: the value is `number` */
    int64_t number;
};

/* An event on a track. The name that is shown is `prefix` followed by `name`. */
struct pw_track_event {
    int64_t rank, track, start, end;
    const char *prefix, *name, *category;
    const struct pw_track_arg *args;
    size_t nargs;
};

struct pw_track_point {
    int64_t rank, track, time;
};

/* An arrow. `number` identifies it among those of its category, and of rank to.rank if is_launch.
 */
struct pw_track_arrow {
    const char *name;
    int64_t number;
    int is_launch; /* 1: the slice to which it leads is written next */
    struct pw_track_point from, to;
};

struct pw_track_counter {
    int64_t rank, time;
    const char *prefix, *name, *unit;
    double value;
};

struct pw_writer;

struct pw_writer_ops {
    /* A rank begins: its events follow until end_rank. */
    void (*rank)(struct pw_writer *writer, const struct pw_rankview *view);
    void (*name_track)(struct pw_writer *writer, int64_t rank, int64_t track, const char *name);
    void (*slice)(struct pw_writer *writer, const struct pw_track_event *event);
    /* A moment: `end` of the event is not used. */
    void (*mark)(struct pw_writer *writer, const struct pw_track_event *event);
    /* An operation that goes on beside its track's slices; `number` identifies it. */
    void (*beside)(struct pw_writer *writer, const struct pw_track_event *event, int64_t number);
    void (*counter)(struct pw_writer *writer, const struct pw_track_counter *counter);
    void (*arrow)(struct pw_writer *writer, const struct pw_track_arrow *arrow);
    void (*end_rank)(struct pw_writer *writer);
    /* Ends the output and frees the writer. Returns 0 or -ENOMEM. */
    int (*end)(struct pw_writer *writer);
};

struct pw_writer {
    const struct pw_writer_ops *ops;
};

/* Names and times of a job, as the heads of both formats have them. `base` is the time that the
 * trace calls 0. */
struct pw_writer_head {
    const char *job, *command;
    int64_t base;
};

/* Return a writer, or NULL when memory is short. */
struct pw_writer *pw_jsonwriter_create(FILE *out, const struct pw_writer_head *head);
struct pw_writer *pw_perfetto_create(FILE *out, const struct pw_writer_head *head);

/* ---- single values of JSON, straight to a stream, because a timeline is too long to be built in
 * memory first (jsonwriter.c); they report no errors: the caller asks ferror ---- */

/* Writes a string with its quotes. Bytes that are not UTF-8 become U+FFFD. Control characters,
 * quotes and backslashes are escaped, and so is '<', so that the text may be put into an HTML
 * page. */
void pw_json_put_text(FILE *out, const char *text);

/* Writes nanoseconds as microseconds with three decimals, exactly (a double would round long
 * times). */
void pw_json_put_us(FILE *out, int64_t ns);

#endif
