/* Tries each period with each first step; see lossperiod.h. */
#include "analysis/lossperiod.h"

/* Limits: share of the excess in the steps of the period; share of these steps that have an excess;
 * how many there are at least. */
#define LEAST_SHARE 0.8
#define LEAST_HIT 0.8
enum { LEAST_LOSSES = 4 };

static double positive(int64_t excess)
{
    return excess > 0 ? (double)excess : 0;
}

static double sum_of(const int64_t *excess, size_t n, size_t first, size_t period)
{
    double sum = 0;
    for (size_t s = first; s < n; s += period)
        sum += positive(excess[s]);
    return sum;
}

/* 1 when most of the steps of the period have an excess, so that it is no multiple or fraction of
 * the true one. */
static int are_alike(const int64_t *excess, size_t n, size_t first, size_t period, double sum)
{
    const size_t steps = (n - first + period - 1) / period;
    const double half = sum / (double)steps / 2;
    size_t hit = 0;
    for (size_t s = first; s < n; s += period)
        hit += positive(excess[s]) >= half;
    return steps >= LEAST_LOSSES && (double)hit >= LEAST_HIT * (double)steps;
}

int64_t pw_lossperiod_find(const int64_t *excess, size_t n)
{
    const double all = sum_of(excess, n, 0, 1);
    for (size_t period = 2; all > 0 && period <= PW_LOSSPERIOD_MOST && period <= n / LEAST_LOSSES;
         period++)
        for (size_t first = 0; first < period; first++) {
            const double sum = sum_of(excess, n, first, period);
            if (sum >= LEAST_SHARE * all && are_alike(excess, n, first, period, sum))
                return (int64_t)period;
        }
    return 0;
}
