/* Compares levels of transfers with the other columns or steps, and links with others of their
 * kind; see network.h. */
#include "analysis/network.h"

#include <math.h>
#include <string.h>

#include "analysis/drift.h"
#include "analysis/statistics.h"
#include "analysis/straggler.h"
#include "analysis/thresholds.h"

#define UNITS 1000.0    /* units of a level as a whole number */
#define SLOWEST 1e6     /* limit of a level, so that sums cannot overflow */
#define STEEPEST 1000.0 /* limit of a ratio to the others' level */

enum { FEW = 4, LEAST_STEPS = 10 };

struct scratch {
    double *values;  /* [larger of steps and columns] */
    double *ratios;  /* [nsteps] */
    int64_t *cells;  /* [nsteps * ncolumns] */
    int64_t *phases; /* [nsteps * ncolumns * PW_PHASES] */
    void *rest;      /* scratch of pw_drift_find() */
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t pw_network_scratch(size_t nsteps, size_t ncolumns)
{
    return (larger(nsteps, ncolumns) + nsteps) * sizeof(double) +
           nsteps * ncolumns * (1 + PW_PHASES) * sizeof(int64_t) +
           pw_drift_scratch(nsteps, ncolumns) + sizeof(int64_t);
}

static struct scratch place(const struct pw_network_input *in, void *memory)
{
    struct scratch s = {.values = memory};
    s.ratios = s.values + larger(in->nsteps, in->ncolumns);
    s.cells = (int64_t *)(s.ratios + in->nsteps);
    s.phases = s.cells + in->nsteps * in->ncolumns;
    s.rest = s.phases + in->nsteps * in->ncolumns * PW_PHASES;
    return s;
}

/* A level or its logarithm as a whole number. Logarithms are compared, too, because bursts of other
 * traffic make one transfer twice as long and the next thirty times: then only few have half of the
 * median excess. */
static int64_t whole(double level, int is_log)
{
    const double bounded = level < SLOWEST ? level : SLOWEST;
    return (int64_t)(UNITS * (is_log ? log2(1 + bounded) : bounded) + 0.5);
}

/* Median level of the other columns in the step, at least 1, because transfers that look faster
 * than usual were only hidden. -1: there are no others. */
static double others_level(const struct pw_network_input *in, size_t step, size_t column,
                           double *values)
{
    size_t n = 0;
    for (size_t c = 0; c < in->ncolumns; c++) {
        const double level = in->level[step * in->ncolumns + c];
        if (c != column && level >= 0)
            values[n++] = level;
    }
    if (!n)
        return -1;
    const double level = pw_median_f64(values, n);
    return level > 1 ? level : 1;
}

/* Fills s->ratios with the column's level / the others' level in each step; -1: not known. Returns
 * how many are known. */
static size_t find_ratios(const struct pw_network_input *in, size_t column, struct scratch *s)
{
    size_t known = 0;
    for (size_t i = 0; i < in->nsteps; i++) {
        const double level = in->level[i * in->ncolumns + column];
        const double others = level < 0 ? -1 : others_level(in, i, column, s->values);
        const double ratio = others > 0 ? level / others : -1;
        s->ratios[i] = ratio < STEEPEST ? ratio : STEEPEST;
        known += s->ratios[i] >= 0;
    }
    return known;
}

/* Median of the ratios over the steps first .. last, or with is_outside over all other steps; -1:
 * none is known. */
static double median_ratio(const struct pw_network_input *in, struct scratch *s, size_t first,
                           size_t last, int is_outside)
{
    size_t n = 0;
    for (size_t i = 0; i < in->nsteps; i++)
        if (s->ratios[i] >= 0 && (i >= first && i <= last) != is_outside)
            s->values[n++] = s->ratios[i];
    return n ? pw_median_f64(s->values, n) : -1;
}

/* The share of steps in which `column` is more than PW_NETWORK_ABOVE times the others' level, of
 * the steps in which it is known. The others are all columns but `mine`. -1: none is known. */
static double rate_of(const struct pw_network_input *in, size_t mine, size_t column,
                      struct scratch *s)
{
    double above = 0, known = 0;
    for (size_t i = 0; i < in->nsteps; i++) {
        const double level = in->level[i * in->ncolumns + column];
        const double others = level < 0 ? -1 : others_level(in, i, mine, s->values);
        known += others > 0;
        above += others > 0 && level > PW_NETWORK_ABOVE * others;
    }
    return known > 0 ? above / known : -1;
}

/* The median of rate_of() over the other columns. */
static double others_rate(const struct pw_network_input *in, size_t column, struct scratch *s,
                          size_t *nothers)
{
    enum { MOST = 32 }; /* columns looked at, evenly spread */
    double rates[MOST];
    const size_t stride = (in->ncolumns + MOST - 1) / MOST;
    size_t n = 0;
    for (size_t c = 0; c < in->ncolumns; c += stride) {
        const double rate = c == column ? -1 : rate_of(in, column, c, s);
        if (rate >= 0)
            rates[n++] = rate;
    }
    *nothers = n * stride;
    return n ? pw_median_f64(rates, n) : -1;
}

static int is_always_slow(const struct pw_network_input *in, size_t column, size_t known,
                          struct scratch *s, struct pw_network_found *out)
{
    size_t nothers, above = 0;
    const double ratio = median_ratio(in, s, 0, in->nsteps, 0);
    if (known < LEAST_STEPS || ratio < PW_NETWORK_RATIO)
        return 0;
    const double rate = others_rate(in, column, s, &nothers);
    for (size_t i = 0; i < in->nsteps; i++)
        above += s->ratios[i] > PW_NETWORK_ABOVE;
    if (rate < 0 || (nothers < FEW && ratio < PW_NETWORK_RATIO_FEW))
        return 0;
    const double n = (double)known, chance = (rate * n + 3) / (n + 3);
    const double p =
        pw_binomial_tail((int64_t)known, (int64_t)above, chance) * (double)in->ncolumns;
    *out = (struct pw_network_found){0, in->nsteps - 1, ratio, 1 - p};
    return p < PW_NETWORK_CHANCE;
}

/* Finds a stretch of steps in which the levels (below 0: not known), or their logarithms, are
 * higher. Returns 1 when there is one. */
static int find_drift(const struct pw_network_input *in, const double *levels, size_t ncolumns,
                      struct scratch *s, struct pw_drift *found)
{
    const struct pw_drift_input input = {in->nsteps, ncolumns, s->cells, s->phases, 1};
    memset(s->phases, 0, in->nsteps * ncolumns * PW_PHASES * sizeof(*s->phases));
    for (int is_log = 0; is_log < 2; is_log++) {
        for (size_t i = 0; i < in->nsteps * ncolumns; i++)
            s->cells[i] = levels[i] < 0 ? -1 : whole(levels[i], is_log);
        if (pw_drift_find(&input, s->rest, found) && found->kind != PW_SLOWING_STEADY)
            return 1;
    }
    return 0;
}

int pw_network_column(const struct pw_network_input *in, size_t column, void *memory,
                      struct pw_network_found *out)
{
    struct scratch s = place(in, memory);
    struct pw_drift found;
    const size_t known = find_ratios(in, column, &s);
    if (!known)
        return 0;
    if (is_always_slow(in, column, known, &s, out))
        return 1;
    if (!find_drift(in, s.ratios, 1, &s, &found))
        return 0;
    const double inside = median_ratio(in, &s, found.first, found.last, 0);
    const double outside = median_ratio(in, &s, found.first, found.last, 1);
    *out = (struct pw_network_found){found.first, found.last, inside, found.confidence};
    return inside >= PW_NETWORK_RATIO && inside >= PW_NETWORK_RATIO * outside;
}

/* Median over the columns of their median levels inside the stretch, or outside. */
static double level_of(const struct pw_network_input *in, const struct pw_drift *found,
                       int is_outside, struct scratch *s)
{
    size_t n = 0;
    for (size_t i = 0; i < in->nsteps; i++) {
        size_t known = 0;
        for (size_t c = 0; c < in->ncolumns; c++)
            if (in->level[i * in->ncolumns + c] >= 0)
                s->values[known++] = in->level[i * in->ncolumns + c];
        if (known && (i >= found->first && i <= found->last) != is_outside)
            s->ratios[n++] = pw_median_f64(s->values, known);
    }
    return n ? pw_median_f64(s->ratios, n) : -1;
}

int pw_network_stretch(const struct pw_network_input *in, void *memory,
                       struct pw_network_found *out)
{
    struct scratch s = place(in, memory);
    struct pw_drift found;
    if (!find_drift(in, in->level, in->ncolumns, &s, &found))
        return 0;
    const double inside = level_of(in, &found, 0, &s), outside = level_of(in, &found, 1, &s);
    if (!(outside > 0))
        return 0;
    *out = (struct pw_network_found){found.first, found.last, inside / outside, found.confidence};
    return out->ratio >= PW_NETWORK_RATIO;
}

int pw_network_unsteady(const struct pw_network_input *in, void *memory,
                        struct pw_network_found *out)
{
    struct scratch s = place(in, memory);
    size_t known = 0, above = 0;
    for (size_t i = 0; i < in->nsteps; i++)
        if (in->level[i] >= 0) {
            above += in->level[i] >= PW_NETWORK_RATIO_FEW;
            s.values[known++] = in->level[i];
        }
    if (known < LEAST_STEPS)
        return 0;
    const double p = pw_binomial_tail((int64_t)known, (int64_t)above, 0.5);
    *out = (struct pw_network_found){0, in->nsteps - 1, pw_median_f64(s.values, known), 1 - p};
    return p < PW_NETWORK_CHANCE;
}

/* ---- links that are slow over the whole run ---- */

#define LEAST_MESSAGES 3
#define LEAST_OTHERS 4

static double mean_of(const struct pw_link *link)
{
    return link->sum_ns / (double)link->messages;
}

/* Median of the mean transfers of the other links of the same kind; -1 with fewer than 4. */
static double others_mean(const struct pw_link *links, size_t n, size_t mine, int64_t *scratch)
{
    size_t others = 0;
    for (size_t i = 0; i < n; i++)
        if (i != mine && links[i].kind == links[mine].kind && links[i].messages >= LEAST_MESSAGES)
            scratch[others++] = (int64_t)mean_of(&links[i]);
    return others >= LEAST_OTHERS ? (double)pw_median_i64(scratch, others) : -1;
}

/* Probability that the mean of a link like the others is this far above theirs. */
static double chance(const struct pw_link *link, double others)
{
    double n = (double)link->messages, mean = mean_of(link);
    double variance = (link->squares_ns - n * mean * mean) / (n - 1);
    double error = sqrt((variance > 0 ? variance : 0) / n) + 1;
    return erfc((mean - others) / error / sqrt(2.0)) / 2;
}

/* Keeps, of the links into one rank, only the one with the largest mean. */
static size_t keep_slowest(const struct pw_link *links, struct pw_link_found *found, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        int slowest = 1;
        for (size_t k = 0; k < n && slowest; k++)
            slowest = links[found[k].link].dst != links[found[i].link].dst ||
                      found[k].transfer_ns <= found[i].transfer_ns;
        found[i].confidence = slowest ? found[i].confidence : -1;
    }
    for (size_t i = 0; i < n; i++)
        if (found[i].confidence >= 0)
            found[kept++] = found[i];
    return kept;
}

size_t pw_links_find(const struct pw_link *links, size_t n, struct pw_link_found *out, size_t max,
                     int64_t *scratch)
{
    size_t count = 0;
    for (size_t i = 0; i < n && count < max; i++) {
        if (links[i].messages < LEAST_MESSAGES || links[i].error_ns < 0)
            continue;
        double others = others_mean(links, n, i, scratch), mean = mean_of(&links[i]);
        if (others <= 0 || mean < PW_NETWORK_RATIO * others ||
            mean - others <= (double)links[i].error_ns)
            continue;
        double p = chance(&links[i], others) * (double)n;
        if (p < PW_NETWORK_CHANCE)
            out[count++] = (struct pw_link_found){i, mean, others, 1 - p};
    }
    return keep_slowest(links, out, count);
}
