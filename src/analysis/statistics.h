/* Order statistics, small-sample tests, and whether two series differ by more than chance. Called
 * by everything that judges measurements. Pure arithmetic: no I/O, no allocation, no global state,
 * and the same result on every machine. Functions that take `values` without const reorder them. */
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

/* Whether one of several values is too far above the others to be one of them. Pure functions. */

/* P(T >= t) of Student's t with `degrees` >= 1 degrees of freedom, t >= 0 (Abramowitz & Stegun,
 * Handbook of Mathematical Functions, 1964, 26.7.3 and 26.7.4). */
double pw_student_tail(double t, size_t degrees);

/* The chance that the largest of n values is as far above the others as values[which] is, were all
 * normal with one mean and variance: n P(T >= t), T with n - 2 degrees of freedom,
 *
 *     t = (value - mean of the others) / (s of the others x sqrt(1 + 1 / (n - 1)))
 *
 * which is Grubbs' test (Sample criteria for testing outlying observations, Ann. Math. Stat. 21,
 * 1950) with Bonferroni's bound. Negative values are not known, and left out. 1 with fewer than 3
 * known values. */
double pw_outlier_chance(const int64_t *values, size_t n, size_t which);

/* The mean of times, counts or sizes of which some are not known. */

/* In double: a damaged file must not overflow an integer. */
struct pw_mean {
    double sum;
    int64_t count;
};

/* Negative is not known, and left out. */
static inline void pw_mean_add(struct pw_mean *mean, int64_t value)
{
    if (value < 0)
        return;
    mean->sum += (double)value;
    mean->count++;
}

/* Rounded; -1 of nothing, INT64_MAX of what a damaged file adds up to. */
static inline int64_t pw_mean_value(const struct pw_mean *mean)
{
    double value = mean->count ? mean->sum / (double)mean->count : -1;
    return value > 9e18 ? INT64_MAX : (int64_t)(value + (value > 0 ? 0.5 : 0));
}

/* A line through points that are added one at a time (least squares; sums as in Welford,
 * Technometrics 4, 1962). */

struct pw_trend {
    int64_t n;
    double mean_x, mean_y, xx, xy, yy; /* sums of products of what they are off their means */
};

static inline void pw_trend_add(struct pw_trend *t, double x, double y)
{
    double dx = x - t->mean_x, dy = y - t->mean_y;
    t->n++;
    t->mean_x += dx / (double)t->n;
    t->mean_y += dy / (double)t->n;
    t->xx += dx * (x - t->mean_x);
    t->xy += dx * (y - t->mean_y);
    t->yy += dy * (y - t->mean_y);
}

/* y per x; 0 when no two points differ in x. */
static inline double pw_trend_slope(const struct pw_trend *t)
{
    return t->xx > 0 ? t->xy / t->xx : 0;
}

/* The share of the variance of y that the line explains, 0..1; 0 when y never changes. */
static inline double pw_trend_fit(const struct pw_trend *t)
{
    return t->xx > 0 && t->yy > 0 ? t->xy / t->xx * (t->xy / t->yy) : 0;
}

/* How uneven values of ranks are: the largest of a step over the step's mean, as a mean over steps.
 */

struct pw_peak {
    double sum, largest, count; /* of the step under way */
    double ratios, steps;       /* of those before */
};

/* A value of the step under way, 0 or more. */
static inline void pw_peak_add(struct pw_peak *peak, double value)
{
    peak->sum += value;
    peak->largest = value > peak->largest ? value : peak->largest;
    peak->count++;
}

/* Ends the step. One without values, or of zeros, does not count. */
static inline void pw_peak_next(struct pw_peak *peak)
{
    if (peak->sum > 0) {
        peak->ratios += peak->largest / (peak->sum / peak->count);
        peak->steps++;
    }
    peak->sum = peak->largest = peak->count = 0;
}

/* 1: all alike in each step; -1: no step counts. */
static inline double pw_peak_value(const struct pw_peak *peak)
{
    return peak->steps > 0 ? peak->ratios / peak->steps : -1;
}

/* Whether two series of step times differ by more than chance. */

/* Two-sided p of the Mann-Whitney U test (Mann & Whitney, Ann. Math. Stat. 18, 1947), normal
 * approximation with correction for ties and continuity. Steps are not independent: `correlation`,
 * 0..1, is the series' mean lag-1 autocorrelation, for which the variance is taken larger by
 * (1 + r) / (1 - r), as for the mean of an AR(1) process (Bayley & Hammersley, JRSS Suppl. 8,
 * 1946). Both arrays are sorted ascending. 1 when either has fewer than 2 values. */
double pw_mann_whitney(const double *a, size_t na, const double *b, size_t nb, double correlation);

/* Whether the means of two series differ by more than chance, without a distribution. Pure
 * functions; the same result everywhere. */

/* Fewer values than these of either series can give no p below 0.001: of 2 x 6 values the most
 * extreme parting comes 2 times in 924. */
enum { PW_PERMUTATION_LEAST = 7 };

/* How many successive values say as little as one independent value: 1 + 2 x the sum of the
 * autocorrelations, as long as the sums of two successive ones are positive, each at most the one
 * before it (Geyer, Statistical Science 7, 1992); at least 1. It looks at a quarter of n lags, 1000
 * at most. */
double pw_correlation_length(const double *values, size_t n);

/* Two-sided p of the permutation test (Fisher 1935; Pitman, JRSS Suppl. 4, 1937) of the difference
 * of the means: the share of all ways to part the values of both series into na and nb that make
 * the means differ as much. `block` successive values stay together, as many as `inflation` asks
 * for while each series has 7 blocks or more. Up to 16 blocks all ways are tried, else 9999 are
 * drawn, fewer when 20 of them have been as extreme (Besag & Clifford, Biometrika 78, 1991), and p
 * is (extreme + 1) / (drawn + 1) (Phipson & Smyth, SAGMB 9, 2010). 1 when either series has fewer
 * than 2 values or none differ. */
double pw_permutation_test(const double *a, size_t na, const double *b, size_t nb, size_t block);

/* Draws the first `chosen` of `n` in `order` at random; the rest follow them. *state is any number
 * at first; the same number gives the same draws. */
void pw_permutation_shuffle(size_t *order, size_t n, size_t chosen, uint64_t *state);

#endif
