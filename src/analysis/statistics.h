/* Order statistics, small-sample tests, and whether two series differ by more than chance. Called
 * by everything that judges measurements. Pure arithmetic: no I/O, no allocation, no global state,
 * and the same result on every machine. Functions that take `values` without const reorder them. */
#ifndef PW_ANALYSIS_STATISTICS_H
#define PW_ANALYSIS_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

#define PW_MAD_TO_SIGMA 1.4826 /* of a normal distribution */
#define PW_MEDIAN_ERROR 1.2533 /* standard error of a median / that of a mean */

void pw_sort_i64(int64_t *values, size_t n);
void pw_sort_f64(double *values, size_t n);

/* Median of n >= 1 values: the middle one, or the mean of the two middle ones. */
int64_t pw_median_i64(int64_t *values, size_t n);
double pw_median_f64(double *values, size_t n);

/* Puts the middle values of n where they are when all are sorted. That is enough for
 * pw_median_without_i64(). */
void pw_sort_middle_i64(int64_t *values, size_t n);

/* The q-quantile (0..1) of sorted values: the smallest value that at least q of them do not exceed.
 */
int64_t pw_quantile_i64(const int64_t *sorted, size_t n, double q);
double pw_quantile_f64(const double *sorted, size_t n, double q);

/* The same of n >= 1 values in any order, for `count` ascending q: faster than sorting the values
 * when few quantiles are needed. */
void pw_select_quantiles_i64(int64_t *values, size_t n, const double *q, size_t count,
                             int64_t *out);

/* Index of the first of n sorted values that is at least `least`; n: there is none. */
size_t pw_place_i64(const int64_t *sorted, size_t n, int64_t least);

/* Median of n >= 2 values without one that equals `value`, which must be among them. `sorted` is
 * from pw_sort_i64() or pw_sort_middle_i64(). */
int64_t pw_median_without_i64(const int64_t *sorted, size_t n, int64_t value);

/* The middle of n values that are not negative, kept so that the median without one of them takes
 * no further search. */
struct pw_middle {
    int64_t low, at, high; /* low: -1 for fewer than 2 values; high: -1 for an even number */
};

/* Returns the middle of n values, and reorders them. */
struct pw_middle pw_middle_of(int64_t *values, size_t n);

/* The same as pw_median_without_i64(); -1: there were fewer than 2 values. */
int64_t pw_middle_without(const struct pw_middle *middle, int64_t value);

/* P(X >= k) for X ~ Binomial(n, p). */
double pw_binomial_tail(int64_t n, int64_t k, double p);

/* The q-quantile, 0 < q < 1, of the standard normal distribution, to 7 digits (algorithm AS 241,
 * PPND7: Wichura, Applied Statistics 37, 1988). */
double pw_normal_quantile(double q);

/* ---- whether the largest value is an outlier ---- */

/* P(T >= t) of Student's t with `degrees` >= 1 degrees of freedom, t >= 0 (Abramowitz & Stegun,
 * Handbook of Mathematical Functions, 1964, 26.7.3 and 26.7.4). */
double pw_student_tail(double t, size_t degrees);

/* The chance that the largest of n values from one normal distribution is as far above the others
 * as values[which] is: n P(T >= t), with n - 2 degrees of freedom and
 *
 *     t = (value - mean of the others) / (s of the others x sqrt(1 + 1 / (n - 1)))
 *
 * This is Grubbs' test (Sample criteria for testing outlying observations, Ann. Math. Stat. 21,
 * 1950) with Bonferroni's bound. Negative values are unknown and ignored. Returns 1 with fewer than
 * 3 known values. */
double pw_outlier_chance(const int64_t *values, size_t n, size_t which);

/* The median of n values, and a confidence interval of the median of the population that they are a
 * sample of, without assuming a distribution: from the kth smallest to the kth largest value. It
 * holds the median with the probability 1 - 2 P(X < k), X binomial with n and 1/2 (Thompson, On
 * confidence ranges for the median, Ann. Math. Stat. 7, 1936). k is the largest one for which that
 * is PW_MEDIAN_CONFIDENCE or more; 1 when there is none, as with fewer than 6 values. */
#define PW_MEDIAN_CONFIDENCE 0.95

struct pw_median_interval {
    double median, low, high;
    double confidence; /* the probability with which the interval holds the median */
};

/* `sorted` has n >= 1 values in ascending order. */
struct pw_median_interval pw_median_interval(const double *sorted, size_t n);

/* ---- the mean of times, counts or sizes, some of which are not known ---- */

/* The sum is of type double, so that a damaged file cannot overflow an integer. */
struct pw_mean {
    double sum;
    int64_t count;
};

/* Adds a value; negative values are unknown and ignored. */
static inline void pw_mean_add(struct pw_mean *mean, int64_t value)
{
    if (value < 0)
        return;
    mean->sum += (double)value;
    mean->count++;
}

/* Returns the rounded mean; -1 without values; INT64_MAX when it does not fit, as with a damaged
 * file. */
static inline int64_t pw_mean_value(const struct pw_mean *mean)
{
    double value = mean->count ? mean->sum / (double)mean->count : -1;
    return value > 9e18 ? INT64_MAX : (int64_t)(value + (value > 0 ? 0.5 : 0));
}

/* A line of least squares through points that are added one at a time (sums as in Welford,
 * Technometrics 4, 1962). */

struct pw_trend {
    int64_t n;
    /* xx, xy, yy: sums of products of the deviations from the means */
    double mean_x, mean_y, xx, xy, yy;
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

/* Slope of the line, y per x; 0 when all points have the same x. */
static inline double pw_trend_slope(const struct pw_trend *t)
{
    return t->xx > 0 ? t->xy / t->xx : 0;
}

/* The share of the variance of y that the line explains, 0..1; 0 when y never changes. */
static inline double pw_trend_fit(const struct pw_trend *t)
{
    return t->xx > 0 && t->yy > 0 ? t->xy / t->xx * (t->xy / t->yy) : 0;
}

/* How uneven the values of ranks are: the largest value of a step / the mean of the step, as a mean
 * over the steps. */

struct pw_peak {
    double sum, largest, count; /* of the current step */
    double ratios, steps;       /* of the steps that have ended */
};

/* Adds a value, 0 or more, to the current step. */
static inline void pw_peak_add(struct pw_peak *peak, double value)
{
    peak->sum += value;
    peak->largest = value > peak->largest ? value : peak->largest;
    peak->count++;
}

/* Ends the step. A step without values, or with zeros only, does not count. */
static inline void pw_peak_next(struct pw_peak *peak)
{
    if (peak->sum > 0) {
        peak->ratios += peak->largest / (peak->sum / peak->count);
        peak->steps++;
    }
    peak->sum = peak->largest = peak->count = 0;
}

/* Returns the mean ratio, 1 when all values of a step are equal; -1: no step counts. */
static inline double pw_peak_value(const struct pw_peak *peak)
{
    return peak->steps > 0 ? peak->ratios / peak->steps : -1;
}

/* ---- whether two series of step times differ by more than chance ---- */

/* Two-sided p of the Mann-Whitney U test (Mann & Whitney, Ann. Math. Stat. 18, 1947), normal
 * approximation with correction for ties and continuity. Steps are not independent, so the variance
 * is multiplied by (1 + r) / (1 - r), as for the mean of an AR(1) process; r is `correlation`, the
 * mean lag-1 autocorrelation of the series, 0..1 (Bayley & Hammersley, JRSS Suppl. 8, 1946). Both
 * arrays are sorted ascending. Returns 1 when either series has fewer than 2 values. */
double pw_mann_whitney(const double *a, size_t na, const double *b, size_t nb, double correlation);

/* ---- the same without assuming a distribution: permutation tests ---- */

/* With fewer values in each series no p below 0.001 is possible: for two series of 6 values, the
 * most extreme of the 924 ways to divide them has p = 2 / 924. */
enum { PW_PERMUTATION_LEAST = 7 };

/* Returns the correlation length: the number of successive values that are worth one independent
 * value. It is 1 + 2 x the sum of the autocorrelations, up to the first pair of lags with a sum
 * that is not positive; each pair counts at most as much as the one before (Geyer, Statistical
 * Science 7, 1992). The result is at least 1. At most n / 4 lags are used, and at most 1000. */
double pw_correlation_length(const double *values, size_t n);

/* Returns the two-sided p of the permutation test (Fisher 1935; Pitman, JRSS Suppl. 4, 1937) of the
 * difference of the means. The values of both series can be divided into na and nb values in many
 * ways; p is the share of the ways whose means differ at least as much. `block` successive values
 * stay together; fewer, if a series would have less than 7 blocks. With up to 16 blocks, all ways
 * are tried. Otherwise up to 9999 ways are drawn, until 20 of them were as extreme (Besag &
 * Clifford, Biometrika 78, 1991), and p is (extreme + 1) / (drawn + 1) (Phipson & Smyth, SAGMB 9,
 * 2010). Returns 1 when either series has fewer than 2 values, or all values are equal. */
double pw_permutation_test(const double *a, size_t na, const double *b, size_t nb, size_t block);

/* Shuffles order[n] so that its first `chosen` entries are drawn at random. *state is the seed
 * before the first call; the same seed gives the same draws. */
void pw_permutation_shuffle(size_t *order, size_t n, size_t chosen, uint64_t *state);

#endif
