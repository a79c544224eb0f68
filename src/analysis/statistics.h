/* Order statistics and small-sample tests. The functions reorder their `values`; all are
 * deterministic. */
#ifndef PW_ANALYSIS_STATISTICS_H
#define PW_ANALYSIS_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

void pw_sort_i64(int64_t *values, size_t n);
void pw_sort_f64(double *values, size_t n);

/* Median of n >= 1 values: the middle one, or the mean of the two. */
int64_t pw_median_i64(int64_t *values, size_t n);
double pw_median_f64(double *values, size_t n);

/* The q-quantile (0..1) of sorted values: the smallest value that at least q of them do not exceed.
 */
int64_t pw_quantile_i64(const int64_t *sorted, size_t n, double q);
double pw_quantile_f64(const double *sorted, size_t n, double q);

/* The first of n rising values that is not below `least`; n: none. */
size_t pw_place_i64(const int64_t *sorted, size_t n, int64_t least);

/* Median of the n - 1 >= 1 others of sorted values, without the one at `skip`. */
int64_t pw_median_without_i64(const int64_t *sorted, size_t n, size_t skip);

/* P(X >= k) for X ~ Binomial(n, p). */
double pw_binomial_tail(int64_t n, int64_t k, double p);

#endif
