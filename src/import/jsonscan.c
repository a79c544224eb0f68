/* Scans JSON eight bytes at a time; see jsonscan.h. */
#include "import/jsonscan.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
