/* The construction is in the paper, section 2; see siphash.h. */
#include "rank/clocks/siphash.h"

struct sip {
    uint64_t v0, v1, v2, v3;
};

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static void mix(struct sip *s, int rounds)
{
    while (rounds--) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = rotate(s->v1, 13) ^ s->v0;
        s->v3 = rotate(s->v3, 16) ^ s->v2;
        s->v0 = rotate(s->v0, 32);
        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = rotate(s->v1, 17) ^ s->v2;
        s->v3 = rotate(s->v3, 21) ^ s->v0;
        s->v2 = rotate(s->v2, 32);
    }
}

static uint64_t little_endian(const unsigned char *bytes, size_t n)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

static void absorb(struct sip *s, uint64_t word)
{
    s->v3 ^= word;
    mix(s, 2);
    s->v0 ^= word;
}

uint64_t pw_siphash(const unsigned char key[16], const void *message, size_t length)
{
    const unsigned char *bytes = message;
    uint64_t k0 = little_endian(key, 8), k1 = little_endian(key + 8, 8);
    struct sip s = {k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
                    k1 ^ 0x7465646279746573};
    size_t whole = length / 8 * 8;
    for (size_t at = 0; at < whole; at += 8)
        absorb(&s, little_endian(bytes + at, 8));
    absorb(&s, little_endian(bytes + whole, length - whole) | (uint64_t)(length & 255) << 56);
    s.v2 ^= 255;
    mix(&s, 4);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
