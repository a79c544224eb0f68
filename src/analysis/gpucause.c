/* Splits a straggler's excess into what its GPU did; see gpucause.h. */
#include "analysis/gpucause.h"

#include <stdbool.h>

#include "analysis/statistics.h"

enum { LEAST_SAMPLES = 3 };

/* Clocks are lower when below this share of the others', and slowed when so in this share of the
 * samples; kernels are believed to be slower from this confidence on. */
#define CLOCKS_LOWER 0.97
#define CLOCKS_SLOWED (1.0 / 3)
#define SURE 0.95

enum part { OWN, COMPUTE, DRY, CLOCK };

static bool is_known(const struct pw_gpu_usage *u)
{
    return u->own_ns >= 0 && u->compute_ns >= 0 && u->dry_ns >= 0;
}

/* -1: not known. Clocks in kHz, so that they can be compared as whole numbers. */
static int64_t part_of(const struct pw_gpu_usage *u, enum part part)
{
    if (part == CLOCK)
        return u->clocks.samples >= LEAST_SAMPLES ? (int64_t)(1000 * pw_gpu_clocks_mean(&u->clocks))
                                                  : -1;
    return !is_known(u)      ? -1
           : part == OWN     ? u->own_ns
           : part == COMPUTE ? u->compute_ns
                             : u->dry_ns;
}

static int64_t others_median(const struct pw_gpu_usage *ranks, size_t nranks, size_t rank,
                             enum part part, int64_t *scratch)
{
    size_t n = 0;
    for (size_t r = 0; r < nranks; r++)
        if (r != rank && part_of(&ranks[r], part) >= 0)
            scratch[n++] = part_of(&ranks[r], part);
    return n ? pw_median_i64(scratch, n) : -1;
}

/* Why it computes longer, by `more_ns`. */
static enum pw_cause refine(const struct pw_gpu_usage *u, int64_t more_ns, int64_t others_khz)
{
    int64_t khz = part_of(u, CLOCK);
    bool lower = khz >= 0 && others_khz > 0 && (double)khz < CLOCKS_LOWER * (double)others_khz;
    if (lower && (double)u->clocks.slowed >= CLOCKS_SLOWED * (double)u->clocks.samples)
        return PW_CAUSE_GPU_CLOCKS_THROTTLED;
    if (u->slowdown < 0)
        return PW_CAUSE_UNKNOWN;
    double slower_ns = (double)u->compute_ns * (1 - 1 / (u->slowdown > 0 ? u->slowdown : 1));
    if (slower_ns >= 0.5 * (double)more_ns)
        return u->confidence >= SURE ? PW_CAUSE_SLOWER_KERNELS : PW_CAUSE_UNKNOWN;
    return PW_CAUSE_MORE_GPU_WORK;
}

struct pw_gpu_cause_found pw_gpu_cause_find(const struct pw_gpu_usage *ranks, size_t nranks,
                                            size_t rank, int64_t *scratch)
{
    const struct pw_gpu_usage *u = &ranks[rank];
    struct pw_gpu_cause_found found = {.cause = PW_CAUSE_UNKNOWN, .others_mhz = -1};
    int64_t own = others_median(ranks, nranks, rank, OWN, scratch);
    int64_t compute = others_median(ranks, nranks, rank, COMPUTE, scratch);
    int64_t dry = others_median(ranks, nranks, rank, DRY, scratch);
    int64_t khz = others_median(ranks, nranks, rank, CLOCK, scratch);
    found.others_mhz = khz < 0 ? -1 : (double)khz / 1000;
    if (!is_known(u) || own < 0 || u->own_ns <= own)
        return found;
    int64_t excess = u->own_ns - own, more = u->compute_ns - compute, drier = u->dry_ns - dry;
    if (2 * (more > drier ? more : drier) < excess)
        return found;
    found.part_ns = more >= drier ? u->compute_ns : u->dry_ns;
    found.others_part_ns = more >= drier ? compute : dry;
    found.cause = more >= drier ? refine(u, more, khz) : PW_CAUSE_HOST_BOUND;
    return found;
}
