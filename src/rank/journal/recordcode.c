/* Encodes records by prediction: each field is predicted from earlier records, and only wrong
 * predictions are written. See journalform.h.
 *
 * A record has three words of 64 bits (start, end, and kind, which is type, flags, op and stack)
 * and ten halves of 32 bits. The predictions are:
 *   start   the end of the previous record
 *   end     the start of the same record
 *   kind    the kind that came last after a record of the previous record's kind
 *   halves  the halves of the last record of the same kind
 * For each record a mask of 13 bits is written, which has a bit for each wrong prediction. The
 * differences between the fields and their predictions follow as zigzag varints. */
#include "rank/journal/journalform.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { WORDS = 3, HALVES = 10, SLOTS = 64 };

struct form {
    uint64_t start, end, kind;
    uint32_t halves[HALVES];
};
static_assert(sizeof(struct form) == sizeof(struct pw_record), "a record is 3 words, 10 halves");

/* The state from which fields are predicted; the same when encoding and when decoding. */
struct model {
    uint64_t last_end, last_kind;
    uint64_t next_kind[SLOTS];
    uint32_t halves[SLOTS][HALVES];
};

static unsigned slot_of(uint64_t kind)
{
    return (unsigned)((kind * 0x9e3779b97f4a7c15ull) >> 58);
}

static void learn(struct model *m, const struct form *f)
{
    m->next_kind[slot_of(m->last_kind)] = f->kind;
    m->last_end = f->end;
    m->last_kind = f->kind;
    memcpy(m->halves[slot_of(f->kind)], f->halves, sizeof(f->halves));
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

size_t pw_records_encode(const struct pw_record *records, size_t n, unsigned char *out)
{
    struct model m = {0};
    unsigned char *at = out;
    for (size_t i = 0; i < n; i++) {
        struct form f;
        memcpy(&f, &records[i], sizeof(f));
        unsigned char *const mask_at = at;
        unsigned mask = 0;
        at += 2;
        const uint64_t misses[WORDS] = {zigzag((int64_t)(f.start - m.last_end)),
                                        zigzag((int64_t)(f.end - f.start)),
                                        f.kind ^ m.next_kind[slot_of(m.last_kind)]};
        for (int k = 0; k < WORDS; k++)
            if (misses[k]) {
                mask |= 1u << k;
                at = put(at, misses[k]);
            }
        const uint32_t *before = m.halves[slot_of(f.kind)];
        for (int k = 0; k < HALVES; k++)
            if (f.halves[k] != before[k]) {
                mask |= 1u << (WORDS + k);
                at = put(at, (uint32_t)zigzag((int32_t)(f.halves[k] - before[k])));
            }
        mask_at[0] = (unsigned char)mask;
        mask_at[1] = (unsigned char)(mask >> 8);
        learn(&m, &f);
    }
    return (size_t)(at - out);
}

struct source {
    const unsigned char *at, *end;
    bool failed;
};

static uint64_t get(struct source *s)
{
    uint64_t value = 0;
    if (s->at < s->end && *s->at < 0x80)
        return *s->at++; /* most differences are small */
    for (int shift = 0; shift < 64; shift += 7) {
        if (s->at == s->end)
            break;
        unsigned char byte = *s->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    s->failed = true;
    return 0;
}

static void decode_one(struct source *s, const struct model *m, struct form *f)
{
    if (s->end - s->at < 2) {
        s->failed = true;
        return;
    }
    unsigned mask = s->at[0] | (unsigned)s->at[1] << 8;
    s->at += 2;
    uint64_t misses[WORDS];
    for (int k = 0; k < WORDS; k++)
        misses[k] = mask >> k & 1 ? get(s) : 0;
    f->start = m->last_end + (uint64_t)unzigzag(misses[0]);
    f->end = f->start + (uint64_t)unzigzag(misses[1]);
    f->kind = misses[2] ^ m->next_kind[slot_of(m->last_kind)];
    const uint32_t *before = m->halves[slot_of(f->kind)];
    memcpy(f->halves, before, sizeof(f->halves));
    for (unsigned left = mask >> WORDS & ((1u << HALVES) - 1); left; left &= left - 1) {
        const uint64_t miss = get(s);
        f->halves[__builtin_ctz(left)] += (uint32_t)(miss >> 1 ^ -(miss & 1));
    }
    s->failed |= mask >> (WORDS + HALVES) != 0;
}

int pw_records_decode(const unsigned char *bytes, size_t size, struct pw_record *records, size_t n)
{
    struct model m = {0};
    struct source s = {bytes, bytes + size, false};
    for (size_t i = 0; i < n && !s.failed; i++) {
        struct form f = {0};
        decode_one(&s, &m, &f);
        memcpy(&records[i], &f, sizeof(f));
        learn(&m, &f);
    }
    return s.failed || s.at != s.end ? -EBADMSG : 0;
}
