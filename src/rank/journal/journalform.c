/* Encodes records by prediction: each field is predicted from earlier records, and only wrong
 * predictions are written. See journalform.h.
 *
 * A record has three words of 64 bits and ten halves of 32 bits. The words are start, end and kind.
 * The kind is type, flags, op and stack together. The predictions are:
 *   start   the end of the previous record
 *   end     the start of the same record
 *   kind    the kind that last followed the previous record's kind
 *   halves  the halves of the last record of the same kind
 * For each record a mask of 13 bits is written, which has a bit for each wrong prediction. A varint
 * follows for each of these: for the kind it is the XOR of the kind and its prediction, for other
 * fields the difference, in zigzag form. */
#include "rank/journal/journalform.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <string.h>

enum { WORDS = 3, HALVES = 10, SLOTS = 64 };

/* A record in memory as it is encoded. */
struct __attribute__((may_alias)) form {
    uint64_t start, end, kind;
    uint32_t halves[HALVES];
};
static_assert(sizeof(struct form) == sizeof(struct pw_record), "a record is 3 words, 10 halves");

/* The state from which fields are predicted; the same when encoding and when decoding. */
struct model {
    uint64_t last_end, last_kind;
    unsigned last_slot; /* of last_kind */
    uint64_t next_kind[SLOTS];
    uint32_t halves[SLOTS][HALVES];
};

static unsigned slot_of(uint64_t kind)
{
    return (unsigned)((kind * 0x9e3779b97f4a7c15ull) >> 58);
}

static void begin(struct model *m)
{
    memset(m, 0, sizeof(*m));
    m->last_slot = slot_of(0);
}

/* Stores the words of a record, and returns the slot of its kind. Most records have the kind of the
 * record before. */
static unsigned learn(struct model *m, uint64_t end, uint64_t kind)
{
    const unsigned slot = kind == m->last_kind ? m->last_slot : slot_of(kind);
    m->next_kind[m->last_slot] = kind;
    m->last_end = end;
    m->last_kind = kind;
    m->last_slot = slot;
    return slot;
}

static uint64_t zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static int64_t unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static unsigned char *put(unsigned char *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *at++ = (unsigned char)value;
    return at;
}

/* Returns the mask of the halves that differ. Compares two at a time, as most are equal. */
static unsigned compare(const uint32_t *a, const uint32_t *b)
{
    unsigned mask = 0;
#pragma GCC unroll 5
    for (unsigned k = 0; k < HALVES; k += 2) {
        uint64_t two_of_a, two_of_b;
        memcpy(&two_of_a, a + k, sizeof(two_of_a));
        memcpy(&two_of_b, b + k, sizeof(two_of_b));
        if (two_of_a != two_of_b)
            mask |= (unsigned)(a[k] != b[k]) << k | (unsigned)(a[k + 1] != b[k + 1]) << (k + 1);
    }
    return mask;
}

/* Writes the halves that differ from those in `before`, and stores them there. Returns their mask.
 */
static unsigned put_halves(const uint32_t *halves, uint32_t *before, unsigned char **at)
{
    const unsigned mask = compare(halves, before);
    for (unsigned left = mask; left; left &= left - 1) {
        const int k = __builtin_ctz(left);
        *at = put(*at, (uint32_t)zigzag((int32_t)(halves[k] - before[k])));
        before[k] = halves[k];
    }
    return mask;
}

static unsigned char *encode_one(struct model *m, const struct form *f, unsigned char *at)
{
    unsigned char *const mask_at = at;
    const uint64_t start = zigzag((int64_t)(f->start - m->last_end));
    const uint64_t end = zigzag((int64_t)(f->end - f->start));
    const uint64_t kind = f->kind ^ m->next_kind[m->last_slot];
    unsigned mask = (unsigned)(start != 0) | (unsigned)(end != 0) << 1 | (unsigned)(kind != 0) << 2;
    at += 2;
    if (start)
        at = put(at, start);
    if (end)
        at = put(at, end);
    if (kind)
        at = put(at, kind);
    const unsigned slot = learn(m, f->end, f->kind);
    mask |= put_halves(f->halves, m->halves[slot], &at) << WORDS;
    mask_at[0] = (unsigned char)mask;
    mask_at[1] = (unsigned char)(mask >> 8);
    return at;
}

size_t pw_records_encode(const struct pw_record *records, size_t n, unsigned char *out)
{
    struct model m;
    unsigned char *at = out;
    begin(&m);
    for (size_t i = 0; i < n; i++)
        at = encode_one(&m, (const struct form *)&records[i], at);
    return (size_t)(at - out);
}

enum {
    VARINT_MOST = 10, /* bytes that get() reads at most */
    DECODED_MOST = 2 + (WORDS + HALVES) * VARINT_MOST,
};

/* Where the decoder is. make_readable() was called before DECODED_MOST bytes are read from `at`. */
struct source {
    const unsigned char *at, *end;
    bool failed, is_in_tail;
    unsigned char tail[2 * DECODED_MOST];
};

static inline uint64_t get(struct source *s)
{
    uint64_t value = *s->at++;
    if (value < 0x80)
        return value; /* most differences are small */
    value &= 0x7f;
    for (int shift = 7; shift < 7 * VARINT_MOST; shift += 7) {
        const unsigned char byte = *s->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    s->failed = true;
    return 0;
}

/* Makes DECODED_MOST bytes readable from `at` on. If fewer are left, copies them to the tail, where
 * zeros follow them. `at` is not after `end`. */
static void make_readable(struct source *s)
{
    const size_t left = (size_t)(s->end - s->at);
    if (left >= DECODED_MOST || s->is_in_tail)
        return;
    memset(s->tail, 0, sizeof(s->tail));
    memcpy(s->tail, s->at, left);
    s->at = s->tail;
    s->end = s->tail + left;
    s->is_in_tail = true;
}

/* Copies halves one by one: one of them was just stored, and a load of several halves would have to
 * wait until that store is in the cache. `volatile` keeps the compiler from joining the loads. */
static inline void copy_halves(const volatile uint32_t *from, uint32_t *to)
{
#pragma GCC unroll 10
    for (unsigned k = 0; k < HALVES; k++)
        to[k] = from[k];
}

static inline void decode_one(struct source *s, struct model *m, struct form *f)
{
    const unsigned mask = s->at[0] | (unsigned)s->at[1] << 8;
    s->at += 2;
    const uint64_t start = mask & 1 ? get(s) : 0, end = mask & 2 ? get(s) : 0;
    const uint64_t kind = mask & 4 ? get(s) : 0;
    f->start = m->last_end + (uint64_t)unzigzag(start);
    f->end = f->start + (uint64_t)unzigzag(end);
    f->kind = kind ^ m->next_kind[m->last_slot];
    uint32_t *halves = m->halves[learn(m, f->end, f->kind)];
    for (unsigned left = mask >> WORDS & ((1u << HALVES) - 1); left; left &= left - 1) {
        const uint64_t miss = get(s);
        halves[__builtin_ctz(left)] += (uint32_t)(miss >> 1 ^ -(miss & 1));
    }
    copy_halves(halves, f->halves);
    s->failed |= mask >> (WORDS + HALVES) != 0;
}

int pw_records_decode(const unsigned char *bytes, size_t size, struct pw_record *records, size_t n)
{
    struct model m;
    struct source s;
    begin(&m);
    s.at = bytes;
    s.end = bytes + size;
    s.failed = s.is_in_tail = false;
    for (size_t i = 0; i < n && !s.failed; i++) {
        make_readable(&s);
        decode_one(&s, &m, (struct form *)&records[i]);
        s.failed |= s.at > s.end;
    }
    return s.failed || s.at != s.end ? -EBADMSG : 0;
}

uint32_t pw_block_check(const struct pw_block_header *header, const void *payload)
{
    struct pw_block_header h = *header;
    h.check = 0;
    return libdeflate_crc32(libdeflate_crc32(0, &h, sizeof(h)), payload, h.length);
}
