/* See statistics.h. Heap sort: no recursion, no allocation, the same result everywhere. */
#include "analysis/statistics.h"

#include <math.h>

#define DEFINE_SORT(name, type)                                              \
    static void name##_sift(type *v, size_t root, size_t n)                  \
    {                                                                        \
        for (size_t child = 2 * root + 1; child < n; child = 2 * root + 1) { \
            if (child + 1 < n && v[child] < v[child + 1])                    \
                child++;                                                     \
            if (!(v[root] < v[child]))                                       \
                return;                                                      \
            type held = v[root];                                             \
            v[root] = v[child];                                              \
            v[child] = held;                                                 \
            root = child;                                                    \
        }                                                                    \
    }                                                                        \
    void name(type *v, size_t n)                                             \
    {                                                                        \
        for (size_t i = n / 2; i-- > 0;)                                     \
            name##_sift(v, i, n);                                            \
        for (size_t end = n; end > 1; end--) {                               \
            type held = v[0];                                                \
            v[0] = v[end - 1];                                               \
            v[end - 1] = held;                                               \
            name##_sift(v, 0, end - 1);                                      \
        }                                                                    \
    }

DEFINE_SORT(pw_sort_i64, int64_t)
DEFINE_SORT(pw_sort_f64, double)

int64_t pw_median_i64(int64_t *values, size_t n)
{
    pw_sort_i64(values, n);
    int64_t high = values[n / 2];
    if (n % 2)
        return high;
    int64_t low = values[n / 2 - 1];
    return low + (high - low) / 2;
}

static size_t quantile_index(size_t n, double q)
{
    double at = ceil(q * (double)n) - 1;
    if (!(at > 0))
        return 0;
    return (size_t)at < n ? (size_t)at : n - 1;
}

int64_t pw_quantile_i64(const int64_t *sorted, size_t n, double q)
{
    return sorted[quantile_index(n, q)];
}

double pw_quantile_f64(const double *sorted, size_t n, double q)
{
    return sorted[quantile_index(n, q)];
}

size_t pw_place_i64(const int64_t *sorted, size_t n, int64_t least)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] < least)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t pw_median_without_i64(const int64_t *sorted, size_t n, size_t skip)
{
    size_t left = n - 1, high = left / 2, low = left % 2 ? high : high - 1;
    int64_t a = sorted[low < skip ? low : low + 1], b = sorted[high < skip ? high : high + 1];
    return a + (b - a) / 2;
}

double pw_binomial_tail(int64_t n, int64_t k, double p)
{
    if (k <= 0)
        return 1;
    if (k > n || p <= 0)
        return 0;
    if (p >= 1)
        return 1;
    double sum = 0;
    for (int64_t i = k; i <= n; i++) {
        double log_term = lgamma((double)n + 1) - lgamma((double)i + 1) -
                          lgamma((double)(n - i) + 1) + (double)i * log(p) +
                          (double)(n - i) * log1p(-p);
        double term = exp(log_term);
        sum += term;
        /* Past the mode the terms fall geometrically. */
        if (i > k + 8 && term < sum * 1e-12)
            break;
    }
    return sum < 1 ? sum : 1;
}
