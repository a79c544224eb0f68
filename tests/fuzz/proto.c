/* See fuzz.h; of targets whose command writes Perfetto's protobuf. What a reader relies on: fields
 * are whole, texts and tracks are described before they are used, slices end on the track on which
 * they began and not before, and clocks do not run backwards. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "fuzz.h"
#include "timeline/perfettofields.h"

enum { MOST_BUNDLE = 1 << 20 };

struct message {
    const uint8_t *at, *end;
};

struct field {
    uint64_t number, value; /* value: of a varint or a fixed number */
    struct message bytes;
    int is_bytes;
};

struct track {
    uint64_t open, last; /* slices that are open, and when one last began or ended */
};

/* What was described so far; its numbers count from 1. */
static struct {
    uint8_t *kinds; /* of the texts */
    struct track *tracks;
    size_t ntexts, ntracks;
    uint64_t snapshot;
    const char *path;
} seen;

static void require(int truth, const char *what)
{
    if (truth)
        return;
    fprintf(stderr, "fuzz: %s: %s\n", seen.path, what);
    abort();
}

static uint64_t read_varint(struct message *m)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        require(m->at < m->end, "a number has no end");
        value |= (uint64_t)(*m->at & 0x7f) << shift;
        if (*m->at++ < 0x80)
            return value;
    }
    require(0, "a number is too long");
    return 0;
}

/* Reads the next field. Returns 0 at the end. */
static int next_field(struct message *m, struct field *out)
{
    if (m->at == m->end)
        return 0;
    const uint64_t tag = read_varint(m);
    *out = (struct field){.number = tag >> 3, .is_bytes = (tag & 7) == 2};
    if ((tag & 7) == 0) {
        out->value = read_varint(m);
        return 1;
    }
    require((tag & 7) == 1 || (tag & 7) == 2, "a field has another type");
    const uint64_t size = out->is_bytes ? read_varint(m) : 8;
    require(size <= (uint64_t)(m->end - m->at), "a field is longer than its message");
    out->bytes = (struct message){m->at, m->at + size};
    if (!out->is_bytes)
        memcpy(&out->value, m->at, sizeof(out->value));
    m->at += size;
    return 1;
}

/* Returns the rows with room for one more; the room doubles. */
static void *grown(void *rows, size_t n, size_t size)
{
    if (n & (n - 1) || (n && n < 16))
        return rows;
    rows = realloc(rows, (n ? 2 * n : 16) * size);
    require(rows != NULL, "memory is short");
    return rows;
}

/* Returns the number in the field of a message, or `otherwise`. */
static uint64_t number_in(struct message m, uint64_t number, uint64_t otherwise)
{
    struct field f;
    while (next_field(&m, &f))
        if (f.number == number && !f.is_bytes)
            otherwise = f.value;
    return otherwise;
}

static void take_texts(struct message m)
{
    struct field kind;
    while (next_field(&m, &kind)) {
        const uint64_t id = number_in(kind.bytes, TEXT_ID, 0);
        require(kind.is_bytes && kind.number < 256 && id == seen.ntexts + 1, "a text's number");
        seen.kinds = grown(seen.kinds, seen.ntexts, sizeof(*seen.kinds));
        seen.kinds[seen.ntexts++] = (uint8_t)kind.number;
    }
}

static void require_text(uint64_t kind, uint64_t id)
{
    require(id && id <= seen.ntexts && seen.kinds[id - 1] == kind,
            "a text is used that is not there");
}

static void take_track(struct message m)
{
    const uint64_t id = number_in(m, TRACK_ID, 0), parent = number_in(m, TRACK_PARENT, 0);
    require(id == seen.ntracks + 1 && parent < id, "a track's number, or that of its parent");
    seen.tracks = grown(seen.tracks, seen.ntracks, sizeof(*seen.tracks));
    seen.tracks[seen.ntracks++] = (struct track){0, 0};
}

static void take_args(struct message m)
{
    struct field f;
    while (next_field(&m, &f)) {
        if (f.number != EVENT_ARG)
            continue;
        require_text(3, number_in(f.bytes, ARG_NAME, 0));
        const uint64_t text = number_in(f.bytes, ARG_TEXT, 0);
        if (text)
            require_text(29, text);
    }
}

static void take_event(struct message m, uint64_t time)
{
    const uint64_t type = number_in(m, EVENT_TYPE, 0), track = number_in(m, EVENT_TRACK, 0);
    require(track && track <= seen.ntracks, "an event has no track");
    require(type >= TYPE_BEGIN && type <= TYPE_COUNTER, "an event has no type");
    if (type == TYPE_COUNTER)
        return;
    struct track *on = &seen.tracks[track - 1];
    if (type != TYPE_END)
        require_text(2, number_in(m, EVENT_NAME, 0));
    take_args(m);
    if (type == TYPE_MARK)
        return;
    require(time >= on->last, "slices of a track run backwards");
    require(type == TYPE_BEGIN || on->open, "a slice ends that has not begun");
    on->open += type == TYPE_BEGIN ? 1 : (uint64_t)-1;
    on->last = time;
}

static void take_clocks(struct message m)
{
    struct field f;
    while (next_field(&m, &f)) {
        if (number_in(f.bytes, CLOCK_ID, 0) != BOOTTIME)
            continue;
        const uint64_t time = number_in(f.bytes, CLOCK_TIME, 0);
        require(time >= seen.snapshot, "the trace's clock runs backwards");
        seen.snapshot = time;
    }
}

static void take_packets(struct message m);

static void take_bundle(struct message m)
{
    uLongf size = MOST_BUNDLE;
    uint8_t *bytes = malloc(size);
    require(bytes && uncompress(bytes, &size, m.at, (uLong)(m.end - m.at)) == Z_OK, "a bundle");
    take_packets((struct message){bytes, bytes + size});
    free(bytes);
}

static void take_packets(struct message m)
{
    struct field packet, f;
    while (next_field(&m, &packet)) {
        require(packet.number == TRACE_PACKET && packet.is_bytes, "what is no packet");
        const uint64_t time = number_in(packet.bytes, PACKET_TIME, 0);
        for (struct message rest = packet.bytes; next_field(&rest, &f);) {
            if (f.number == PACKET_COMPRESSED)
                take_bundle(f.bytes);
            else if (f.number == PACKET_INTERNED)
                take_texts(f.bytes);
            else if (f.number == PACKET_TRACK)
                take_track(f.bytes);
            else if (f.number == PACKET_CLOCKS)
                take_clocks(f.bytes);
            else if (f.number == PACKET_EVENT)
                take_event(f.bytes, time);
        }
    }
}

void fuzz_check_perfetto(const char *path)
{
    struct stat about;
    seen.path = path;
    seen.ntexts = seen.ntracks = 0;
    seen.snapshot = 0;
    FILE *file = fopen(path, "rb");
    require(file && fstat(fileno(file), &about) == 0, "cannot be read");
    uint8_t *bytes = malloc((size_t)about.st_size + 1);
    require(bytes && fread(bytes, 1, (size_t)about.st_size + 1, file) == (size_t)about.st_size,
            "cannot be read");
    fclose(file);
    take_packets((struct message){bytes, bytes + about.st_size});
    for (size_t i = 0; i < seen.ntracks; i++)
        require(!seen.tracks[i].open, "a slice has no end");
    free(seen.kinds);
    free(seen.tracks);
    seen.kinds = NULL;
    seen.tracks = NULL;
    free(bytes);
}
