/* Writes a timeline as packets of Perfetto's protobuf; see writer.h, and perfettofields.h for the
 * schema.
 *
 * Tracks are a tree: hosts, their ranks, the ranks' threads, streams and counters. Texts are
 * written once, and referred to by number. Packets are compressed in bundles, as the schema allows.
 *
 * Slices of a track must be nested, and begin and end in packets of their own. So the slices of a
 * rank are kept until its end, sorted, and put on lanes: a slice that overlaps the end of the one
 * that encloses it goes to another lane of the same name. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/grow.h"
#include "core/hash.h"
#include "core/limits.h"
#include "core/sort.h"
#include "core/text.h"
#include "timeline/perfettofields.h"
#include "timeline/writer.h"

/* Encodes fields of protocol buffers into a growing buffer: varints, fixed numbers, bytes. The
 * encoding: protobuf.dev/programming-guides/encoding. Allocates; no I/O. */

/* An empty buffer is {0}. After memory was short, `failed` is 1 and the content is useless. */
struct pw_proto {
    unsigned char *bytes;
    size_t n, capacity;
    int failed;
};

enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };

static void proto_fini(struct pw_proto *to)
{
    free(to->bytes);
    *to = (struct pw_proto){0};
}

/* Fields that are encoded already. */
static void proto_raw(struct pw_proto *to, const void *bytes, size_t n)
{
    if (to->capacity - to->n < n) {
        size_t capacity = to->capacity ? to->capacity : 256;
        while (capacity - to->n < n)
            capacity *= 2;
        void *moved = realloc(to->bytes, capacity);
        to->failed |= !moved;
        if (!moved)
            return;
        to->bytes = moved;
        to->capacity = capacity;
    }
    if (n)
        memcpy(to->bytes + to->n, bytes, n);
    to->n += n;
}

/* A number without a field, a field with a number, a double, or a fixed64. Negative numbers are
 * encoded as int64. */
static void proto_varint(struct pw_proto *to, uint64_t value)
{
    unsigned char bytes[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (unsigned char)(value | 0x80);
    bytes[n++] = (unsigned char)value;
    proto_raw(to, bytes, n);
}

static void put_tag(struct pw_proto *to, int field, int type)
{
    proto_varint(to, (uint64_t)field << 3 | (uint64_t)type);
}

static void proto_number(struct pw_proto *to, int field, uint64_t value)
{
    put_tag(to, field, VARINT);
    proto_varint(to, value);
}

static void proto_fixed64(struct pw_proto *to, int field, uint64_t value)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    put_tag(to, field, FIXED64);
    proto_raw(to, bytes, sizeof(bytes));
}

static void proto_double(struct pw_proto *to, int field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    proto_fixed64(to, field, bits);
}

/* A field of bytes, and one with a text. Bytes of the text that are not UTF-8 become U+FFFD. */
static void proto_bytes(struct pw_proto *to, int field, const void *bytes, size_t n)
{
    put_tag(to, field, BYTES);
    proto_varint(to, n);
    proto_raw(to, bytes, n);
}

/* A field with a message. */
static void proto_message(struct pw_proto *to, int field, const struct pw_proto *message)
{
    to->failed |= message->failed;
    proto_bytes(to, field, message->bytes, message->n);
}

static void proto_text(struct pw_proto *to, int field, const char *text)
{
    static const char unknown[] = "\xef\xbf\xbd"; /* U+FFFD */
    const unsigned char *at = (const unsigned char *)text, *end = at + strlen(text);
    struct pw_proto valid = {0};
    uint32_t code;
    while (at < end) {
        const size_t length = pw_utf8_decode(at, (size_t)(end - at), &code);
        proto_raw(&valid, length ? (const void *)at : unknown, length ? length : 3);
        at += length ? length : 1;
    }
    proto_message(to, field, &valid);
    proto_fini(&valid);
}

/* Bytes of packets in a bundle: a compressed packet must be smaller than 512 KiB. */
enum { BUNDLE = 256 << 10, MOST_LANES = 64 };

/* What texts are for; each kind has numbers of its own. The value is the field of InternedData. */
enum text_kind { CATEGORIES = 1, NAMES = 2, ARG_NAMES = 3, ARG_TEXTS = 29 };

struct text {
    enum text_kind kind;
    char *text;
};

struct text_key {
    enum text_kind kind;
    const char *text;
};

/* A track: key is the rank and the track's number, and what else distinguishes it. A host has the
 * rank -1. */
struct track_key {
    int64_t rank, track;
    int32_t lane;  /* lanes beside the first */
    int32_t named; /* of a counter or a host: the number of the text that names it; else 0 */
};

struct slice {
    int64_t track, start, end;
    size_t order;           /* in which the slices came */
    size_t args, args_size; /* where its arguments are, encoded */
    uint64_t flow;          /* 0: none */
    uint32_t name, category;
    uint8_t is_mark, is_beside;
};

/* A moment at which a rank's clock showed `local`, ns. */
struct moment {
    int64_t time, rank, local;
};

struct perfetto {
    struct pw_writer writer; /* first: the functions cast */
    FILE *out;
    int64_t base;
    struct pw_proto bundle, packet, event, part; /* `bundle` waits for compression */
    struct text *texts;
    struct track_key *tracks;
    size_t ntexts, texts_capacity, ntracks, tracks_capacity;
    struct pw_hash text_hash, track_hash;
    uint64_t next_track, rank_track;
    int64_t rank;
    struct slice *slices; /* of the rank */
    size_t nslices, slices_capacity;
    struct pw_proto args; /* of the rank's slices */
    struct {
        int64_t track;
        char name[128];
    } names[256]; /* of the rank's tracks */
    size_t nnames;
    uint64_t nflows, pending_flow; /* pending: of the launch that leads to the next slice */
    struct moment *moments;
    size_t nmoments, moments_capacity;
    uint64_t *ids; /* [ntracks] */
    size_t ids_capacity;
    int failed;
};

static struct perfetto *of(struct pw_writer *writer)
{
    return (struct perfetto *)writer;
}

/* ---- packets ---- */

/* Compresses the bundle, and writes it as one packet. */
static void flush(struct perfetto *p)
{
    uLongf size = compressBound(p->bundle.n);
    unsigned char *compressed = p->bundle.n ? malloc(size) : NULL;
    p->failed |= p->bundle.failed || (p->bundle.n && !compressed);
    if (compressed && compress2(compressed, &size, p->bundle.bytes, p->bundle.n, 6) == Z_OK) {
        struct pw_proto packet = {0}, whole = {0};
        proto_bytes(&packet, PACKET_COMPRESSED, compressed, size);
        proto_message(&whole, TRACE_PACKET, &packet);
        p->failed |= whole.failed;
        fwrite(whole.bytes, 1, whole.n, p->out);
        proto_fini(&packet);
        proto_fini(&whole);
    }
    free(compressed);
    p->bundle.n = 0;
}

/* Ends the packet that is being built. */
static void end_packet(struct perfetto *p)
{
    proto_message(&p->bundle, TRACE_PACKET, &p->packet);
    p->packet.n = 0;
    if (p->bundle.n >= BUNDLE)
        flush(p);
}

static uint64_t trace_time(const struct perfetto *p, int64_t time)
{
    const int64_t since = pw_difference(time, p->base);
    return since > 0 ? (uint64_t)since : 0;
}

/* Writes the event that is being built. */
static void end_event(struct perfetto *p, int64_t time)
{
    proto_number(&p->packet, PACKET_TIME, trace_time(p, time));
    proto_number(&p->packet, PACKET_SEQUENCE, SEQUENCE);
    proto_number(&p->packet, PACKET_FLAGS, FLAG_NEEDS_TEXTS);
    proto_message(&p->packet, PACKET_EVENT, &p->event);
    p->event.n = 0;
    end_packet(p);
}

/* ---- texts ---- */

static int same_text(const void *items, int32_t item, const void *key)
{
    const struct text *x = (const struct text *)items + item;
    const struct text_key *y = key;
    return x->kind == y->kind && strcmp(x->text, y->text) == 0;
}

/* Returns the number of a text; writes the text when it is new. 0: memory is short. */
static uint32_t number_of(struct perfetto *p, enum text_kind kind, const char *text)
{
    const struct text_key key = {kind, text};
    uint32_t hash = (uint32_t)kind;
    for (const char *at = text; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    p->failed |= pw_hash_reserve(&p->text_hash) != 0;
    struct text *grown = pw_grow(p->texts, p->ntexts, sizeof(*grown), &p->texts_capacity);
    p->failed |= !grown;
    if (p->failed)
        return 0;
    p->texts = grown;
    struct pw_hash_slot *slot = pw_hash_find(&p->text_hash, hash, same_text, p->texts, &key);
    if (slot->item != PW_HASH_NONE)
        return (uint32_t)slot->item + 1;
    char *copy = strdup(text);
    p->failed |= !copy;
    if (!copy)
        return 0;
    p->texts[p->ntexts] = (struct text){kind, copy};
    pw_hash_take(&p->text_hash, slot, hash, (int32_t)p->ntexts++);
    struct pw_proto interned = {0}, one = {0};
    proto_number(&one, TEXT_ID, p->ntexts);
    proto_text(&one, TEXT_TEXT, text);
    proto_message(&interned, (int)kind, &one);
    proto_number(&p->packet, PACKET_SEQUENCE, SEQUENCE);
    proto_number(&p->packet, PACKET_FLAGS,
                 p->ntexts == 1 ? FLAG_CLEARED | FLAG_NEEDS_TEXTS : FLAG_NEEDS_TEXTS);
    proto_message(&p->packet, PACKET_INTERNED, &interned);
    end_packet(p);
    proto_fini(&one);
    proto_fini(&interned);
    return (uint32_t)p->ntexts;
}

/* ---- tracks ---- */

static int same_track(const void *items, int32_t item, const void *key)
{
    const struct track_key *x = (const struct track_key *)items + item, *y = key;
    return x->rank == y->rank && x->track == y->track && x->lane == y->lane && x->named == y->named;
}

/* Returns the place of a track in p->ids, whose value is 0 when it is new; NULL: memory is short.
 */
static uint64_t *track_at(struct perfetto *p, const struct track_key *key)
{
    const uint32_t hash =
        (uint32_t)pw_hash_mix(pw_hash_mix((uint64_t)key->rank, (uint64_t)key->track),
                              (uint64_t)key->lane << 32 | (uint32_t)key->named);
    p->failed |= pw_hash_reserve(&p->track_hash) != 0;
    struct track_key *keys = pw_grow(p->tracks, p->ntracks, sizeof(*keys), &p->tracks_capacity);
    p->tracks = keys ? keys : p->tracks;
    uint64_t *ids = pw_grow(p->ids, p->ntracks, sizeof(*ids), &p->ids_capacity);
    p->ids = ids ? ids : p->ids;
    p->failed |= !keys || !ids;
    if (p->failed)
        return NULL;
    struct pw_hash_slot *slot = pw_hash_find(&p->track_hash, hash, same_track, p->tracks, key);
    if (slot->item == PW_HASH_NONE) {
        p->tracks[p->ntracks] = *key;
        p->ids[p->ntracks] = 0;
        pw_hash_take(&p->track_hash, slot, hash, (int32_t)p->ntracks++);
    }
    return &p->ids[slot->item];
}

/* Writes the description of a new track; `place` < 0: it has no place among its siblings. `unit`
 * is of a counter; NULL: it is none. Returns the track's id. */
static uint64_t describe_track(struct perfetto *p, uint64_t parent, const char *name, int64_t place,
                               const char *unit)
{
    struct pw_proto track = {0}, counter = {0};
    proto_number(&track, TRACK_ID, ++p->next_track);
    proto_text(&track, TRACK_NAME, name);
    if (parent)
        proto_number(&track, TRACK_PARENT, parent);
    if (unit) {
        proto_text(&counter, COUNTER_UNIT, unit);
        proto_message(&track, TRACK_COUNTER, &counter);
    }
    proto_number(&track, TRACK_ORDER, IN_PLACES);
    if (place >= 0)
        proto_number(&track, TRACK_PLACE, (uint64_t)(place > INT32_MAX ? INT32_MAX : place));
    proto_number(&p->packet, PACKET_SEQUENCE, SEQUENCE);
    proto_message(&p->packet, PACKET_TRACK, &track);
    end_packet(p);
    proto_fini(&counter);
    proto_fini(&track);
    return p->next_track;
}

static const char *name_of(const struct perfetto *p, int64_t track, char out[32])
{
    for (size_t i = 0; i < p->nnames; i++)
        if (p->names[i].track == track)
            return p->names[i].name;
    snprintf(out, 32, "thread %" PRId64, track);
    return out;
}

/* The id of a track of the current rank. Beside slices, a lane has slices that overlap. */
static uint64_t lane_of(struct perfetto *p, int64_t track, int lane, int is_beside)
{
    char name[32], beside[160];
    const struct track_key key = {p->rank, track, is_beside ? -1 - lane : lane, 0};
    uint64_t *id = track_at(p, &key);
    if (!id)
        return 0;
    if (!*id) {
        const char *shown = name_of(p, track, name);
        snprintf(beside, sizeof(beside), "%s, nonblocking", shown);
        const uint64_t made =
            describe_track(p, p->rank_track, is_beside ? beside : shown,
                           2 * (track == PW_TRACK_STEPS ? 0 : track + 1) + is_beside, NULL);
        *id = made;
    }
    return *id;
}

/* ---- a rank ---- */

/* Keeps how the rank's clock relates to the cluster's, and writes the error of that as a counter.
 */
static void put_clock(struct perfetto *p, const struct pw_rankview *view)
{
    for (size_t i = 0; i < view->nknots; i++) {
        const struct pw_row_clock *knot = &view->knots[i];
        const int64_t time = pw_sum(knot->local_ns, knot->offset_ns);
        if (knot->local_ns < 0 || time < p->base)
            continue;
        struct moment *v = pw_grow(p->moments, p->nmoments, sizeof(*v), &p->moments_capacity);
        p->failed |= !v;
        if (!v)
            return;
        p->moments = v;
        v[p->nmoments++] = (struct moment){time, view->rank, knot->local_ns};
        const struct pw_track_counter error = {
            view->rank, time, "", "clock error, at most", "ns", (double)knot->error_ns};
        p->writer.ops->counter(&p->writer, &error);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static void add_clock(struct pw_proto *snapshot, uint64_t id, uint64_t time)
{
    struct pw_proto clock = {0};
    proto_number(&clock, CLOCK_ID, id);
    proto_number(&clock, CLOCK_TIME, time);
    proto_message(snapshot, CLOCKS_CLOCK, &clock);
    proto_fini(&clock);
}

/* Writes the moments in the order of time, as a reader demands. */
static void put_moments(struct perfetto *p)
{
    pw_sort(p->moments, p->nmoments, sizeof(*p->moments), by_time);
    for (size_t i = 0; i < p->nmoments; i++) {
        const struct moment *at = &p->moments[i];
        struct pw_proto snapshot = {0};
        add_clock(&snapshot, BOOTTIME, trace_time(p, at->time));
        add_clock(&snapshot, (uint64_t)(FIRST_CLOCK + at->rank), (uint64_t)at->local);
        proto_message(&p->packet, PACKET_CLOCKS, &snapshot);
        end_packet(p);
        proto_fini(&snapshot);
    }
}

static void name_rank(struct pw_writer *writer, const struct pw_rankview *view)
{
    struct perfetto *p = of(writer);
    char name[96];
    snprintf(name, sizeof(name), "host %.63s", view->hostname);
    const struct track_key host = {-1, -1, 0, (int32_t)number_of(p, NAMES, name)};
    uint64_t *id = track_at(p, &host);
    if (!id)
        return;
    const int is_new = !*id;
    if (is_new)
        *id = describe_track(p, 0, name, view->rank, NULL);
    const uint64_t host_track = *id;
    snprintf(name, sizeof(name), "rank %" PRId64, view->rank);
    p->rank = view->rank;
    p->rank_track = describe_track(p, host_track, name, view->rank, NULL);
    p->nslices = p->nnames = p->args.n = 0;
    if (is_new)
        put_clock(p, view);
}

static void name_track(struct pw_writer *writer, int64_t rank, int64_t track, const char *name)
{
    struct perfetto *p = of(writer);
    (void)rank;
    if (p->nnames == sizeof(p->names) / sizeof(p->names[0]))
        return;
    p->names[p->nnames].track = track;
    snprintf(p->names[p->nnames++].name, sizeof(p->names[0].name), "%s", name);
}

static void encode_arg(struct perfetto *p, const struct pw_track_arg *arg)
{
    const uint32_t name = number_of(p, ARG_NAMES, arg->key);
    const uint32_t text = arg->text ? number_of(p, ARG_TEXTS, arg->text) : 0;
    p->part.n = 0;
    proto_number(&p->part, ARG_NAME, name);
    if (arg->text)
        proto_number(&p->part, ARG_TEXT, text);
    else
        proto_number(&p->part, ARG_NUMBER, (uint64_t)arg->number);
    proto_message(&p->args, EVENT_ARG, &p->part);
}

static void keep(struct perfetto *p, const struct pw_track_event *event, int is_mark, int is_beside)
{
    char whole[320];
    struct slice *v = pw_grow(p->slices, p->nslices, sizeof(*v), &p->slices_capacity);
    p->failed |= !v;
    if (!v)
        return;
    p->slices = v;
    snprintf(whole, sizeof(whole), "%s%s", event->prefix, event->name);
    struct slice one = {.track = event->track,
                        .start = event->start,
                        .end = is_mark || event->end < event->start ? event->start : event->end,
                        .order = p->nslices,
                        .args = p->args.n,
                        .flow = p->pending_flow,
                        .name = number_of(p, NAMES, whole),
                        .category = number_of(p, CATEGORIES, event->category),
                        .is_mark = (uint8_t)is_mark,
                        .is_beside = (uint8_t)is_beside};
    for (size_t i = 0; i < event->nargs; i++)
        if (!event->args[i].text || event->args[i].text[0])
            encode_arg(p, &event->args[i]);
    one.args_size = p->args.n - one.args;
    p->slices[p->nslices++] = one;
    p->pending_flow = 0;
}

static void put_slice(struct pw_writer *writer, const struct pw_track_event *event)
{
    keep(of(writer), event, 0, 0);
}

static void put_mark(struct pw_writer *writer, const struct pw_track_event *event)
{
    keep(of(writer), event, 1, 0);
}

static void put_beside(struct pw_writer *writer, const struct pw_track_event *event, int64_t number)
{
    (void)number;
    keep(of(writer), event, 0, 1);
}

static void put_counter(struct pw_writer *writer, const struct pw_track_counter *counter)
{
    struct perfetto *p = of(writer);
    char name[320];
    snprintf(name, sizeof(name), "%s%s", counter->prefix, counter->name);
    const struct track_key key = {counter->rank, -1, 0, (int32_t)number_of(p, NAMES, name)};
    uint64_t *id = track_at(p, &key);
    if (!id)
        return;
    if (!*id)
        *id = describe_track(p, p->rank_track, name, INT32_MAX, counter->unit);
    proto_number(&p->event, EVENT_TYPE, TYPE_COUNTER);
    proto_number(&p->event, EVENT_TRACK, *id);
    proto_double(&p->event, EVENT_VALUE, counter->value);
    end_event(p, counter->time);
}

/* Writes a moment at an end of an arrow. Nothing, where the track is not known. */
static void put_end(struct perfetto *p, const struct pw_track_point *at, const char *name,
                    uint64_t flow)
{
    const struct track_key key = {at->rank, at->track, 0, 0};
    uint64_t *id = track_at(p, &key);
    if (!id || !*id)
        return;
    const uint32_t text = number_of(p, NAMES, name);
    const uint64_t track = *id;
    proto_number(&p->event, EVENT_TYPE, TYPE_MARK);
    proto_number(&p->event, EVENT_TRACK, track);
    proto_number(&p->event, EVENT_NAME, text);
    proto_fixed64(&p->event, EVENT_FLOW, flow);
    end_event(p, at->time);
}

static void put_arrow(struct pw_writer *writer, const struct pw_track_arrow *arrow)
{
    struct perfetto *p = of(writer);
    const uint64_t flow = ++p->nflows;
    if (arrow->is_launch) {
        const struct pw_track_event launch = {arrow->from.rank,
                                              arrow->from.track,
                                              arrow->from.time,
                                              arrow->from.time,
                                              "",
                                              "launch",
                                              "launch",
                                              NULL,
                                              0};
        p->pending_flow = flow;
        keep(p, &launch, 1, 0);
        p->pending_flow = flow; /* also of the slice that comes next */
        return;
    }
    put_end(p, &arrow->from, arrow->name, flow);
    put_end(p, &arrow->to, arrow->name, flow);
}

/* ---- the end of a rank: its slices, nested ---- */

/* An enclosing slice comes before what it encloses; of equal ones, that which was written last, as
 * rows are written when they end. */
static int by_nesting(const void *a, const void *b)
{
    const struct slice *x = a, *y = b;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->is_beside != y->is_beside)
        return x->is_beside - y->is_beside;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return (x->order < y->order) - (x->order > y->order);
}

/* The slices that are open on a lane: their ends. */
struct lane {
    int64_t *ends;
    size_t n, capacity;
    uint64_t id;
};

static void begin_slice(struct perfetto *p, const struct slice *s, uint64_t track)
{
    proto_number(&p->event, EVENT_TYPE, s->is_mark ? TYPE_MARK : TYPE_BEGIN);
    proto_number(&p->event, EVENT_TRACK, track);
    proto_number(&p->event, EVENT_NAME, s->name);
    proto_number(&p->event, EVENT_CATEGORY, s->category);
    if (s->flow)
        proto_fixed64(&p->event, EVENT_FLOW, s->flow);
    proto_raw(&p->event, p->args.bytes + s->args, s->args_size);
    end_event(p, s->start);
}

/* Ends the lane's slices that end until `time`. */
static void close_until(struct perfetto *p, struct lane *lane, int64_t time)
{
    while (lane->n && lane->ends[lane->n - 1] <= time) {
        const int64_t end = lane->ends[--lane->n];
        proto_number(&p->event, EVENT_TYPE, TYPE_END);
        proto_number(&p->event, EVENT_TRACK, lane->id);
        end_event(p, end);
    }
}

static void place(struct perfetto *p, struct lane lanes[MOST_LANES], const struct slice *s)
{
    for (int i = 0; i < MOST_LANES; i++) {
        struct lane *lane = &lanes[i];
        close_until(p, lane, s->start);
        if (lane->n && lane->ends[lane->n - 1] < s->end && i < MOST_LANES - 1)
            continue;
        int64_t *ends = pw_grow(lane->ends, lane->n, sizeof(*ends), &lane->capacity);
        p->failed |= !ends;
        if (!ends)
            return;
        lane->ends = ends;
        if (!lane->id)
            lane->id = lane_of(p, s->track, i, s->is_beside);
        begin_slice(p, s, lane->id);
        if (!s->is_mark)
            lane->ends[lane->n++] = s->end;
        return;
    }
}

static void end_rank(struct pw_writer *writer)
{
    struct perfetto *p = of(writer);
    struct lane lanes[MOST_LANES] = {0};
    pw_sort(p->slices, p->nslices, sizeof(*p->slices), by_nesting);
    for (size_t i = 0; i < p->nslices; i++) {
        const struct slice *s = &p->slices[i];
        if (i && (s->track != s[-1].track || s->is_beside != s[-1].is_beside))
            for (int k = 0; k < MOST_LANES; k++) {
                close_until(p, &lanes[k], INT64_MAX);
                lanes[k].id = 0;
            }
        place(p, lanes, s);
    }
    for (int k = 0; k < MOST_LANES; k++) {
        close_until(p, &lanes[k], INT64_MAX);
        free(lanes[k].ends);
    }
    p->nslices = 0;
}

static int end(struct pw_writer *writer)
{
    struct perfetto *p = of(writer);
    put_moments(p);
    flush(p);
    const int failed = p->failed || p->args.failed;
    for (size_t i = 0; i < p->ntexts; i++)
        free(p->texts[i].text);
    free(p->texts);
    free(p->tracks);
    free(p->ids);
    free(p->slices);
    free(p->moments);
    pw_hash_fini(&p->text_hash);
    pw_hash_fini(&p->track_hash);
    proto_fini(&p->bundle);
    proto_fini(&p->packet);
    proto_fini(&p->event);
    proto_fini(&p->part);
    proto_fini(&p->args);
    free(p);
    return failed ? -ENOMEM : 0;
}

struct pw_writer *pw_perfetto_create(FILE *out, const struct pw_writer_head *head)
{
    static const struct pw_writer_ops ops = {name_rank, name_track, put_slice,
                                             put_mark,  put_beside, put_counter,
                                             put_arrow, end_rank,   end};
    struct perfetto *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->writer.ops = &ops;
    p->out = out;
    p->base = head->base;
    return &p->writer;
}
