/* Regresses own work on its amount; see amount.h. */
#include "analysis/amount.h"

#include <math.h>

#include "analysis/statistics.h"

#define LEAST_DIFFERENCE 0.05 /* of the median amount */
#define LEAST_GUESSED 0.5     /* of what work in proportion to the amount would cost */
#define MOST_ERROR 0.05       /* of the cost: less is known well enough from steps alone */
#define NEAR_ERRORS 3.0
#define MEDIAN_ERROR 1.2533 /* of a median, in those of a mean */
#define MAD_TO_SIGMA 1.4826
#define LOWER_QUARTER 0.25 /* of the slopes are below it, where the amount is guessed */
enum {
    LEAST_PAIRS = 30,
    ALL_PAIRS_RANKS = 128, /* up to so many ranks all pairs are looked at */
};

size_t pw_amount_scratch(size_t nsteps, size_t nranks)
{
    const size_t cells = nsteps * nranks, pairs = ALL_PAIRS_RANKS * ALL_PAIRS_RANKS / 2;
    const size_t most = nranks > ALL_PAIRS_RANKS ? nranks : pairs;
    return (cells > most ? cells : most) + 2 * nranks + nsteps;
}

static int is_known(const struct pw_amount_input *in, size_t at)
{
    return in->own_ns[at] >= 0 && in->amount[at] >= 0;
}

static int64_t median_of(const struct pw_amount_input *in, const int64_t *series, int64_t *values)
{
    size_t n = 0;
    for (size_t i = 0; i < in->nsteps * in->nranks; i++)
        if (is_known(in, i))
            values[n++] = series[i];
    return n ? pw_median_i64(values, n) : -1;
}

/* A pair of points; how many slopes it gives. */
static size_t slope(double work, double amount, double unit, int64_t *out)
{
    if (amount < LEAST_DIFFERENCE * unit && -amount < LEAST_DIFFERENCE * unit)
        return 0;
    *out = (int64_t)(work / amount * unit);
    return 1;
}

/* Of the same rank in steps that are `lag` apart. */
static size_t slopes_in_time(const struct pw_amount_input *in, size_t lag, double unit,
                             int64_t *slopes)
{
    size_t n = 0;
    for (size_t s = lag; s < in->nsteps; s++)
        for (size_t r = 0; r < in->nranks; r++) {
            size_t now = s * in->nranks + r, before = now - lag * in->nranks;
            if (is_known(in, now) && is_known(in, before))
                n += slope((double)(in->own_ns[now] - in->own_ns[before]),
                           (double)(in->amount[now] - in->amount[before]), unit, &slopes[n]);
        }
    return n;
}

static int64_t median_of_rank(const struct pw_amount_input *in, const int64_t *series, size_t rank,
                              int64_t *values)
{
    size_t n = 0;
    for (size_t s = 0; s < in->nsteps; s++)
        if (is_known(in, s * in->nranks + rank))
            values[n++] = series[s * in->nranks + rank];
    return n ? pw_median_i64(values, n) : -1;
}

static void medians_of_ranks(const struct pw_amount_input *in, int64_t *work, int64_t *amount,
                             int64_t *values)
{
    for (size_t r = 0; r < in->nranks; r++) {
        work[r] = median_of_rank(in, in->own_ns, r, values);
        amount[r] = median_of_rank(in, in->amount, r, values);
    }
}

/* Of many ranks each is compared with one that is half of them away. */
static size_t slopes_of_ranks(size_t ranks, double unit, const int64_t *work, const int64_t *amount,
                              int64_t *slopes)
{
    size_t n = 0;
    for (size_t a = 0; a < ranks; a++) {
        size_t first = ranks > ALL_PAIRS_RANKS ? (a + ranks / 2) % ranks : a + 1;
        size_t end = ranks > ALL_PAIRS_RANKS ? first + 1 : ranks;
        for (size_t b = first; b < end; b++)
            if (work[a] >= 0 && work[b] >= 0)
                n += slope((double)(work[a] - work[b]), (double)(amount[a] - amount[b]), unit,
                           &slopes[n]);
    }
    return n;
}

static int is_near(int64_t a, int64_t b, double error)
{
    return fabs((double)a - (double)b) <= NEAR_ERRORS * error;
}

/* Standard error of the median of slopes, of which two share a step. Changes them. */
static double error_of(int64_t *slopes, size_t n, int64_t median)
{
    for (size_t i = 0; i < n; i++)
        slopes[i] = slopes[i] < median ? median - slopes[i] : slopes[i] - median;
    return sqrt(2.0 / (double)n) * MEDIAN_ERROR * MAD_TO_SIGMA * (double)pw_median_i64(slopes, n);
}

double pw_amount_cost(const struct pw_amount_input *in, int64_t *scratch)
{
    int64_t *work = scratch, *amount = work + in->nranks, *values = amount + in->nranks;
    int64_t *slopes = values + in->nsteps;
    int64_t median = median_of(in, in->amount, slopes), own = median_of(in, in->own_ns, slopes);
    if (median <= 0 || own <= 0)
        return 0;
    size_t n = 0;
    for (size_t lag = 1; n < LEAST_PAIRS && lag < in->nsteps; lag *= 2)
        n = slopes_in_time(in, lag, (double)median, slopes);
    int64_t cost = n >= LEAST_PAIRS ? pw_median_i64(slopes, n) : 0, least = 0;
    double error = 0;
    const int in_time = n >= LEAST_PAIRS;
    if (in_time) {
        pw_sort_i64(slopes, n);
        least = pw_quantile_i64(slopes, n, LOWER_QUARTER);
        error = error_of(slopes, n, cost);
    }
    if (!in_time || error > MOST_ERROR * (double)cost) {
        medians_of_ranks(in, work, amount, values);
        n = slopes_of_ranks(in->nranks, (double)median, work, amount, slopes);
        const int64_t of_ranks = n ? pw_median_i64(slopes, n) : 0;
        if (!in_time || (n && is_near(of_ranks, cost, error))) {
            cost = of_ranks;
            pw_sort_i64(slopes, n);
            least = n ? pw_quantile_i64(slopes, n, LOWER_QUARTER) : 0;
        }
    }
    if (cost <= 0 || (in->is_guessed && (double)least < LEAST_GUESSED * (double)own))
        return 0;
    return (double)(cost < own ? cost : own) / (double)median;
}

int64_t pw_amount_of_step(const struct pw_amount_input *in, size_t step, int64_t *scratch)
{
    size_t n = 0;
    for (size_t r = 0; r < in->nranks; r++)
        if (is_known(in, step * in->nranks + r))
            scratch[n++] = in->amount[step * in->nranks + r];
    return n ? pw_median_i64(scratch, n) : -1;
}

void pw_amount_take_out(const struct pw_amount_input *in, double cost, int64_t *series,
                        int64_t *scratch)
{
    for (size_t s = 0; s < in->nsteps; s++) {
        int64_t median = pw_amount_of_step(in, s, scratch);
        for (size_t r = 0; r < in->nranks; r++) {
            size_t at = s * in->nranks + r;
            if (!is_known(in, at) || series[at] < 0)
                continue;
            series[at] -= (int64_t)(cost * (double)(in->amount[at] - median));
            series[at] = series[at] < 0 ? 0 : series[at];
        }
    }
}
