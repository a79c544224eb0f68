/* Reads JSON files through one buffer, which grows only for a value that does not fit; values are
 * found by quotes and brackets alone. See jsonfile.h. */
#include "import/jsonfile.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "core/safefile.h"
#include "import/jsonobject.h"

#define ONES 0x0101010101010101u
#define HIGHS 0x8080808080808080u
/* Clears the bit by which '[' and '{', and ']' and '}', differ. */
#define NO_CASE 0xdfdfdfdfdfdfdfdfu

static inline uint64_t word_at(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

/* Not 0 when a byte of `word` is `byte`. */
static inline uint64_t has(uint64_t word, uint8_t byte)
{
    uint64_t x = word ^ (ONES * byte);
    return (x - ONES) & ~x & HIGHS;
}

/* How many bytes of a word come before the first that `hits` of has() marks, at most. */
static inline size_t before(uint64_t hits)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (size_t)__builtin_ctzll(hits) >> 3;
#else
    (void)hits;
    return 0;
#endif
}

/* Behind the string whose first quote is at `at`. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end;) {
        uint64_t word = word_at(at), hits = has(word, '"') | has(word, '\\');
        if (!hits) {
            at += sizeof(word);
            continue;
        }
        at += before(hits);
        while (*at != '"' && *at != '\\')
            at++;
        if (at < end && *at == '"')
            return at + 1;
        at += 2;
    }
    return NULL;
}

static const char *skip_nested(const char *at, const char *end)
{
    int64_t depth = 0;
    while (at < end) {
        uint64_t word = word_at(at), folded = word & NO_CASE;
        uint64_t hits = has(word, '"') | has(folded, '[') | has(folded, ']');
        if (!hits) {
            at += sizeof(word);
            continue;
        }
        at += before(hits);
        while (*at != '"' && (*at & 0xdf) != '[' && (*at & 0xdf) != ']')
            at++;
        if (at >= end)
            return NULL;
        if (*at == '"') {
            at = skip_string(at, end);
            if (!at)
                return NULL;
            continue;
        }
        depth += (*at & 0xdf) == '[' ? 1 : -1;
        at++;
        if (depth <= 0)
            return at;
    }
    return NULL;
}

const char *pw_jsonscan_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

const char *pw_jsonscan_value(const char *at, const char *end)
{
    if (at >= end)
        return NULL;
    if (*at == '"')
        return skip_string(at, end);
    if (*at == '{' || *at == '[')
        return skip_nested(at, end);
    while (at < end && *at != ',' && *at != '}' && *at != ']' && *at != ' ' && *at != '\n' &&
           *at != '\r' && *at != '\t')
        at++;
    return at < end ? at : NULL;
}

/* Bytes that are held, at first and at most: one event is never as long. */
enum { FIRST_CAPACITY = 1 << 20, LONGEST_VALUE = 32 << 20, LONGEST_MEMBER = 1 << 20 };

struct reader {
    gzFile file;
    const struct pw_jsonfile_taker *taker;
    struct pw_jsonfile_end *end;
    char *bytes; /* [capacity + padding] */
    size_t at, n, capacity;
    int64_t before; /* bytes of JSON before bytes[0] */
    int ended;      /* nothing follows what is held */
    int damaged;    /* the compressed data are cut or wrong */
};

static int64_t offset_of(const struct reader *r, size_t at)
{
    return r->before + (int64_t)at;
}

/* The file is of no use from here on. */
static int cut(struct reader *r, const char *what)
{
    struct pw_jsonfile_end *end = r->end;
    end->cut_at = offset_of(r, r->at);
    snprintf(end->problem, sizeof(end->problem), "%s",
             r->damaged ? "the compressed data end early or are damaged" : what);
    return 1;
}

/* Reads more behind what is held, whose first `r->at` bytes are done with. 0, or -errno. */
static int fill(struct reader *r)
{
    memmove(r->bytes, r->bytes + r->at, r->n - r->at);
    r->before += (int64_t)r->at;
    r->n -= r->at;
    r->at = 0;
    if (r->n > r->capacity / 2 && r->capacity < LONGEST_VALUE) {
        char *more = realloc(r->bytes, 2 * r->capacity + PW_JSON_PADDING);
        if (!more)
            return -ENOMEM;
        r->bytes = more;
        r->capacity *= 2;
    }
    int got = gzread(r->file, r->bytes + r->n, (unsigned)(r->capacity - r->n));
    int err = Z_OK;
    gzerror(r->file, &err);
    if (err == Z_ERRNO)
        return errno ? -errno : -EIO;
    if (err == Z_MEM_ERROR)
        return -ENOMEM;
    if (err != Z_OK && err != Z_STREAM_END)
        r->damaged = 1;
    r->ended = got <= 0;
    r->n += got > 0 ? (size_t)got : 0;
    memset(r->bytes + r->n, 0, PW_JSON_PADDING);
    r->end->json_bytes = r->before + (int64_t)r->n;
    if (r->taker->progress)
        r->taker->progress->tell(r->taker->progress->context, gzoffset(r->file));
    return 0;
}

/* The next byte that is no white space; 0 where there is none. */
static int peek(struct reader *r, char *out)
{
    for (;;) {
        r->at = (size_t)(pw_jsonscan_space(r->bytes + r->at, r->bytes + r->n) - r->bytes);
        if (r->at < r->n || r->ended) {
            *out = r->at < r->n ? r->bytes[r->at] : '\0';
            return 0;
        }
        int err = fill(r);
        if (err)
            return err;
    }
}

/* Holds the whole value at r->at, whose length is then in *length: 0. 1: the file is cut there. */
static int hold_value(struct reader *r, size_t *length)
{
    for (;;) {
        const char *from = r->bytes + r->at, *to = r->bytes + r->n;
        const char *behind = pw_jsonscan_value(from, to);
        if (behind) {
            *length = (size_t)(behind - from);
            return 0;
        }
        if (r->ended)
            return cut(r, "the file ends in the middle of a value");
        if (r->n - r->at >= LONGEST_VALUE)
            return cut(r, "a value is longer than 32 MiB");
        int err = fill(r);
        if (err)
            return err;
    }
}

/* Hands the value at r->at to the taker as an element. */
static int read_element(struct reader *r)
{
    size_t length;
    int err = hold_value(r, &length);
    if (err)
        return err;
    r->end->elements++;
    err = r->taker->element(r->taker->context, r->bytes + r->at, length, offset_of(r, r->at));
    r->at += err ? 0 : length;
    return err;
}

/* An array or object, whose opening bracket is at r->at: `read` is called at each element or
 * member, with its first character, until `close` is met. */
static int read_between(struct reader *r, char close, int (*read)(struct reader *r, char first))
{
    char next;
    int err;
    r->at++;
    while (!(err = peek(r, &next)) && next != close) {
        if (next == ',')
            r->at++;
        else
            err = read(r, next);
        if (err)
            return err;
    }
    r->at += !err;
    return err;
}

static int read_in_list(struct reader *r, char first)
{
    if (first == '\0' || first == '}')
        return cut(r, first ? "a list is closed by '}'" : "the file ends in the middle of a list");
    return read_element(r);
}

/* The key at r->at into `key`, cut to its size; then its ':' is passed. */
static int read_key(struct reader *r, char *key, size_t size, size_t *length)
{
    char next;
    size_t n;
    int err = hold_value(r, &n);
    if (err)
        return err;
    *length = n - 2 < size ? n - 2 : size;
    memcpy(key, r->bytes + r->at + 1, *length);
    r->at += n;
    err = peek(r, &next);
    if (err)
        return err;
    if (next != ':')
        return cut(r, next ? "a key is not followed by ':'" : "the file ends behind a key");
    r->at++;
    return 0;
}

static int read_member(struct reader *r, char first)
{
    const struct pw_jsonfile_taker *taker = r->taker;
    char key[64], next;
    size_t key_length, length;
    if (first != '"')
        return cut(r, first ? "a member of the file's object has no key"
                            : "the file ends before its object does");
    int err = read_key(r, key, sizeof(key), &key_length);
    err = err ? err : peek(r, &next);
    if (err)
        return err;
    if (next == '[' && taker->is_list(taker->context, key, key_length))
        return read_between(r, ']', read_in_list);
    err = hold_value(r, &length);
    if (err)
        return err;
    if (length > LONGEST_MEMBER)
        r->end->oversize++;
    else
        err = taker->member(taker->context, key, key_length, r->bytes + r->at, length);
    r->at += length;
    return err;
}

/* Objects one after another, of which the first is at r->at. */
static int read_lines(struct reader *r)
{
    char next;
    for (;;) {
        int err = peek(r, &next);
        if (err || next == '\0')
            return err ? err : r->damaged ? cut(r, "") : 0;
        if (next != '{')
            return cut(r, "something else than an object follows an object");
        err = read_element(r);
        if (err)
            return err;
    }
}

/* Whether the file is objects one after another: the first one ends within what is held, and
 * another follows it, or may do so. */
static int has_lines(const struct reader *r)
{
    const char *end = r->bytes + r->n;
    const char *behind = pw_jsonscan_value(r->bytes + r->at, end);
    if (behind && r->taker->lines)
        return 1;
    behind = behind ? pw_jsonscan_space(behind, end) : end;
    return behind < end && *behind == '{';
}

static int read_all(struct reader *r)
{
    char first;
    int err = peek(r, &first);
    if (err)
        return err;
    if (first == '\0' && r->damaged)
        return cut(r, "");
    if (first == '[')
        return read_between(r, ']', read_in_list);
    if (first != '{')
        return -EINVAL;
    return has_lines(r) ? read_lines(r) : read_between(r, '}', read_member);
}

int pw_jsonfile_read(const char *path, const struct pw_jsonfile_taker *taker,
                     struct pw_jsonfile_end *end)
{
    enum { GZ_BUFFER = 1 << 18 };
    struct reader r = {.taker = taker, .end = end, .capacity = FIRST_CAPACITY};
    *end = (struct pw_jsonfile_end){.cut_at = -1};
    errno = 0;
    int fd = pw_open_regular(path, 0);
    if (fd < 0)
        return fd;
    r.file = gzdopen(fd, "rb");
    if (!r.file) {
        close(fd);
        return -ENOMEM;
    }
    gzbuffer(r.file, GZ_BUFFER);
    r.bytes = malloc(r.capacity + PW_JSON_PADDING);
    int err = r.bytes ? read_all(&r) : -ENOMEM;
    free(r.bytes);
    gzclose(r.file);
    return err == 1 ? 0 : err;
}
