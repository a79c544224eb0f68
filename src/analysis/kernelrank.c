/* Compares ranks kernel by kernel; see kernelrank.h. */
#include "analysis/kernelrank.h"

#include "analysis/statistics.h"

static int64_t mean_of(const struct pw_kernelrank_input *in, size_t kernel, size_t rank)
{
    size_t at = kernel * in->nranks + rank;
    return in->calls[at] > 0 ? in->total_ns[at] / in->calls[at] : -1;
}

/* Where `value` is among n sorted ones. */
static size_t place_of(const int64_t *sorted, size_t n, int64_t value)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The i-th of the sorted values without the one at `left_out`. */
static int64_t other(const int64_t *sorted, size_t left_out, size_t i)
{
    return sorted[i < left_out ? i : i + 1];
}

static void compare(const struct pw_kernelrank_input *in, size_t kernel, size_t rank,
                    const int64_t *sorted, size_t n, struct pw_kernelrank_found *found)
{
    size_t at = kernel * in->nranks + rank, others = n - 1;
    int64_t mean = mean_of(in, kernel, rank);
    if (mean < 0)
        return;
    size_t place = place_of(sorted, n, mean);
    int64_t low = other(sorted, place, (others - 1) / 2), high = other(sorted, place, others / 2);
    double expected = (double)(low + (high - low) / 2) * (double)in->calls[at];
    double excess = (double)in->total_ns[at] - expected;
    found->spent_ns += (double)in->total_ns[at];
    found->expected_ns += expected;
    found->kernels++;
    found->slowest += mean > other(sorted, place, others - 1);
    found->chances += 1 / (double)n;
    if (excess > (double)found->excess_ns) {
        found->excess_ns = (int64_t)excess;
        found->worst = kernel;
    }
}

static void conclude(struct pw_kernelrank_found *found, size_t nranks)
{
    if (!found->kernels || found->expected_ns <= 0)
        return;
    found->slowdown = found->spent_ns / found->expected_ns;
    double chance =
        pw_binomial_tail(found->kernels, found->slowest, found->chances / (double)found->kernels) *
        (double)nranks;
    found->confidence = chance < 1 ? 1 - chance : 0;
}

void pw_kernelrank_find(const struct pw_kernelrank_input *in, int64_t *scratch,
                        struct pw_kernelrank_found *out)
{
    for (size_t r = 0; r < in->nranks; r++)
        out[r] = (struct pw_kernelrank_found){.slowdown = -1};
    for (size_t k = 0; k < in->nkernels; k++) {
        size_t n = 0;
        for (size_t r = 0; r < in->nranks; r++)
            if (mean_of(in, k, r) >= 0)
                scratch[n++] = mean_of(in, k, r);
        if (n < 3)
            continue;
        pw_sort_i64(scratch, n);
        for (size_t r = 0; r < in->nranks; r++)
            compare(in, k, r, scratch, n, &out[r]);
    }
    for (size_t r = 0; r < in->nranks; r++)
        conclude(&out[r], in->nranks);
}
