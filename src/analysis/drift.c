/* Looks for a window or a line in the steps' common excess, by Wilcoxon's ranks, and tests the
 * better one by permutation; see drift.h. Ranks in Wilcoxon's sense, positions in sorted order, are
 * called places here, because a rank is a process. */
#include "analysis/drift.h"

#include <math.h>
#include <string.h>

#include "analysis/statistics.h"
#include "analysis/straggler.h"
#include "analysis/thresholds.h"

/* ---- excess that recurs with a period of some steps: an outer loop, a file that is written
 * ---- */

enum { PW_SEASON_MOST = 16 /* steps */ };

#define LEAST_SEASON 0.5

enum { LEAST_VALUES = 8 }; /* least number of values at each place of the period */

/* Values, and the step of each. */
struct series {
    double *values;
    const size_t *step;
    size_t n;
};

static double median_of_place(const struct series *of, size_t period, size_t place, double *sorted)
{
    size_t count = 0;
    for (size_t i = 0; i < of->n; i++)
        if (of->step[i] % period == place)
            sorted[count++] = of->values[i];
    return count ? pw_median_f64(sorted, count) : 0;
}

/* Writes to out[n] the values without the part that recurs with the period. Returns the sum of the
 * absolute values of `out`. */
static double leave_season(const struct series *of, size_t period, double *out, double *sorted)
{
    double usual[PW_SEASON_MOST], sum = 0;
    for (size_t k = 0; k < period; k++)
        usual[k] = median_of_place(of, period, k, sorted);
    for (size_t i = 0; i < of->n; i++) {
        out[i] = of->values[i] - usual[of->step[i] % period];
        sum += fabs(out[i]);
    }
    return sum;
}

/* Subtracts the recurring part from values[n], where values[i] is of step[i]. Returns the period in
 * steps, 1 when nothing recurs. The recurring part is the median of the values at the same place in
 * the period, minus the median of all, as the classical decomposition of a series does with means.
 * The period is the one that leaves the smallest sum of absolute values. This sum must be at most
 * half of the sum before, and each place of the period must have 8 values or more. `room` is for 2
 * n values. */
static size_t pw_season_remove(double *values, const size_t *step, size_t n, double *room)
{
    const struct series of = {values, step, n};
    double *left = room, *sorted = room + n;
    double least = LEAST_SEASON * leave_season(&of, 1, left, sorted);
    size_t best = 1;
    for (size_t period = 2; period <= PW_SEASON_MOST && period * LEAST_VALUES <= n; period++) {
        const double sum = leave_season(&of, period, left, sorted);
        if (sum < least) {
            least = sum;
            best = period;
        }
    }
    if (best == 1)
        return 1;
    const double usual = median_of_place(&of, 1, 0, sorted);
    leave_season(&of, best, left, sorted);
    for (size_t i = 0; i < n; i++)
        values[i] = left[i] + usual;
    return best;
}

/* ---- whether values are higher for a while, or rise, by more than chance: tested with their
 * places, summed in bins of successive values ---- */

enum { PW_SCAN_BINS = 256, PW_SCAN_LEAST = 5 /* values in a window, and outside it */ };

/* Sums of places, minus their expected values. */
struct pw_scan {
    double sum[PW_SCAN_BINS + 1], values[PW_SCAN_BINS + 1];
    size_t n, size;
};

#define PW_SCAN_LEAST_P 0.0005

enum { DRAWS = 1999, ENOUGH = 20 };

/* How many of the sorted values are below `value`, or with is_equal_below at most `value`. */
static size_t count_below(const double *sorted, size_t n, double value, int is_equal_below)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sorted[middle] < value || (is_equal_below && sorted[middle] <= value))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Writes to place[n] the place of each value in sorted order (equal values get their mean place),
 * minus the mean of all places. `room` is for n values. */
static void pw_scan_places(const double *values, size_t n, double *room, double *place)
{
    memcpy(room, values, n * sizeof(double));
    pw_sort_f64(room, n);
    for (size_t i = 0; i < n; i++) {
        const size_t below = count_below(room, n, values[i], 0);
        const size_t upto = count_below(room, n, values[i], 1);
        place[i] = ((double)below + (double)upto - (double)n) / 2;
    }
}

/* Sums `place` in bins of `least` or more values. */
static void pw_scan_fill(struct pw_scan *out, const double *place, size_t n, size_t least)
{
    const size_t needed = (n + PW_SCAN_BINS - 1) / PW_SCAN_BINS;
    *out = (struct pw_scan){.size = least > needed ? least : needed};
    for (size_t i = 0; i < n; i++) {
        const size_t at = i / out->size;
        out->n = at + 1;
        out->sum[at] += place[i];
        out->values[at] += 1;
    }
}

static double window_of(const struct pw_scan *s, const size_t *order, size_t *first, size_t *last)
{
    double best = 0, all = 0;
    for (size_t i = 0; i < s->n; i++)
        all += s->values[i];
    for (size_t i = 0; i < s->n; i++) {
        double sum = 0, values = 0;
        for (size_t k = i; k < s->n; k++) {
            sum += s->sum[order[k]];
            values += s->values[order[k]];
            if (sum <= 0 || values < PW_SCAN_LEAST || all - values < PW_SCAN_LEAST)
                continue;
            const double score = sum * sum / (values * (1 - values / all));
            if (score <= best)
                continue;
            best = score;
            *first = i;
            *last = k;
        }
    }
    return best;
}

static double slope_of(const struct pw_scan *s, const size_t *order)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++)
        sum += s->sum[order[i]] * ((double)i - (double)(s->n - 1) / 2);
    return sum;
}

static double score_of(const struct pw_scan *s, const size_t *order, int is_slope)
{
    size_t first, last;
    return is_slope ? slope_of(s, order) : window_of(s, order, &first, &last);
}

static void put_in_order(size_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
}

/* Finds the window of bins with the largest score (sum - expected sum)^2 / (w (1 - w / n)), where w
 * of the n values are in the window. Returns the score. */
static double pw_scan_window(const struct pw_scan *s, size_t *first, size_t *last)
{
    size_t order[PW_SCAN_BINS + 1] = {0};
    put_in_order(order, s->n);
    return window_of(s, order, first, last);
}

/* The p-value of `seen`: the share of random orders of the bins of `left` that have a window (or a
 * slope) with the same score or more; the observed order counts, too. `left` holds the values
 * without the window or line that was found. Blocks of the values themselves would still contain
 * the effect, and a few such blocks come together by chance, however high they are (Kirch, "Block
 * permutation principles for the change analysis of dependent data", J. Statist. Plann. Inference
 * 137, 2007). The result is at least PW_SCAN_LEAST_P. */
static double pw_scan_chance(const struct pw_scan *seen, const struct pw_scan *left, int is_slope)
{
    size_t order[PW_SCAN_BINS + 1] = {0}, extreme = 0, drawn = 0;
    uint64_t state = 1;
    put_in_order(order, seen->n);
    const double observed = score_of(seen, order, is_slope);
    while (drawn < DRAWS && extreme < ENOUGH) {
        pw_permutation_shuffle(order, left->n, left->n, &state);
        extreme += score_of(left, order, is_slope) >= observed * (1 - 1e-9);
        drawn++;
    }
    return (double)(extreme + 1) / (double)(drawn + 1);
}

enum {
    LEAST_BINS = 8,
    LEAST_STEPS = PW_SCAN_LEAST,
    WARM_UP = 10,
    MOST_RANKS = 1024 /* so many ranks, evenly spread, are enough to judge all */
};

struct work {
    const struct pw_drift_input *in;
    double *common, *place; /* [nsteps]: excess, its place among all */
    double *room, *sorted;  /* [nsteps] each, scratch; `sorted` follows `room` directly */
    size_t *step;           /* [nsteps] the numbers of the steps that are known */
    int64_t *values;        /* [larger of both] scratch */
    int64_t *base;          /* [nranks] median own work */
    size_t n;               /* steps that are known */
    size_t stride;          /* of the ranks that are looked at */
};

/* A window of `common`; first and last belong to it. */
struct window {
    size_t first, last;
    double base, excess; /* median outside; median inside minus median outside */
};

/* The result: a window; or with is_line a line over all steps, whose whole rise is
 * window.excess. */
struct fit {
    struct window window;
    double at_first, slope;
    int is_line;
    double grown_ns;   /* what growth costs that is no line; 0: there is none. It is level ... */
    size_t grows_from; /* ... until this step, and a line of `at_first` and `slope` from it on */
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t pw_drift_scratch(size_t nsteps, size_t nranks)
{
    return nsteps * (4 * sizeof(double) + sizeof(size_t)) +
           (larger(nsteps, nranks) + nranks + 1) * sizeof(int64_t);
}

static void place_scratch(struct work *w, void *scratch)
{
    const size_t n = w->in->nsteps;
    w->common = scratch;
    w->place = w->common + n;
    w->room = w->place + n;
    w->sorted = w->room + n;
    w->base = (int64_t *)(w->sorted + n);
    w->values = w->base + w->in->nranks;
    w->step = (size_t *)(w->values + larger(n, w->in->nranks));
}

/* ---- the common excess ---- */

/* An array with a value of every step and rank: own work, or the work in one phase. */
struct cells {
    const int64_t *at;
    size_t stride;
};

/* The rank's median over the known steps inside the window, or outside it; -1: none is known. */
static int64_t median_of_rank(struct work *w, struct cells cells, size_t rank,
                              const struct window *win, int is_outside)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        const int64_t value = cells.at[(w->step[i] * w->in->nranks + rank) * cells.stride];
        if (value >= 0 && (i >= win->first && i <= win->last) != is_outside)
            w->values[n++] = value;
    }
    return n ? pw_median_i64(w->values, n) : -1;
}

static void find_common(struct work *w)
{
    const size_t nranks = w->in->nranks;
    const struct window all = {.last = SIZE_MAX};
    w->n = w->in->nsteps;
    for (size_t s = 0; s < w->n; s++)
        w->step[s] = s;
    for (size_t r = 0; r < nranks; r += w->stride)
        w->base[r] = median_of_rank(w, (struct cells){w->in->own_ns, 1}, r, &all, 0);
    w->n = 0;
    for (size_t s = 0; s < w->in->nsteps; s++) {
        size_t known = 0;
        for (size_t r = 0; r < nranks; r += w->stride)
            if (w->in->own_ns[s * nranks + r] >= 0)
                w->values[known++] = w->in->own_ns[s * nranks + r] - w->base[r];
        if (2 * known * w->stride < nranks || !known)
            continue;
        pw_sort_i64(w->values, known);
        w->common[w->n] = (double)pw_quantile_i64(w->values, known, 0.25);
        w->step[w->n++] = s;
    }
}

/* ---- the window and the line ---- */

static void measure(struct work *w, struct window *win)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        if (i < win->first || i > win->last)
            w->room[n++] = w->common[i];
    win->base = n ? pw_median_f64(w->room, n) : 0;
    n = win->last - win->first + 1;
    memcpy(w->room, w->common + win->first, n * sizeof(double));
    win->excess = pw_median_f64(w->room, n) - win->base;
}

/* Finds the window; it begins and ends with steps above half of its excess. */
static void find_window(struct work *w, struct window *win)
{
    struct pw_scan bins;
    size_t first = 0, last = 0;
    pw_scan_places(w->common, w->n, w->room, w->place);
    pw_scan_fill(&bins, w->place, w->n, 1);
    pw_scan_window(&bins, &first, &last);
    *win = (struct window){.first = first * bins.size, .last = (last + 1) * bins.size - 1};
    win->last = win->last < w->n ? win->last : w->n - 1;
    measure(w, win);
    const double half = win->base + win->excess / 2;
    while (win->first > 0 && w->common[win->first - 1] > half)
        win->first--;
    while (win->last + 1 < w->n && w->common[win->last + 1] > half)
        win->last++;
    while (win->first < win->last && w->common[win->first] <= half)
        win->first++;
    while (win->last > win->first && w->common[win->last] <= half)
        win->last--;
    measure(w, win);
}

/* 1 when in any `length` successive steps of [first, end) more than half are above `limit`. */
static int has_another(const struct work *w, size_t first, size_t end, size_t length, double limit)
{
    size_t above = 0;
    for (size_t i = first; i < end; i++) {
        above += w->common[i] > limit;
        above -= i >= first + length && w->common[i - length] > limit;
        if (i + 1 >= first + length && 2 * above > length)
            return 1;
    }
    return 0;
}

/* 1 when no other stretch, half as long as the window or longer, is as slow. Otherwise slow and
 * fast stretches alternate by the program's design. Single recurring steps do not count as a
 * stretch. */
static int is_distinct(const struct work *w, const struct window *win)
{
    const double half = win->base + win->excess / 2;
    const size_t in = win->last - win->first + 1;
    const size_t length = larger(LEAST_STEPS, in / 2);
    double above = 0;
    for (size_t i = win->first; i <= win->last; i++)
        above += w->common[i] > half;
    return win->excess > 0 && in >= LEAST_STEPS && w->n - in >= LEAST_STEPS &&
           above >= PW_TREND_INSIDE * (double)in && !has_another(w, 0, win->first, length, half) &&
           !has_another(w, win->last + 1, w->n, length, half);
}

/* Fits the line. Returns the excess per step; *at_first: the excess at the first step. */
static double find_line(struct work *w, double *at_first)
{
    const size_t half = w->n / 2;
    for (size_t i = 0; i + half < w->n; i++)
        w->room[i] = (w->common[i + half] - w->common[i]) / (double)half;
    const double slope = pw_median_f64(w->room, w->n - half);
    for (size_t i = 0; i < w->n; i++)
        w->room[i] = w->common[i] - slope * (double)i;
    *at_first = pw_median_f64(w->room, w->n);
    return slope;
}

static double median_between(struct work *w, size_t first, size_t last)
{
    const size_t n = last - first + 1;
    memcpy(w->room, w->common + first, n * sizeof(double));
    return pw_median_f64(w->room, n);
}

/* Work that grows over the run, though not evenly, looks like a window until the end in which the
 * second half is slower than the first by PW_TREND_GROWS of the excess, and more than chance
 * explains. Then the window becomes all of the run, and its excess that of the last step above the
 * first ones. */
static void take_growth(struct work *w, struct fit *fit)
{
    struct window *win = &fit->window;
    const size_t length = win->last - win->first + 1, middle = win->first + length / 2;
    if (win->first == 0 || win->last + 1 < w->n || length < 2 * LEAST_STEPS)
        return;
    const double lower = median_between(w, win->first, middle - 1);
    const double upper = median_between(w, middle, win->last), grown = upper - lower;
    for (size_t i = 0; i + 1 < w->n; i++)
        w->room[i] = fabs(w->common[i + 1] - w->common[i]);
    const double sigma = 1.4826 / sqrt(2) * pw_median_f64(w->room, w->n - 1);
    const double error = 1.2533 * sigma * sqrt(4 / (double)length);
    if (grown < PW_TREND_GROWS * win->excess || grown < PW_TREND_SIGMAS * error)
        return;
    const double first = median_between(w, 0, win->first - 1);
    for (size_t i = 0; i < w->n; i++)
        fit->grown_ns += w->common[i] - first;
    fit->grows_from = win->first;
    fit->slope = grown / ((double)length / 2);
    fit->at_first = lower - grown / 2;
    *win = (struct window){0, w->n - 1, first, upper + grown / 2 - first};
}

static double fit_at(const struct fit *fit, size_t i)
{
    const struct window *win = &fit->window;
    if (fit->grown_ns > 0 && i < fit->grows_from)
        return win->base;
    if (fit->is_line || fit->grown_ns > 0)
        return fit->at_first + fit->slope * (double)(i - fit->grows_from);
    return i >= win->first && i <= win->last ? win->base + win->excess : win->base;
}

/* Writes to w->room the excess without the window or line. Returns the sum of the absolute values
 * of the rest. */
static double leave(struct work *w, const struct fit *fit)
{
    double sum = 0;
    for (size_t i = 0; i < w->n; i++) {
        w->room[i] = w->common[i] - fit_at(fit, i);
        sum += fabs(w->room[i]);
    }
    return sum;
}

/* The length of the blocks for the permutation test: successive steps are correlated within a
 * block. *sigma: the robust standard deviation. Both are of the excess without the window or line,
 * and without extreme values. */
static size_t block_of(struct work *w, const struct fit *fit, double *sigma)
{
    double *sizes = w->place;
    size_t n = 0;
    leave(w, fit);
    for (size_t i = 0; i < w->n; i++)
        sizes[i] = fabs(w->room[i]);
    *sigma = 1.4826 * pw_median_f64(sizes, w->n);
    for (size_t i = 0; i < w->n; i++)
        if (fabs(w->room[i]) <= PW_TREND_FAR * *sigma)
            w->room[n++] = w->room[i];
    const double length = pw_correlation_length(w->room, n);
    return length < 1.5 ? 1 : (size_t)ceil(2 * length);
}

/* The p-value of the window or line; 1 when it is not significant. */
static double test(struct work *w, const struct fit *fit)
{
    struct pw_scan seen, left;
    double sigma;
    const size_t block = block_of(w, fit, &sigma);
    pw_scan_places(w->common, w->n, w->room, w->place);
    pw_scan_fill(&seen, w->place, w->n, block);
    leave(w, fit);
    pw_scan_places(w->room, w->n, w->sorted, w->place);
    pw_scan_fill(&left, w->place, w->n, block);
    if (seen.n < LEAST_BINS)
        return 1;
    const double p = pw_scan_chance(&seen, &left, fit->is_line || fit->grown_ns > 0);
    const int is_large = fit->window.excess >= PW_TREND_SIGMAS * sigma;
    return p < PW_TREND_CHANCE && (is_large || (block == 1 && p < PW_TREND_CHANCE_NOISY)) ? p : 1;
}

/* ---- the ranks and the phase that were slower ---- */

/* How much longer the rank's work (own, or of a phase) was inside the window than outside, ns. For
 * a steady rise: twice the difference between the second and the first half. */
static double change_of(struct work *w, const struct pw_drift *found, struct cells cells,
                        size_t rank, const struct window *win)
{
    const int is_steady = found->kind == PW_SLOWING_STEADY;
    const struct window half = {.first = w->n / 2, .last = w->n - 1};
    const int64_t inside = median_of_rank(w, cells, rank, is_steady ? &half : win, 0);
    const int64_t outside = median_of_rank(w, cells, rank, is_steady ? &half : win, 1);
    if (inside < 0 || outside < 0)
        return 0;
    return (double)(inside - outside) * (is_steady ? 2 : 1);
}

/* Standard error of change_of(): of a difference of two medians, with a spread estimated from the
 * differences of successive steps. */
static double error_of(struct work *w, const struct pw_drift *found, size_t rank,
                       const struct window *win)
{
    const int is_steady = found->kind == PW_SLOWING_STEADY;
    const double inside = is_steady ? (double)w->n / 2 : (double)(win->last - win->first + 1);
    size_t n = 0;
    int64_t before = -1;
    for (size_t i = 0; i < w->n; i++) {
        const int64_t own = w->in->own_ns[w->step[i] * w->in->nranks + rank];
        if (own >= 0 && before >= 0)
            w->values[n++] = own > before ? own - before : before - own;
        before = own >= 0 ? own : before;
    }
    const double sigma = n ? 1.4826 / sqrt(2) * (double)pw_median_i64(w->values, n) : 0;
    return 1.2533 * sigma * sqrt(1 / inside + 1 / ((double)w->n - inside)) * (is_steady ? 2 : 1);
}

static int64_t count_ranks(struct work *w, const struct pw_drift *found, const struct window *win,
                           int64_t *known)
{
    int64_t slower = 0;
    *known = 0;
    for (size_t r = 0; r < w->in->nranks; r += w->stride) {
        *known += w->base[r] >= 0;
        const double change = change_of(w, found, (struct cells){w->in->own_ns, 1}, r, win);
        slower += change + error_of(w, found, r, win) >= (double)found->excess_ns / 2;
    }
    return slower;
}

static enum pw_phase find_phase(struct work *w, const struct pw_drift *found,
                                const struct window *win)
{
    const size_t nranks = w->in->nranks;
    double most = PW_TREND_IN_PHASE * (double)found->excess_ns;
    enum pw_phase phase = PW_PHASE_NONE;
    for (size_t p = 0; p < PW_PHASES; p++) {
        const struct cells cells = {w->in->phase_ns + p, PW_PHASES};
        double sum = 0;
        for (size_t r = 0; r < nranks; r += w->stride)
            sum += change_of(w, found, cells, r, win);
        sum /= (double)((nranks + w->stride - 1) / w->stride);
        if (sum > most) {
            most = sum;
            phase = (enum pw_phase)(PW_PHASE_DATA + p);
        }
    }
    return phase;
}

/* Fills the steps, the cost and the phase. Returns 1 when the window costs enough and most ranks
 * were slower in it. */
static int describe(struct work *w, const struct fit *fit, struct pw_drift *out)
{
    const struct window *win = &fit->window;
    int64_t known;
    out->first = w->step[win->first];
    out->last = w->step[win->last];
    out->steps = (int64_t)(win->last - win->first + 1);
    out->excess_ns = (int64_t)(win->excess + 0.5);
    out->cost_ns = fit->grown_ns > 0
                       ? (int64_t)fit->grown_ns
                       : out->excess_ns * out->steps / (out->kind == PW_SLOWING_STEADY ? 2 : 1);
    if (out->excess_ns <= 0 || (double)out->cost_ns < PW_TREND_SHARE * (double)w->in->run_ns)
        return 0;
    if ((double)count_ranks(w, out, win, &known) < PW_TREND_RANKS * (double)known)
        return 0;
    out->phase = find_phase(w, out, win);
    return 1;
}

/* Chooses the window or the line, whichever leaves less of the excess, by Schwarz' criterion (Ann.
 * Stat. 6, 1978) for Laplace's distribution: the criterion allows for the window's two ends, which
 * are two more parameters. Returns 0 when there is neither. */
static int choose(struct work *w, struct fit *fit)
{
    struct fit line = {.is_line = 1};
    const double n = (double)w->n;
    find_window(w, &fit->window);
    line.slope = find_line(w, &line.at_first);
    line.window = (struct window){0, w->n - 1, line.at_first, line.slope * (n - 1)};
    if (line.slope > 0 && n * log(leave(w, &line)) < n * log(leave(w, fit)) + log(n))
        *fit = line;
    else if (!is_distinct(w, &fit->window))
        return 0;
    return 1;
}

int pw_drift_find(const struct pw_drift_input *in, void *scratch, struct pw_drift *out)
{
    struct work w = {.in = in};
    struct fit fit = {.is_line = 0};
    struct pw_drift found = {.kind = PW_SLOWING_STRETCH};
    w.stride = (in->nranks + MOST_RANKS - 1) / MOST_RANKS;
    place_scratch(&w, scratch);
    find_common(&w);
    if (w.n < LEAST_BINS + LEAST_STEPS)
        return 0;
    pw_season_remove(w.common, w.step, w.n, w.room);
    if (!choose(&w, &fit))
        return 0;
    if (!fit.is_line)
        take_growth(&w, &fit);
    const double p = test(&w, &fit);
    if (p >= PW_TREND_CHANCE)
        return 0;
    if (fit.is_line || fit.grown_ns > 0)
        found.kind = PW_SLOWING_STEADY;
    else if (fit.window.first == 0 && fit.window.last < larger(WARM_UP, w.n / 10))
        found.kind = PW_SLOWING_WARM_UP;
    if (!describe(&w, &fit, &found))
        return 0;
    found.confidence = 1 - 2 * p;
    *out = found;
    return 1;
}

/* Marks the steps whose common excess and gap are far above all others'. */

enum { LEAST_PAUSE_STEPS = 10, MOST_OFTEN = 6 };

struct pauses_work {
    const struct pw_pauses_input *in;
    int64_t *pause;  /* [nsteps] -1: not known */
    int64_t *values; /* [larger of both] scratch */
    int64_t *base;   /* [nranks] median own work */
};

int64_t pw_pauses_gap(int64_t gap_ns, double waited_ns)
{
    return 2 * waited_ns >= (double)gap_ns ? 0 : gap_ns - (int64_t)waited_ns;
}

size_t pw_pauses_scratch(size_t nsteps, size_t nranks)
{
    return (nsteps + (nsteps > nranks ? nsteps : nranks) + nranks) * sizeof(int64_t);
}

static void find_bases(struct pauses_work *w)
{
    const size_t nranks = w->in->nranks;
    for (size_t r = 0; r < nranks; r++) {
        size_t n = 0;
        for (size_t s = 0; s < w->in->nsteps; s++)
            if (w->in->own_ns[s * nranks + r] >= 0)
                w->values[n++] = w->in->own_ns[s * nranks + r];
        w->base[r] = n ? pw_median_i64(w->values, n) : -1;
    }
}

/* The extra own work that more than three quarters of the ranks have in the step, ns; -1: not
 * known. */
static int64_t common_of(struct pauses_work *w, size_t step)
{
    const size_t nranks = w->in->nranks;
    size_t n = 0;
    for (size_t r = 0; r < nranks; r++)
        if (w->in->own_ns[step * nranks + r] >= 0)
            w->values[n++] = w->in->own_ns[step * nranks + r] - w->base[r];
    if (!n || 2 * n < nranks)
        return -1;
    pw_sort_i64(w->values, n);
    const int64_t common = pw_quantile_i64(w->values, n, 0.25);
    return common > 0 ? common : 0;
}

static int64_t median_gap(struct pauses_work *w)
{
    for (size_t s = 0; s < w->in->nsteps; s++)
        w->values[s] = w->in->gap_ns[s];
    return pw_median_i64(w->values, w->in->nsteps);
}

static void find_pauses(struct pauses_work *w)
{
    find_bases(w);
    const int64_t usual = median_gap(w);
    for (size_t s = 0; s < w->in->nsteps; s++) {
        const int64_t gap = w->in->gap_ns[s] - usual;
        w->pause[s] = common_of(w, s);
        if (w->pause[s] >= 0 && gap > 0)
            w->pause[s] += gap;
    }
}

/* The least extra time that is a pause, ns; 0: too few steps are known. */
static int64_t threshold(struct pauses_work *w)
{
    size_t n = 0;
    for (size_t s = 0; s < w->in->nsteps; s++)
        if (w->pause[s] >= 0)
            w->values[n++] = w->pause[s];
    if (n < LEAST_PAUSE_STEPS)
        return 0;
    /* Negative values were set to 0, so this is less than a standard deviation. */
    pw_sort_i64(w->values, n);
    const double sigma = (double)pw_quantile_i64(w->values, n, 0.8);
    const double step =
        (double)w->in->step_ns * (w->in->is_inferred ? PW_PAUSE_STEP_INFERRED : PW_PAUSE_STEP);
    const double least = PW_PAUSE_SIGMAS * sigma > step ? PW_PAUSE_SIGMAS * sigma : step;
    return (int64_t)least + 1;
}

/* Raises the least length to a tenth of the longest pause, if the pauses that are shorter cost
 * little: one pause of 4 s and four of 10 ms are not five pauses of 0.8 s. */
static int64_t leave_out_short(const struct pauses_work *w, int64_t least)
{
    int64_t longest = 0;
    double all = 0, brief = 0;
    for (size_t s = 1; s < w->in->nsteps; s++)
        longest = w->pause[s] > longest ? w->pause[s] : longest;
    const int64_t tenth = (int64_t)(PW_PAUSE_SHORT * (double)longest);
    for (size_t s = 1; s < w->in->nsteps; s++) {
        all += w->pause[s] >= least ? (double)w->pause[s] : 0;
        brief += w->pause[s] >= least && w->pause[s] < tenth ? (double)w->pause[s] : 0;
    }
    return tenth > least && brief < PW_PAUSE_SHORT * all ? tenth : least;
}

/* Marks and counts the pauses; *next is the longest extra time that is no pause. Returns how many
 * pauses follow a step without one. */
static int64_t mark(const struct pauses_work *w, int64_t least, uint8_t *is_pause,
                    struct pw_pauses *out, int64_t *next)
{
    int64_t apart = 0;
    *out = (struct pw_pauses){0};
    *next = 0;
    for (size_t s = 0; s < w->in->nsteps; s++) {
        is_pause[s] = s && w->pause[s] >= least;
        if (!is_pause[s]) {
            *next = s && w->pause[s] > *next ? w->pause[s] : *next;
            continue;
        }
        apart += !is_pause[s - 1];
        out->first = out->count ? out->first : s;
        out->last = s;
        out->count++;
        out->cost_ns += w->pause[s];
    }
    return apart;
}

/* Steps from one pause to the next, when that is mostly the same number; else 0. */
static int64_t regular_distance(struct pauses_work *w, const uint8_t *is_pause)
{
    size_t n = 0, last = 0, alike = 0;
    for (size_t s = 1; s < w->in->nsteps; s++) {
        if (!is_pause[s])
            continue;
        if (last)
            w->values[n++] = (int64_t)(s - last);
        last = s;
    }
    if (n < 2)
        return 0;
    pw_sort_i64(w->values, n);
    const int64_t usual = w->values[n / 2];
    for (size_t i = 0; i < n; i++)
        alike += w->values[i] >= usual - 1 && w->values[i] <= usual + 1;
    return (double)alike >= PW_PAUSE_REGULAR * (double)n ? usual : 0;
}

int pw_pauses_find(const struct pw_pauses_input *in, void *scratch, uint8_t *is_pause,
                   struct pw_pauses *out)
{
    int64_t *room = scratch, next;
    struct pauses_work w = {in, room, room + in->nsteps,
                            room + in->nsteps +
                                (in->nsteps > in->nranks ? in->nsteps : in->nranks)};
    if (in->nsteps < LEAST_PAUSE_STEPS || in->run_ns <= 0)
        return 0;
    find_pauses(&w);
    int64_t least = threshold(&w);
    least = least ? leave_out_short(&w, least) : 0;
    const int64_t apart = least ? mark(&w, least, is_pause, out, &next) : 0;
    if (!apart || MOST_OFTEN * (size_t)out->count > in->nsteps || 2 * apart < out->count ||
        (double)out->cost_ns < PW_PAUSE_SHARE * (double)in->run_ns)
        return 0;
    out->excess_ns = out->cost_ns / out->count;
    out->cost_ns = out->excess_ns * out->count;
    const double beside = (double)next / (double)out->excess_ns;
    if (beside > PW_PAUSE_NEXT)
        return 0;
    out->every = regular_distance(&w, is_pause);
    out->confidence = 1 - beside * beside;
    return 1;
}
