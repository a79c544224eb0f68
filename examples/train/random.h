/* A small seeded generator (splitmix64): the same numbers on every machine, which rand() is not.
 * The model draws its first weights from one, each loader its batches from another. */
#ifndef TRAIN_RANDOM_H
#define TRAIN_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

/* Streams of one seed do not overlap in practice: the stream number moves all 64 bits. */
static inline struct random random_init(uint64_t seed, uint64_t stream)
{
    return (struct random){.state = seed * 0xD1342543DE82EF95u + stream * 0xDA942042E4DD58B5u};
}

static inline uint64_t random_next(struct random *r)
{
    uint64_t z = r->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Uniform in [-1, 1), in steps of 2^-23, so that every value is exact in a float. */
static inline float random_signed(struct random *r)
{
    return (float)(random_next(r) >> 40) * 0x1p-23f - 1.0f;
}

#endif
