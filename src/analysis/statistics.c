/* See statistics.h. Heap sort: no recursion, no allocation, the same result everywhere. Selection
 * is quickselect, which sorts what is left where pivots are bad: no order of values makes it slow.
 */
#include "analysis/statistics.h"

#include <math.h>

#include "core/search.h"

#define HALF_PI 1.57079632679489661923

/* P(|T| < t) is a sum of as many terms as there are pairs of degrees, in powers of cos^2 of
 * atan(t / sqrt(degrees)). */
double pw_student_tail(double t, size_t degrees)
{
    const double angle = atan(t / sqrt((double)degrees)), square = cos(angle) * cos(angle);
    const int is_odd = degrees % 2 == 1;
    double term = is_odd ? cos(angle) : 1, sum = 0;
    for (size_t i = is_odd ? 3 : 2; i <= degrees; i += 2) {
        sum += term;
        term *= square * (double)(i - 1) / (double)i;
    }
    const double within = is_odd ? (angle + sin(angle) * sum) / HALF_PI : sin(angle) * sum;
    return within < 1 ? (1 - within) / 2 : 0;
}

double pw_outlier_chance(const int64_t *values, size_t n, size_t which)
{
    double mean = 0, squares = 0, others = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == which || values[i] < 0)
            continue;
        const double off = (double)values[i] - mean;
        mean += off / ++others;
        squares += off * ((double)values[i] - mean);
    }
    if (others < 2 || (double)values[which] <= mean)
        return 1;
    const double error = sqrt(squares / (others - 1) * (1 + 1 / others));
    const double t = error > 0 ? ((double)values[which] - mean) / error : INFINITY;
    const double chance = (others + 1) * pw_student_tail(t, (size_t)others - 1);
    return chance < 1 ? chance : 1;
}

enum { FEW = 16, MOST_ROUNDS = 64 };

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

/* Puts the value of place k of the order there, none larger before it, none smaller behind it. */
#define DEFINE_SELECT(name, sort, type)                                                           \
    static type name##_pivot(const type *v, size_t n)                                             \
    {                                                                                             \
        const type a = v[0], b = v[n / 2], c = v[n - 1];                                          \
        return a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);                 \
    }                                                                                             \
    static void name(type *v, size_t n, size_t k)                                                 \
    {                                                                                             \
        for (int round = 0; n > FEW && round < MOST_ROUNDS; round++) {                            \
            const type pivot = name##_pivot(v, n);                                                \
            size_t first = 0, end = n; /* below first none is larger, from end on none smaller */ \
            while (first < end) {                                                                 \
                while (v[first] < pivot)                                                          \
                    first++;                                                                      \
                while (pivot < v[end - 1])                                                        \
                    end--;                                                                        \
                if (first < end) {                                                                \
                    type held = v[first];                                                         \
                    v[first++] = v[end - 1];                                                      \
                    v[--end] = held;                                                              \
                }                                                                                 \
            }                                                                                     \
            if (k >= end && k < first)                                                            \
                return;                                                                           \
            if (k < end) {                                                                        \
                n = end;                                                                          \
            } else {                                                                              \
                v += first;                                                                       \
                n -= first;                                                                       \
                k -= first;                                                                       \
            }                                                                                     \
        }                                                                                         \
        sort(v, n);                                                                               \
    }

DEFINE_SELECT(select_i64, pw_sort_i64, int64_t)
DEFINE_SELECT(select_f64, pw_sort_f64, double)

/* After the selection the lower of the two middle values is the largest of the first half. */
#define DEFINE_MEDIAN(name, select, type, between)   \
    type name(type *values, size_t n)                \
    {                                                \
        select(values, n, n / 2);                    \
        const type high = values[n / 2];             \
        if (n % 2)                                   \
            return high;                             \
        type low = values[0];                        \
        for (size_t i = 1; i < n / 2; i++)           \
            low = values[i] > low ? values[i] : low; \
        return between(low, high);                   \
    }

static int64_t between_i64(int64_t low, int64_t high)
{
    return low + (high - low) / 2;
}

static double between_f64(double low, double high)
{
    return (low + high) / 2;
}

DEFINE_MEDIAN(pw_median_i64, select_i64, int64_t, between_i64)
DEFINE_MEDIAN(pw_median_f64, select_f64, double, between_f64)

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
    return pw_search(sorted, n, (struct pw_search_key){sizeof(*sorted), 0, sizeof(*sorted)}, least);
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
