/* Random numbers that are a function of the seed and of up to three coordinates, not of the order
 * of calls. So all processes that write a part of a run draw the same numbers. Used by all of
 * sim/; a generator with state must not be used. */
#ifndef PW_SIM_RANDOM_H
#define PW_SIM_RANDOM_H

#include <math.h>
#include <stdint.h>

/* splitmix64's finaliser. */
static inline uint64_t pw_sim_mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static inline uint64_t pw_sim_bits(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
    return pw_sim_mix(pw_sim_mix(pw_sim_mix(pw_sim_mix(seed) ^ a) ^ b) ^ c);
}

/* In (0, 1). */
static inline double pw_sim_uniform(uint64_t bits)
{
    return ((double)(bits >> 11) + 0.5) / 9007199254740992.0;
}

/* Standard normal (Box and Muller). */
static inline double pw_sim_normal(uint64_t bits)
{
    double radius = sqrt(-2 * log(pw_sim_uniform(bits)));
    return radius * cos(6.283185307179586 * pw_sim_uniform(pw_sim_mix(bits)));
}

/* Log-normal of mean 1. */
static inline double pw_sim_lognormal(uint64_t bits, double sigma)
{
    return sigma > 0 ? exp(sigma * pw_sim_normal(bits) - sigma * sigma / 2) : 1;
}

#endif
