/* Autocorrelation of the work between calls, and its pattern, for inferred steps; see period.h. */
#include "analysis/period.h"

#include <math.h>
#include <string.h>

#include "analysis/statistics.h"

#define LEAST_CORRELATION 0.5
#define ABOVE_SHORTER 0.2 /* so much more than at any shorter distance */
#define LEAST_CONTRAST 1.5
#define SURE 0.5     /* of the tolerance */
#define FLOOR 0.02   /* of the mean piece: less is alike */
#define CEILING 0.92 /* quantile: a piece that was interrupted is not to decide */

enum {
    LEAST_ITERATIONS = 4,
    SAMPLED = 9, /* iterations that the pattern is taken from */
    PLACES = 32, /* where they are looked for */
};

static double logarithm(const struct pw_period *p, int64_t work)
{
    const double ns = (double)work;
    return log((ns < 0 ? 0 : ns < p->ceiling ? ns : p->ceiling) + p->floor);
}

static void find_limits(struct pw_period *p, const int64_t *work, size_t n, double *scratch)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        scratch[i] = (double)work[i];
    pw_sort_f64(scratch, n);
    p->ceiling = scratch[(size_t)(CEILING * (double)(n - 1))];
    p->ceiling = p->ceiling > 1 ? p->ceiling : 1;
    for (size_t i = 0; i < n; i++)
        sum += scratch[i] < 0 ? 0 : scratch[i] < p->ceiling ? scratch[i] : p->ceiling;
    p->floor = FLOOR * sum / (double)n + 1;
}

/* The first distance at which the values are like themselves, and more than at a shorter one. */
static size_t find_length(const double *x, size_t n)
{
    double mean = 0, square = 0, shorter = -1;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean);
    for (size_t lag = 1; lag <= PW_PERIOD_MOST && n >= LEAST_ITERATIONS * lag; lag++) {
        double sum = 0;
        for (size_t i = 0; i + lag < n; i++)
            sum += (x[i] - mean) * (x[i + lag] - mean);
        const double like = square > 0 ? sum / square * (double)n / (double)(n - lag) : 0;
        if (lag > 1 && like >= LEAST_CORRELATION && like >= shorter + ABOVE_SHORTER)
            return lag;
        shorter = like > shorter ? like : shorter;
    }
    return 1;
}

/* Medians of `k` iterations from a piece on; returns how far they are from these in all. */
static double take_levels(const double *x, size_t length, size_t k, double *level)
{
    double values[SAMPLED], spread = 0;
    for (size_t piece = 0; piece < length; piece++) {
        for (size_t i = 0; i < k; i++)
            values[i] = x[i * length + piece];
        pw_sort_f64(values, k);
        level[piece] = values[k / 2];
        for (size_t i = 0; i < k; i++)
            spread += fabs(values[i] - level[piece]);
    }
    return spread;
}

/* Of the places looked at, that in which successive iterations are most alike: none of them has a
 * piece more. From the most work on. */
static void find_pattern(struct pw_period *p, const double *x, size_t n)
{
    size_t k = n / p->length, most = 0;
    k = k < SAMPLED ? k : SAMPLED;
    double level[PW_PERIOD_MOST] = {0}, best[PW_PERIOD_MOST] = {0}, least = INFINITY;
    const size_t room = n - k * p->length;
    for (size_t place = 0; place <= PLACES; place++) {
        const double spread = take_levels(x + room * place / PLACES, p->length, k, level);
        if (spread < least)
            memcpy(best, level, sizeof(best));
        least = spread < least ? spread : least;
    }
    for (size_t piece = 1; piece < p->length; piece++)
        most = best[piece] > best[most] ? piece : most;
    for (size_t piece = 0; piece < p->length; piece++)
        p->pattern[piece] = best[(most + piece) % p->length];
}

/* How far pieces are from the pattern, in the mean. */
static double distance(const struct pw_period *p, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < p->length; i++)
        sum += fabs(x[i] - p->pattern[i]);
    return sum / (double)p->length;
}

/* Half of the least by which the pattern differs from itself when it is shifted. */
static double find_tolerance(const struct pw_period *p)
{
    double least = INFINITY;
    for (size_t shift = 1; shift < p->length; shift++) {
        double sum = 0;
        for (size_t i = 0; i < p->length; i++)
            sum += fabs(p->pattern[i] - p->pattern[(i + shift) % p->length]);
        least = sum < least ? sum : least;
    }
    return least / (double)p->length / 2;
}

struct pw_period pw_period_find(const int64_t *work, size_t n, double *scratch)
{
    struct pw_period p = {.length = 1};
    if (n < 2 * LEAST_ITERATIONS)
        return p;
    find_limits(&p, work, n, scratch);
    for (size_t i = 0; i < n; i++)
        scratch[i] = logarithm(&p, work[i]);
    p.length = find_length(scratch, n);
    if (p.length == 1)
        return p;
    find_pattern(&p, scratch, n);
    double least = p.pattern[0];
    for (size_t i = 1; i < p.length; i++)
        least = p.pattern[i] < least ? p.pattern[i] : least;
    if (p.pattern[0] - least < log(LEAST_CONTRAST))
        p.length = 1;
    else
        p.tolerance = find_tolerance(&p);
    return p;
}

/* How many pieces further the pattern begins again; n: nowhere near. One that was interrupted is
 * not to shift it: what is found later is to be much nearer. */
static size_t find_next(const struct pw_period *p, const double *x, size_t n)
{
    if (p->length > n)
        return n;
    if (distance(p, x) <= p->tolerance)
        return 0;
    for (size_t shift = 1; shift < p->length && shift + p->length <= n; shift++)
        if (distance(p, x + shift) <= SURE * p->tolerance)
            return shift;
    return n;
}

size_t pw_period_cut(const struct pw_period *p, const int64_t *work, size_t n, double *scratch,
                     size_t *first, double *alike)
{
    size_t count = 0, like = 0;
    for (size_t i = 0; i < n; i++)
        scratch[i] = logarithm(p, work[i]);
    size_t at = find_next(p, scratch, n);
    for (at = at < n ? at : 0; at + p->length <= n; at += p->length) {
        const size_t shift = find_next(p, scratch + at, n - at);
        at += shift < n - at ? shift : 0; /* an interrupted one keeps the rhythm */
        like += distance(p, scratch + at) <= p->tolerance;
        first[count++] = at;
    }
    if (count)
        first[count++] = at;
    *alike = count > 1 ? (double)like / (double)(count - 1) : 0;
    return count;
}
