/* Periods of a few steps; see season.h. */
#include "analysis/season.h"

#include <math.h>

#include "analysis/statistics.h"

#define LEAST_EXPLAINED 0.5

enum { LEAST_VALUES = 8 }; /* of each place */

static double median_of_place(const double *values, const size_t *step, size_t n, size_t period,
                              size_t place, double *sorted)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (step[i] % period == place)
            sorted[count++] = values[i];
    return count ? pw_median_f64(sorted, count) : 0;
}

/* Into out[n] what is left; the sum of its absolute values. */
static double leave(const double *values, const size_t *step, size_t n, size_t period, double *out,
                    double *sorted)
{
    double usual[PW_SEASON_MOST], sum = 0;
    for (size_t k = 0; k < period; k++)
        usual[k] = median_of_place(values, step, n, period, k, sorted);
    for (size_t i = 0; i < n; i++) {
        out[i] = values[i] - usual[step[i] % period];
        sum += fabs(out[i]);
    }
    return sum;
}

size_t pw_season_remove(double *values, const size_t *step, size_t n, double *room)
{
    double *left = room, *sorted = room + n;
    double least = LEAST_EXPLAINED * leave(values, step, n, 1, left, sorted);
    size_t best = 1;
    for (size_t period = 2; period <= PW_SEASON_MOST && period * LEAST_VALUES <= n; period++) {
        const double sum = leave(values, step, n, period, left, sorted);
        if (sum < least) {
            least = sum;
            best = period;
        }
    }
    if (best == 1)
        return 1;
    const double usual = median_of_place(values, step, n, 1, 0, sorted);
    leave(values, step, n, best, left, sorted);
    for (size_t i = 0; i < n; i++)
        values[i] = left[i] + usual;
    return best;
}
