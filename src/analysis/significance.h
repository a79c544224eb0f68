/* Whether two series of step times differ by more than chance. Pure functions. */
#ifndef PW_ANALYSIS_SIGNIFICANCE_H
#define PW_ANALYSIS_SIGNIFICANCE_H

#include <stddef.h>

/* How often a value is like the one before it: lag-1 autocorrelation of n values in the order in
 * which they were measured, -1..1; 0 for fewer than 3 values or none that differ. */
double pw_autocorrelation(const double *values, size_t n);

/* Two-sided p of the Mann-Whitney U test (Mann & Whitney, Ann. Math. Stat. 18, 1947), normal
 * approximation with correction for ties and continuity. Steps are not independent: `correlation`,
 * 0..1, is the series' mean lag-1 autocorrelation, for which the variance is taken larger by
 * (1 + r) / (1 - r), as for the mean of an AR(1) process (Bayley & Hammersley, JRSS Suppl. 8,
 * 1946). Both arrays are sorted ascending. 1 when either has fewer than 2 values. */
double pw_mann_whitney(const double *a, size_t na, const double *b, size_t nb, double correlation);

#endif
