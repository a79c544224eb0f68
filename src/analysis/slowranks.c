/* Compares each rank with the median of the others; see slowranks.h. */
#include "analysis/slowranks.h"

#include "analysis/statistics.h"

/* ---- operators ---- */

static double range_of(const int64_t *values, size_t n)
{
    int64_t least = values[0], most = values[0];
    for (size_t i = 1; i < n; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    return (double)most - (double)least;
}

int pw_oprank_find(const int64_t *own_ns, size_t n, int64_t least_ns, int64_t *scratch,
                   struct pw_oprank *out)
{
    size_t worst = 0, others = 0;
    if (n < 2)
        return 0;
    for (size_t r = 1; r < n; r++)
        worst = own_ns[r] > own_ns[worst] ? r : worst;
    for (size_t r = 0; r < n; r++)
        if (r != worst)
            scratch[others++] = own_ns[r];
    int64_t median = pw_median_i64(scratch, others);
    if (median <= 0)
        return 0;
    double range = range_of(scratch, others);
    for (size_t i = 0; i < others; i++)
        scratch[i] = scratch[i] > median ? scratch[i] - median : median - scratch[i];
    double spread = 3 * 1.4826 * (double)pw_median_i64(scratch, others);
    if (others < PW_OPRANK_FEW && spread < 2 * range)
        spread = 2 * range;
    double excess = (double)own_ns[worst] - (double)median;
    if (!(excess > spread && excess > 0.1 * (double)median && excess > (double)least_ns))
        return 0;
    *out = (struct pw_oprank){worst, own_ns[worst], median, (double)own_ns[worst] / (double)median};
    return 1;
}

/* ---- GPU kernels ---- */

static int64_t mean_of(const struct pw_kernelrank_input *in, size_t kernel, size_t rank)
{
    size_t at = kernel * in->nranks + rank;
    return in->calls[at] > 0 ? in->total_ns[at] / in->calls[at] : -1;
}

/* A kernel, and its mean lengths on the ranks that ran it, sorted. */
struct kernel {
    size_t number, n;
    const int64_t *sorted; /* [n] */
};

static void compare(const struct pw_kernelrank_input *in, const struct kernel *kernel, size_t rank,
                    struct pw_kernelrank_found *found)
{
    const int64_t *sorted = kernel->sorted;
    const size_t at = kernel->number * in->nranks + rank, n = kernel->n;
    int64_t mean = mean_of(in, kernel->number, rank);
    if (mean < 0)
        return;
    const size_t place = pw_place_i64(sorted, n, mean);
    double expected = (double)pw_median_without_i64(sorted, n, mean) * (double)in->calls[at];
    double excess = (double)in->total_ns[at] - expected;
    found->spent_ns += (double)in->total_ns[at];
    found->expected_ns += expected;
    if (n == 2)
        return;
    found->kernels++;
    found->slowest += place == n - 1 && mean > sorted[n - 2];
    found->chances += 1 / (double)n;
    if (excess > (double)found->excess_ns) {
        found->excess_ns = (int64_t)excess;
        found->worst = kernel->number;
    }
}

static void conclude(struct pw_kernelrank_found *found, size_t nranks)
{
    if (found->expected_ns <= 0)
        return;
    found->slowdown = found->spent_ns / found->expected_ns;
    if (!found->kernels)
        return;
    double chance =
        pw_binomial_tail(found->kernels, found->slowest, found->chances / (double)found->kernels) *
        (double)nranks;
    found->confidence = chance < 1 ? 1 - chance : 0;
}

void pw_kernelrank_find(const struct pw_kernelrank_input *in, int64_t *scratch,
                        struct pw_kernelrank_found *out)
{
    const size_t least = in->nranks == 2 ? 2 : 3;
    for (size_t r = 0; r < in->nranks; r++)
        out[r] = (struct pw_kernelrank_found){.slowdown = -1};
    for (size_t k = 0; k < in->nkernels; k++) {
        size_t n = 0;
        for (size_t r = 0; r < in->nranks; r++)
            if (mean_of(in, k, r) >= 0)
                scratch[n++] = mean_of(in, k, r);
        if (n < least)
            continue;
        pw_sort_i64(scratch, n);
        const struct kernel kernel = {k, n, scratch};
        for (size_t r = 0; r < in->nranks; r++)
            compare(in, &kernel, r, &out[r]);
    }
    for (size_t r = 0; r < in->nranks; r++)
        conclude(&out[r], in->nranks);
}
