/* Whether one of several values is too far above the others to be one of them. Pure functions. */
#ifndef PW_ANALYSIS_OUTLIER_H
#define PW_ANALYSIS_OUTLIER_H

#include <stddef.h>
#include <stdint.h>

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

#endif
