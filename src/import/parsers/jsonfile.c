/* Reads JSON files through one buffer, which grows only for a value that does not fit. Finds the
 * ends of values by quotes and brackets alone. See jsonfile.h. */
#include "import/parsers/jsonfile.h"

#include <errno.h>
#include <jansson.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/safefile.h"
#include "import/parsers/jsonobject.h"

/* Believes the length at the end of the file only when the text has it. */

/* The largest text and file, and how many times as long as the file a text can be. */
enum { MOST_TEXT = 16 << 20, MOST_FILE = 4 << 20, MOST_GROWTH = 1032 };

/* Bytes of the header and of the end: a checksum, and the length of the text. */
enum { HEADER = 10, END = 8, LENGTH = 4 };

/* Reads `size` bytes from the begin of the file. Returns 0, -errno, or 1 when it is shorter. */
static int read_file(int fd, char *bytes, size_t size)
{
    size_t n = 0;
    while (n < size) {
        const ssize_t got = pread(fd, bytes + n, size - n, (off_t)n);
        if (got < 0 && errno != EINTR)
            return -errno;
        if (got == 0)
            return 1;
        n += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

static size_t length_of(const char *file, size_t size)
{
    const uint8_t *at = (const uint8_t *)file + size - LENGTH;
    return at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
}

/* Returns 0, 1 as pw_gztext_read(), or -ENOMEM. */
static int inflate_all(const char *file, size_t size, char *text, size_t n)
{
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    size_t used = 0, made = 0;
    if (!inflater)
        return -ENOMEM;
    const int is_good = libdeflate_gzip_decompress_ex(inflater, file, size, text, n, &used,
                                                      &made) == LIBDEFLATE_SUCCESS &&
                        used == size && made == n;
    libdeflate_free_decompressor(inflater);
    return is_good ? 0 : 1;
}

/* Sets *text when the file is inflated. */
static int read_text(const char *file, size_t size, size_t padding, char **text, size_t *n)
{
    if ((uint8_t)file[0] != 0x1f || (uint8_t)file[1] != 0x8b)
        return 1;
    const size_t length = length_of(file, size);
    if (length == 0 || length > MOST_TEXT || length / MOST_GROWTH > size)
        return 1;
    char *made = malloc(length + padding);
    const int failed = made ? inflate_all(file, size, made, length) : -ENOMEM;
    if (failed) {
        free(made);
        return failed;
    }
    memset(made + length, 0, padding);
    *text = made;
    *n = length;
    return 0;
}

int pw_gztext_read(int fd, size_t padding, char **text, size_t *n)
{
    struct stat about;
    if (fstat(fd, &about))
        return -errno;
    if (!S_ISREG(about.st_mode) || about.st_size < HEADER + END || about.st_size > MOST_FILE)
        return 1;
    const size_t size = (size_t)about.st_size;
    char *file = malloc(size);
    int err = file ? read_file(fd, file, size) : -ENOMEM;
    err = err ? err : read_text(file, size, padding, text, n);
    free(file);
    return err;
}

#ifdef __SSE2__
#ifdef __x86_64__
#include <immintrin.h>
#else
#include <emmintrin.h>
#endif
#endif

#define ONES 0x0101010101010101u
#define HIGHS 0x8080808080808080u

static inline uint64_t word_at(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

/* Returns a word that is not 0 when a byte of `word` is `byte`; its lowest bit set is in the first
 * such byte. */
static inline uint64_t has(uint64_t word, uint8_t byte)
{
    uint64_t x = word ^ (ONES * byte);
    return (x - ONES) & ~x & HIGHS;
}

/* Returns how many bytes of a word precede the first byte marked in `hits` (a result of has), or
 * less: 0 on big-endian machines. */
static inline size_t before(uint64_t hits)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (size_t)__builtin_ctzll(hits) >> 3;
#else
    (void)hits;
    return 0;
#endif
}

/* Returns the position after the string whose first quote is at `at`, or NULL when it does not end
 * before `end`. */
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

/* In the following, `byte & 0xdf` clears bit 0x20, the only difference between '[' and '{', and
 * between ']' and '}'. */

/* The state between two bytes of a nested value. */
struct nesting {
    int64_t depth;   /* of brackets that are open */
    uint64_t inside; /* all bits are set inside a string */
};

/* Goes on byte by byte until the value ends, with n->depth 0, or `end`. Returns the position after
 * the last byte, or one more when `end` follows a backslash. */
static const char *scan_bytes(struct nesting *n, const char *at, const char *end)
{
    for (; at < end; at++) {
        if (*at == '"')
            n->inside = ~n->inside;
        else if (n->inside)
            at += *at == '\\';
        else if ((*at & 0xdf) == '[')
            n->depth++;
        else if ((*at & 0xdf) == ']' && --n->depth <= 0)
            return at + 1;
    }
    return at;
}

#ifdef __SSE2__
enum { AT_ONCE = 64 };

/* A bit for each byte of a block. */
struct marks {
    uint64_t quotes, backslashes, opening, closing;
};

static uint64_t bits_of(__m128i equal, int i)
{
    return (uint64_t)(uint32_t)_mm_movemask_epi8(equal) << (16 * i);
}

static void find_marks(const char *at, struct marks *out)
{
    *out = (struct marks){0};
    for (int i = 0; i < AT_ONCE / 16; i++) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * i));
        const __m128i folded = _mm_and_si128(bytes, _mm_set1_epi8((char)0xdf));
        out->quotes |= bits_of(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), i);
        out->backslashes |= bits_of(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')), i);
        out->opening |= bits_of(_mm_cmpeq_epi8(folded, _mm_set1_epi8('[')), i);
        out->closing |= bits_of(_mm_cmpeq_epi8(folded, _mm_set1_epi8(']')), i);
    }
}

/* Bit i of the result is the parity of the bits 0 to i: the bytes inside strings, from the quotes.
 */
static uint64_t parities(uint64_t bits)
{
    for (int i = 1; i < 64; i *= 2)
        bits ^= bits << i;
    return bits;
}

/* As scan_bytes(), in blocks while they fit. Inline, to be compiled for each kind of processor. */
static inline __attribute__((always_inline)) const char *
scan_by(void (*find)(const char *at, struct marks *out), struct nesting *n, const char *at,
        const char *end)
{
    struct marks marks;
    while (end - at >= AT_ONCE) {
        find(at, &marks);
        if (marks.backslashes) {
            at = scan_bytes(n, at, at + AT_ONCE);
            if (n->depth <= 0)
                return at;
            continue;
        }
        const uint64_t inside = parities(marks.quotes) ^ n->inside;
        const uint64_t opening = marks.opening & ~inside, closing = marks.closing & ~inside;
        if (n->depth > __builtin_popcountll(closing)) { /* the value does not end here */
            n->depth += __builtin_popcountll(opening) - __builtin_popcountll(closing);
            n->inside = inside >> 63 ? ~UINT64_C(0) : 0;
            at += AT_ONCE;
            continue;
        }
        for (uint64_t left = opening | closing; left; left &= left - 1) {
            n->depth += opening & left & -left ? 1 : -1;
            if (n->depth <= 0)
                return at + __builtin_ctzll(left) + 1;
        }
        n->inside = inside >> 63 ? ~UINT64_C(0) : 0;
        at += AT_ONCE;
    }
    return at;
}

#ifdef __x86_64__
#define AVX2 __attribute__((target("avx2,popcnt")))

AVX2 static inline uint64_t wide_bits(__m256i low, __m256i high, char byte)
{
    const __m256i wanted = _mm256_set1_epi8(byte);
    const uint32_t first = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted));
    const uint32_t second = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted));
    return first | (uint64_t)second << 32;
}

AVX2 static inline void find_wide(const char *at, struct marks *out)
{
    const __m256i fold = _mm256_set1_epi8((char)0xdf);
    const __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)at);
    const __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(at + AT_ONCE / 2));
    const __m256i low_folded = _mm256_and_si256(low, fold);
    const __m256i high_folded = _mm256_and_si256(high, fold);
    *out = (struct marks){.quotes = wide_bits(low, high, '"'),
                          .backslashes = wide_bits(low, high, '\\'),
                          .opening = wide_bits(low_folded, high_folded, '['),
                          .closing = wide_bits(low_folded, high_folded, ']')};
}

AVX2 static const char *scan_wide(struct nesting *n, const char *at, const char *end)
{
    return scan_by(find_wide, n, at, end);
}

static const char *scan_blocks(struct nesting *n, const char *at, const char *end)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")
               ? scan_wide(n, at, end)
               : scan_by(find_marks, n, at, end);
}
#else
static const char *scan_blocks(struct nesting *n, const char *at, const char *end)
{
    return scan_by(find_marks, n, at, end);
}
#endif
#else
static const char *scan_blocks(struct nesting *n, const char *at, const char *end)
{
    (void)n, (void)end;
    return at;
}
#endif

/* Returns the position after the value whose first bracket is at `at`, or NULL when it does not end
 * before `end`. */
static const char *skip_nested(const char *at, const char *end)
{
    struct nesting n = {.depth = 1};
    at = scan_blocks(&n, at + 1, end);
    if (n.depth > 0)
        at = scan_bytes(&n, at, end);
    return n.depth > 0 ? NULL : at;
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

/* First and largest size of the buffer, and the longest member that is kept, bytes. No event is as
 * long as LONGEST_VALUE. */
enum { FIRST_CAPACITY = 1 << 20, LONGEST_VALUE = 32 << 20, LONGEST_MEMBER = 1 << 20 };

struct reader {
    gzFile file; /* NULL: the whole text is in the buffer */
    const struct pw_jsonfile_taker *taker;
    struct pw_jsonfile_end *end;
    char *bytes; /* [capacity + padding] */
    size_t at, n, capacity;
    int64_t before; /* offset of bytes[0] in the JSON text */
    int ended;      /* the whole file has been read */
    int damaged;    /* the compressed data end early or are damaged */
};

static int64_t offset_of(const struct reader *r, size_t at)
{
    return r->before + (int64_t)at;
}

/* Notes that the file cannot be read beyond r->at, and returns 1. */
static int cut(struct reader *r, const char *what)
{
    struct pw_jsonfile_end *end = r->end;
    end->cut_at = offset_of(r, r->at);
    snprintf(end->problem, sizeof(end->problem), "%s",
             r->damaged ? "the compressed data end early or are damaged" : what);
    return 1;
}

/* Drops the first r->at bytes of the buffer and reads more of the file after the rest. Returns 0 or
 * -errno. */
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

/* Moves r->at to the next byte that is not white space and copies it to *out; '\0' at the end of
 * the file. Returns 0 or -errno. */
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

/* Reads until the buffer has the whole value at r->at, and sets *length. Returns 0, 1 when the file
 * ends before the value does or the value is too long, or -errno. */
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

/* Passes the value at r->at to the taker as an element. Returns the taker's answer, or as
 * hold_value. */
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

/* Reads an array or object whose opening bracket is at r->at: calls `read` with the first character
 * of each element or member, until the bracket `close`. */
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

/* Copies the key at r->at to `key`, cut to `size` bytes, and moves r->at past the ':'. */
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
        return cut(r, next ? "a key is not followed by ':'" : "the file ends after a key");
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
                            : "the file ends inside its object");
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

/* Reads objects one after another; the first is at r->at. */
static int read_lines(struct reader *r)
{
    char next;
    for (;;) {
        int err = peek(r, &next);
        if (err || next == '\0')
            return err ? err : r->damaged ? cut(r, "") : 0;
        if (next != '{')
            return cut(r, "an object is followed by something that is not an object");
        err = read_element(r);
        if (err)
            return err;
    }
}

/* Whether the file has objects one after another (JSON lines): the first object ends inside the
 * buffer, and another object follows it or taker->lines is set. */
static int has_lines(const struct reader *r)
{
    const char *end = r->bytes + (r->n < FIRST_CAPACITY ? r->n : FIRST_CAPACITY);
    const struct pw_jsonfile_text *text = &r->taker->text;
    const char *behind = !text->bytes  ? pw_jsonscan_value(r->bytes + r->at, end)
                         : text->first ? text->bytes + text->first
                                       : NULL;
    if (behind && r->taker->lines)
        return 1;
    behind = behind ? pw_jsonscan_space(behind, end) : end;
    return behind < end && *behind == '{';
}

/* Whether the file is small, and one value of JSON. */
static int is_scalar(struct reader *r)
{
    if (!r->ended && fill(r))
        return 0;
    json_t *value = r->ended && !r->damaged
                        ? json_loadb(r->bytes + r->at, r->n - r->at, JSON_DECODE_ANY, NULL)
                        : NULL;
    json_decref(value);
    return value != NULL;
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
    if (first != '{') {
        r->end->is_scalar = is_scalar(r);
        return -EINVAL;
    }
    return has_lines(r) ? read_lines(r) : read_between(r, '}', read_member);
}

/* Reads the file as a stream, and closes it. */
static int read_stream(int fd, struct reader *r)
{
    enum { GZ_BUFFER = 1 << 18 };
    r->file = gzdopen(fd, "rb");
    if (!r->file) {
        close(fd);
        return -ENOMEM;
    }
    gzbuffer(r->file, GZ_BUFFER);
    r->bytes = malloc(r->capacity + PW_JSON_PADDING);
    const int err = r->bytes ? read_all(r) : -ENOMEM;
    free(r->bytes);
    gzclose(r->file);
    return err == 1 ? 0 : err;
}

static int jsonfile_read_text(const struct pw_jsonfile_text *text, struct reader *r)
{
    r->bytes = text->bytes;
    r->n = r->capacity = text->n;
    r->ended = 1;
    r->end->json_bytes = (int64_t)text->n;
    return read_all(r);
}

static size_t find_first(const struct pw_jsonfile_text *text)
{
    const char *end = text->bytes + (text->n < FIRST_CAPACITY ? text->n : FIRST_CAPACITY);
    const char *behind = pw_jsonscan_value(pw_jsonscan_space(text->bytes, end), end);
    return behind ? (size_t)(behind - text->bytes) : 0;
}

struct pw_jsonfile_text pw_jsonfile_load(const char *path)
{
    struct pw_jsonfile_text text = {.bytes = NULL};
    const int fd = pw_open_regular(path, 0);
    if (fd < 0)
        return text;
    if (pw_gztext_read(fd, PW_JSON_PADDING, &text.bytes, &text.n))
        text.bytes = NULL;
    if (text.bytes)
        text.first = find_first(&text);
    close(fd);
    return text;
}

int pw_jsonfile_read(const char *path, const struct pw_jsonfile_taker *taker,
                     struct pw_jsonfile_end *end)
{
    struct reader r = {.taker = taker, .end = end, .capacity = FIRST_CAPACITY};
    struct pw_jsonfile_text text = {.bytes = NULL};
    *end = (struct pw_jsonfile_end){.cut_at = -1};
    errno = 0;
    if (taker->text.bytes) {
        const int err = jsonfile_read_text(&taker->text, &r);
        return err == 1 ? 0 : err;
    }
    int fd = pw_open_regular(path, 0);
    if (fd < 0)
        return fd;
    int err = pw_gztext_read(fd, PW_JSON_PADDING, &text.bytes, &text.n);
    if (err > 0)
        return read_stream(fd, &r);
    if (!err) {
        err = jsonfile_read_text(&text, &r);
        free(text.bytes);
        if (taker->progress)
            taker->progress->tell(taker->progress->context, lseek(fd, 0, SEEK_END));
    }
    close(fd);
    return err == 1 ? 0 : err;
}

int pw_jsonfile_is_events(void *context, const char *key, size_t length)
{
    static const char wanted[] = "traceEvents";
    (void)context;
    return length == sizeof(wanted) - 1 && memcmp(key, wanted, length) == 0;
}

int pw_jsonfile_ignore_member(void *context, const char *key, size_t key_length, const char *value,
                              size_t length)
{
    (void)context, (void)key, (void)key_length, (void)value, (void)length;
    return 0;
}
