/* Whether two series of step times differ by more than chance. Pure functions. */
#ifndef PW_ANALYSIS_SIGNIFICANCE_H
#define PW_ANALYSIS_SIGNIFICANCE_H

#include <stddef.h>
#include <stdint.h>

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
 * before it (Geyer, Statistical Science 7, 1992); at least 1. Of up to 1000 lags, a quarter of n.
 */
double pw_correlation_length(const double *values, size_t n);

/* Two-sided p of the permutation test (Fisher 1935; Pitman, JRSS Suppl. 4, 1937) of the difference
 * of the means: the share of all ways to part the values of both series into na and nb that make
 * the means differ as much. `block` successive values stay together, as many as `inflation` asks
 * for while each series has 7 blocks or more. Up to 16 blocks all ways are tried, else 9999 are
 * drawn, fewer when 20 of them have been as extreme (Besag & Clifford, Biometrika 78, 1991), and p
 * is (extreme + 1) / (drawn + 1) (Phipson & Smyth, SAGMB 9, 2010). 1 when either series has fewer
 * than 2 values or none differ. */
double pw_permutation_test(const double *a, size_t na, const double *b, size_t nb, size_t block);

/* Draws the first `chosen` of `n` in `order` at random; the rest are behind them. *state is any
 * number at first, and the same gives the same. */
void pw_permutation_shuffle(size_t *order, size_t n, size_t chosen, uint64_t *state);

#endif
