/* See significance.h. */
#include "analysis/significance.h"

#include <math.h>

double pw_autocorrelation(const double *values, size_t n)
{
    double mean = 0, all = 0, next = 0;
    for (size_t i = 0; i < n; i++)
        mean += values[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        all += (values[i] - mean) * (values[i] - mean);
        next += i ? (values[i] - mean) * (values[i - 1] - mean) : 0;
    }
    return n < 3 || !(all > 0) ? 0 : next / all;
}

static size_t count_equal(const double *sorted, size_t n, size_t from, double value)
{
    size_t i = from;
    while (i < n && sorted[i] == value)
        i++;
    return i - from;
}

double pw_mann_whitney(const double *a, size_t na, const double *b, size_t nb, double correlation)
{
    double rank_sum = 0, ties = 0, n1 = (double)na, n2 = (double)nb, n = n1 + n2;
    size_t i = 0, k = 0;
    if (na < 2 || nb < 2)
        return 1;
    while (i < na || k < nb) {
        double value = k >= nb || (i < na && a[i] <= b[k]) ? a[i] : b[k];
        size_t in_a = count_equal(a, na, i, value), in_b = count_equal(b, nb, k, value);
        double equal = (double)(in_a + in_b), before = (double)(i + k);
        rank_sum += (double)in_a * (before + (equal + 1) / 2);
        ties += equal * equal * equal - equal;
        i += in_a;
        k += in_b;
    }
    double u = rank_sum - n1 * (n1 + 1) / 2, apart = fabs(u - n1 * n2 / 2) - 0.5;
    double variance = n1 * n2 / 12 * (n + 1 - ties / (n * (n - 1)));
    double r = correlation < 0 ? 0 : correlation < 0.99 ? correlation : 0.99;
    variance *= (1 + r) / (1 - r);
    if (!(variance > 0) || apart <= 0)
        return 1;
    return erfc(apart / sqrt(2 * variance));
}
