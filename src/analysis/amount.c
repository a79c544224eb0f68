/* Regresses work on its amount, and finds work that varies from step to step; see amount.h. */
#include "analysis/amount.h"

#include <assert.h>
#include <math.h>

#include "analysis/statistics.h"
#include "analysis/straggler.h"
#include "analysis/thresholds.h"

#define LOWER_QUARTER 0.25 /* quantile of the slopes that is tested when the amount is guessed */
enum {
    LEAST_PAIRS = 30,
    ALL_PAIRS_RANKS = 128, /* with more ranks not all pairs of ranks are used */
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

/* Writes the slope between two points. Returns 1, or 0 when their amounts differ too little. */
static size_t slope(double work, double amount, double unit, int64_t *out)
{
    if (amount < PW_AMOUNT_DIFFERENCE * unit && -amount < PW_AMOUNT_DIFFERENCE * unit)
        return 0;
    *out = (int64_t)(work / amount * unit);
    return 1;
}

/* The slopes of each rank between steps that are `lag` apart. */
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

/* The slopes between ranks. With more than ALL_PAIRS_RANKS ranks, each rank is paired with only one
 * other, half of all ranks away. */
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
    return fabs((double)a - (double)b) <= PW_AMOUNT_NEAR_ERRORS * error;
}

/* Standard error of the median of slopes, two of which share a step. Changes `slopes`. */
static double error_of(int64_t *slopes, size_t n, int64_t median)
{
    for (size_t i = 0; i < n; i++)
        slopes[i] = slopes[i] < median ? median - slopes[i] : slopes[i] - median;
    return sqrt(2.0 / (double)n) * PW_MEDIAN_ERROR * PW_MAD_TO_SIGMA *
           (double)pw_median_i64(slopes, n);
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
    if (!in_time || error > PW_AMOUNT_ERROR * (double)cost) {
        medians_of_ranks(in, work, amount, values);
        n = slopes_of_ranks(in->nranks, (double)median, work, amount, slopes);
        const int64_t of_ranks = n ? pw_median_i64(slopes, n) : 0;
        if (!in_time || (n && is_near(of_ranks, cost, error))) {
            cost = of_ranks;
            pw_sort_i64(slopes, n);
            least = n ? pw_quantile_i64(slopes, n, LOWER_QUARTER) : 0;
        }
    }
    if (cost <= 0 || (in->is_guessed && (double)least < PW_AMOUNT_GUESSED * (double)own))
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

/* Work that varies without known amounts. */

/* Factor of the variance: successive differences share a step, so products of them have a
 * correlation of up to 1/4, and their mean is less certain. */
#define OF_DIFFERENCES 1.5

enum { FEWEST_STEPS = 20, FEWEST_OTHERS = 10, MOST_RANKS = 1024, X = 0, Y, Z, SERIES };

struct varying {
    const struct pw_varying_input *in;
    size_t nranks, stride; /* ranks looked at; every stride-th */
    double *of[SERIES];    /* [nsteps * nranks] NAN: not known */
    double *values;        /* [nsteps * nranks] */
    double *steps;         /* [nsteps] */
    double share[SERIES];
    int phase[SERIES]; /* of X and Y; Z has no single phase */
};

static size_t stride_of(size_t nranks)
{
    return (nranks + MOST_RANKS - 1) / MOST_RANKS;
}

static size_t looked_at(size_t nranks)
{
    return nranks ? (nranks - 1) / stride_of(nranks) + 1 : 0;
}

size_t pw_varying_scratch(size_t nsteps, size_t nranks)
{
    return (SERIES + 1) * nsteps * looked_at(nranks) + nsteps + looked_at(nranks);
}

static size_t cells_of(const struct varying *v)
{
    return v->in->nsteps * v->nranks;
}

/* The work in each phase, for a cell (step * v->nranks + rank) of the ranks looked at. */
static const int64_t *phases_of(const struct varying *v, size_t cell)
{
    const size_t step = cell / v->nranks, rank = cell % v->nranks * v->stride;
    return v->in->phase_ns + (step * v->in->nranks + rank) * PW_PHASES;
}

/* Chooses X and Y, the two phases with most work; Z is the rest. Returns 0 when they have too
 * little work. The allreduce phase is left out, because without waiting it is transfer. */
static int choose_phases(struct varying *v)
{
    double sum[PW_PHASES] = {0}, all = 0;
    for (size_t i = 0; i < cells_of(v); i++)
        for (int p = 0; p < PW_PHASES; p++)
            if (p != PW_PHASE_ALLREDUCE - PW_PHASE_DATA && phases_of(v, i)[p] > 0)
                sum[p] += (double)phases_of(v, i)[p];
    v->phase[X] = v->phase[Y] = -1;
    for (int p = 0; p < PW_PHASES; p++) {
        all += sum[p];
        if (v->phase[X] < 0 || sum[p] > sum[v->phase[X]]) {
            v->phase[Y] = v->phase[X];
            v->phase[X] = p;
        } else if (v->phase[Y] < 0 || sum[p] > sum[v->phase[Y]]) {
            v->phase[Y] = p;
        }
    }
    v->share[X] = all > 0 ? sum[v->phase[X]] / all : 0;
    v->share[Y] = all > 0 ? sum[v->phase[Y]] / all : 0;
    v->share[Z] = 1 - v->share[X] - v->share[Y];
    return v->share[Y] >= PW_VARYING_PHASE && v->share[Z] >= PW_VARYING_REST;
}

static double work_of(const struct varying *v, size_t cell, int series)
{
    const int64_t *phases = phases_of(v, cell);
    double sum = 0;
    for (int p = 0; p < PW_PHASES; p++) {
        int is_one = p == v->phase[X] || p == v->phase[Y];
        if (series == Z ? !is_one && p != PW_PHASE_ALLREDUCE - PW_PHASE_DATA
                        : p == v->phase[series])
            sum += phases[p] > 0 ? (double)phases[p] : 0;
    }
    return sum;
}

/* Fills a series with the logarithm of the work minus the median of the step. */
static void fill(struct varying *v, int series)
{
    const size_t nranks = v->nranks;
    double *of = v->of[series];
    for (size_t s = 0; s < v->in->nsteps; s++) {
        size_t n = 0;
        for (size_t r = 0; r < nranks; r++) {
            double work = work_of(v, s * nranks + r, series);
            of[s * nranks + r] = work > 0 ? log(work) : NAN;
            if (work > 0)
                v->values[n++] = of[s * nranks + r];
        }
        double middle = n ? pw_median_f64(v->values, n) : NAN;
        for (size_t r = 0; r < nranks; r++)
            of[s * nranks + r] -= middle;
    }
}

/* Replaces each value by its difference to the step before, divided by sqrt(2) so that it is as
 * large as a single deviation; then clips it. */
static void difference(struct varying *v, int series)
{
    const size_t nranks = v->nranks, cells = cells_of(v);
    double *of = v->of[series];
    size_t n = 0;
    for (size_t i = cells; i-- > 0;) {
        of[i] = i >= nranks ? (of[i] - of[i - nranks]) / sqrt(2) : NAN;
        if (!isnan(of[i]))
            v->values[n++] = fabs(of[i]);
    }
    double most = n ? PW_VARYING_CLIP * PW_MAD_TO_SIGMA * pw_median_f64(v->values, n) : 0;
    for (size_t i = 0; i < cells; i++)
        of[i] = of[i] > most ? most : of[i] < -most ? -most : of[i];
}

/* Coefficients of the sums a x + b y + c z. */
struct sum {
    double a, b, c;
};

static double value_of(const struct varying *v, size_t cell, struct sum w)
{
    return w.a * v->of[X][cell] + w.b * v->of[Y][cell] + w.c * v->of[Z][cell];
}

static int is_cell_known(const struct varying *v, size_t cell)
{
    return !isnan(v->of[X][cell] + v->of[Y][cell] + v->of[Z][cell]);
}

/* Mean product of two sums; *error: its standard error. */
static double covariance(struct varying *v, struct sum one, struct sum other, double *error)
{
    const size_t nranks = v->nranks;
    double mean = 0, squares = 0;
    size_t n = 0;
    for (size_t s = 1; s < v->in->nsteps; s++) {
        double sum = 0;
        size_t known = 0;
        for (size_t r = 0; r < nranks; r++) {
            size_t cell = s * nranks + r;
            if (!is_cell_known(v, cell))
                continue;
            sum += value_of(v, cell, one) * value_of(v, cell, other);
            known++;
        }
        if (known)
            v->steps[n++] = sum / (double)known;
    }
    for (size_t i = 0; i < n; i++)
        mean += v->steps[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (v->steps[i] - mean) * (v->steps[i] - mean);
    if (error)
        *error = n > 1 ? sqrt(OF_DIFFERENCES * squares / (double)(n - 1) / (double)n) : INFINITY;
    return mean;
}

/* Median over the ranks of the mean product of x and y. */
static double usual_covariance(struct varying *v)
{
    const size_t nranks = v->nranks;
    size_t ranks = 0;
    for (size_t r = 0; r < nranks; r++) {
        double sum = 0;
        size_t n = 0;
        for (size_t s = 1; s < v->in->nsteps; s++)
            if (is_cell_known(v, s * nranks + r)) {
                sum += v->of[X][s * nranks + r] * v->of[Y][s * nranks + r];
                n++;
            }
        if (n)
            v->values[ranks++] = sum / (double)n;
    }
    return ranks ? pw_median_f64(v->values, ranks) : 0;
}

/* The share of a deviation of the two phases' work that is noise: the part of x that y does not
 * share, and of y that x does not share, weighted by their shares of work. */
static double noise_share(struct varying *v, double shared)
{
    const struct sum difference = {1, -1, 0};
    const double both = covariance(v, difference, difference, NULL);
    double more = covariance(v, (struct sum){1, 1, 0}, difference, NULL);
    more = more > both ? both : more < -both ? -both : more;
    const double x = v->share[X], y = v->share[Y];
    const double noise = x * x * (both + more) / 2 + y * y * (both - more) / 2;
    return sqrt(noise / (noise + (x + y) * (x + y) * shared));
}

int pw_varying_find(const struct pw_varying_input *in, struct pw_varying *out, double *scratch)
{
    const struct sum x = {1, 0, 0}, y = {0, 1, 0};
    struct varying v = {.in = in, .nranks = looked_at(in->nranks), .stride = stride_of(in->nranks)};
    double error, off;
    if (in->nsteps < FEWEST_STEPS || in->nranks < 2 || !choose_phases(&v))
        return 0;
    for (int i = X; i < SERIES; i++)
        v.of[i] = scratch + (size_t)i * cells_of(&v);
    v.values = scratch + SERIES * cells_of(&v);
    v.steps = v.values + cells_of(&v);
    for (int i = X; i < SERIES; i++) {
        fill(&v, i);
        difference(&v, i);
    }
    const double shared = covariance(&v, x, y, &error);
    if (shared < PW_VARYING_SPREAD * PW_VARYING_SPREAD || shared < PW_VARYING_ERRORS * error ||
        2 * usual_covariance(&v) < shared)
        return 0;
    const double follows = covariance(&v, (struct sum){0.5, 0.5, 0}, (struct sum){0, 0, 1}, &off);
    if (follows + 2 * off > PW_VARYING_FOLLOWS * shared)
        return 0;
    *out = (struct pw_varying){.spread = sqrt(shared),
                               .phases = 1U << v.phase[X] | 1U << v.phase[Y],
                               .noise = noise_share(&v, shared)};
    return 1;
}

/* Sums over the ranks of a role. */
struct role {
    double n, mean, chance, squares;
};

static struct role *role_of_rank(double *scratch, const int32_t *role_of, size_t rank)
{
    return (struct role *)(void *)scratch + (role_of ? role_of[rank] : 0);
}

static_assert(sizeof(struct role) == PW_VARYING_SUMS * sizeof(double), "scratch of a role");

static double mean_of(const struct pw_varying_level *level)
{
    return level->sum / level->n;
}

/* Square of the standard error of the mean. */
static double chance_of(const struct pw_varying_level *level)
{
    const double mean = mean_of(level);
    return level->n > 1 ? (level->squares / level->n - mean * mean) / (level->n - 1) : 0;
}

double pw_varying_difference(const struct pw_varying_level *some,
                             const struct pw_varying_level *others)
{
    if (some->n <= 0)
        return 0;
    const int has_others = others->n >= FEWEST_OTHERS;
    const double more = mean_of(some) - (has_others ? mean_of(others) : 0);
    const double chance = chance_of(some) + (has_others ? chance_of(others) : 0);
    return more * more > PW_VARYING_LEVEL_ERRORS * PW_VARYING_LEVEL_ERRORS * chance ? more : 0;
}

void pw_varying_usual(const struct pw_varying_level *ranks, size_t nranks,
                      struct pw_varying_roles roles, double *usual, double *scratch)
{
    const int32_t *role_of = roles.role_of;
    const size_t nroles = roles.nroles;
    for (size_t i = 0; i < PW_VARYING_SUMS * nroles; i++)
        scratch[i] = 0;
    for (size_t r = 0; r < nranks; r++) {
        struct role *role = role_of_rank(scratch, role_of, r);
        if (ranks[r].n < 2)
            continue;
        role->n++;
        role->mean += mean_of(&ranks[r]);
        role->chance += chance_of(&ranks[r]);
    }
    for (size_t k = 0; k < nroles; k++) {
        struct role *role = (struct role *)(void *)scratch + k;
        role->mean /= role->n > 0 ? role->n : 1;
        role->chance /= role->n > 0 ? role->n : 1;
    }
    for (size_t r = 0; r < nranks; r++) {
        struct role *role = role_of_rank(scratch, role_of, r);
        const double more = ranks[r].n < 2 ? 0 : mean_of(&ranks[r]) - role->mean;
        role->squares += more * more;
    }
    for (size_t r = 0; r < nranks; r++) {
        const struct role *role = role_of_rank(scratch, role_of, r);
        const double seen = role->n > 1 ? role->squares / (role->n - 1) : 0;
        const double most = (1 + PW_VARYING_LEVEL_ERRORS * sqrt(2 / (role->n - 1))) * role->chance;
        const double real = role->n > 1 && seen > most ? 1 - role->chance / seen : 0;
        usual[r] = role->mean + (ranks[r].n < 2 ? 0 : real * (mean_of(&ranks[r]) - role->mean));
    }
}

void pw_varying_share(const struct pw_varying *varying, const double *works, size_t nranks,
                      double *factors)
{
    double before = 0, after = 0, logs = 0, n = 0;
    for (size_t r = 0; r < nranks; r++)
        if (works[r] > 0) {
            logs += log(works[r]);
            before += works[r];
            n++;
        }
    for (size_t r = 0; r < nranks; r++)
        if (works[r] > 0) {
            factors[r] = exp(logs / n + varying->noise * (log(works[r]) - logs / n));
            after += factors[r];
        }
    for (size_t r = 0; r < nranks; r++)
        factors[r] = works[r] > 0 ? factors[r] * before / after / works[r] : 1;
}
