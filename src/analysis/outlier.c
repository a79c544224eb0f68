/* Grubbs' test; see outlier.h. */
#include "analysis/outlier.h"

#include <math.h>

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
