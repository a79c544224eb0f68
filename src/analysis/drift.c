/* The time in which all ranks were slower; see drift.h. */
#include "analysis/drift.h"

#include <math.h>
#include <string.h>

#include "analysis/permutation.h"
#include "analysis/statistics.h"
#include "analysis/straggler.h"

enum {
    MOST_BINS = 256,
    LEAST_BINS = 8,
    LEAST_STEPS = 5,
    DRAWS = 1999,
    ENOUGH = 20,
    WARM_UP = 10,
    MOST_RANKS = 1024 /* are looked at, evenly spread: enough to speak of all */
};

#define SURE 0.005           /* a window and a slope are looked for */
#define LEAST_SHARE 0.01     /* of the run */
#define LEAST_INSIDE 0.75    /* of the steps inside are above half of the excess */
#define LEAST_RANKS 0.9      /* are slower by half of the excess */
#define LEAST_EXPLAINED 0.25 /* of the excess is in the phase that is named */
#define LEAST_SIGMAS 4       /* of what is left */
#define FAR 5                /* robust standard deviations */

struct work {
    const struct pw_drift_input *in;
    double *common, *place, *room; /* [nsteps]: excess, its place among all, scratch */
    size_t *step;                  /* [nsteps] of each that is known */
    int64_t *values;               /* [larger of both] scratch */
    int64_t *base;                 /* [nranks] median own work */
    size_t n;                      /* steps that are known */
    size_t stride;                 /* of the ranks that are looked at */
};

/* A window of `common`, both ends in it. */
struct window {
    size_t first, last;
    double base, excess; /* median outside; median inside, less that */
};

/* Sums of places in bins of successive steps, less what is expected. */
struct bins {
    double sum[MOST_BINS + 1], steps[MOST_BINS + 1];
    size_t n, size;
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t pw_drift_scratch(size_t nsteps, size_t nranks)
{
    return nsteps * (3 * sizeof(double) + sizeof(size_t)) +
           (larger(nsteps, nranks) + nranks + 1) * sizeof(int64_t);
}

static void place_scratch(struct work *w, void *scratch)
{
    const size_t n = w->in->nsteps;
    w->common = scratch;
    w->place = w->common + n;
    w->room = w->place + n;
    w->base = (int64_t *)(w->room + n);
    w->values = w->base + w->in->nranks;
    w->step = (size_t *)(w->values + larger(n, w->in->nranks));
}

/* ---- the common excess ---- */

static int64_t median_of_rank(struct work *w, const int64_t *cells, size_t stride, size_t rank,
                              size_t first, size_t last, int is_outside)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        const int64_t value = cells[(w->step[i] * w->in->nranks + rank) * stride];
        if (value >= 0 && (i >= first && i <= last) != is_outside)
            w->values[n++] = value;
    }
    return n ? pw_median_i64(w->values, n) : -1;
}

static void find_common(struct work *w)
{
    const size_t nranks = w->in->nranks;
    w->n = w->in->nsteps;
    for (size_t s = 0; s < w->n; s++)
        w->step[s] = s;
    for (size_t r = 0; r < nranks; r += w->stride)
        w->base[r] = median_of_rank(w, w->in->own_ns, 1, r, 0, SIZE_MAX, 0);
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

/* Each excess' place in order, equal ones the mean of theirs, less the mean of all. */
static void find_places(struct work *w)
{
    memcpy(w->room, w->common, w->n * sizeof(double));
    pw_sort_f64(w->room, w->n);
    for (size_t i = 0; i < w->n; i++) {
        size_t below = 0, upto = w->n, low = 0, high = w->n;
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (w->room[middle] < w->common[i])
                low = middle + 1;
            else
                high = middle;
        }
        below = low;
        for (high = upto; low < high;) {
            const size_t middle = low + (high - low) / 2;
            if (w->room[middle] <= w->common[i])
                low = middle + 1;
            else
                high = middle;
        }
        upto = low;
        w->place[i] = ((double)below + (double)upto - (double)w->n) / 2;
    }
}

/* ---- what is tested ---- */

static void fill_bins(const struct work *w, size_t size, struct bins *out)
{
    *out = (struct bins){.size = size};
    for (size_t i = 0; i < w->n; i++) {
        const size_t at = i / size;
        out->n = at + 1;
        out->sum[at] += w->place[i];
        out->steps[at] += 1;
    }
}

/* The best window of bins in the given order, of LEAST_STEPS or more, and as many outside. */
static double scan(const struct bins *b, const size_t *order, size_t *first, size_t *last)
{
    double best = 0, all = 0;
    for (size_t i = 0; i < b->n; i++)
        all += b->steps[i];
    for (size_t i = 0; i < b->n; i++) {
        double sum = 0, steps = 0;
        for (size_t k = i; k < b->n; k++) {
            sum += b->sum[order[k]];
            steps += b->steps[order[k]];
            if (sum <= 0 || steps < LEAST_STEPS || all - steps < LEAST_STEPS)
                continue;
            const double score = sum * sum / (steps * (1 - steps / all));
            if (score <= best)
                continue;
            best = score;
            *first = i;
            *last = k;
        }
    }
    return best;
}

static double slope_of(const struct bins *b, const size_t *order)
{
    double sum = 0;
    for (size_t i = 0; i < b->n; i++)
        sum += b->sum[order[i]] * ((double)i - (double)(b->n - 1) / 2);
    return sum;
}

static double p_of(const struct bins *b, int is_slope)
{
    size_t order[MOST_BINS + 1], first, last, extreme = 0, drawn = 0;
    uint64_t state = 1;
    for (size_t i = 0; i < b->n; i++)
        order[i] = i;
    const double observed = is_slope ? slope_of(b, order) : scan(b, order, &first, &last);
    while (drawn < DRAWS && extreme < ENOUGH) {
        pw_permutation_shuffle(order, b->n, b->n, &state);
        const double score = is_slope ? slope_of(b, order) : scan(b, order, &first, &last);
        extreme += score >= observed * (1 - 1e-9);
        drawn++;
    }
    return (double)(extreme + 1) / (double)(drawn + 1);
}

/* ---- what is found ---- */

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

/* Its ends are where the excess is above half of it. */
static void find_window(struct work *w, struct window *win)
{
    struct bins bins;
    size_t order[MOST_BINS + 1], first = 0, last = 0;
    fill_bins(w, (w->n + MOST_BINS - 1) / MOST_BINS, &bins);
    for (size_t i = 0; i < bins.n; i++)
        order[i] = i;
    scan(&bins, order, &first, &last);
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

/* Whether of some `length` successive steps from `first` up to before `end` more than half are
 * above. */
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

/* There is no other stretch half as long: else they alternate, as the program made them. Single
 * steps that come again and again may be as long. */
static int is_distinct(const struct work *w, const struct window *win)
{
    const double half = win->base + win->excess / 2;
    const size_t in = win->last - win->first + 1;
    const size_t length = larger(LEAST_STEPS, in / 2);
    double above = 0;
    for (size_t i = win->first; i <= win->last; i++)
        above += w->common[i] > half;
    return win->excess > 0 && in >= LEAST_STEPS && w->n - in >= LEAST_STEPS &&
           above >= LEAST_INSIDE * (double)in && !has_another(w, 0, win->first, length, half) &&
           !has_another(w, win->last + 1, w->n, length, half);
}

/* The line: excess at the first step, and per step. */
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

/* What the window or the line leaves, in w->room; the sum of its absolute values. */
static double leave(struct work *w, const struct window *win, double at_first, double slope)
{
    double sum = 0;
    for (size_t i = 0; i < w->n; i++) {
        double fit = at_first + slope * (double)i;
        if (win)
            fit = i >= win->first && i <= win->last ? win->base + win->excess : win->base;
        w->room[i] = w->common[i] - fit;
        sum += fabs(w->room[i]);
    }
    return sum;
}

/* Blocks in which successive steps are alike, from what is in w->room, less what is far off; and
 * its robust standard deviation. */
static size_t block_of(struct work *w, double *sigma)
{
    double *sizes = w->place; /* made anew afterwards */
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        sizes[i] = fabs(w->room[i]);
    *sigma = 1.4826 * pw_median_f64(sizes, w->n);
    for (size_t i = 0; i < w->n; i++)
        if (fabs(w->room[i]) <= FAR * *sigma)
            w->room[n++] = w->room[i];
    const double length = pw_correlation_length(w->room, n);
    find_places(w);
    return length < 1.5 ? 1 : (size_t)ceil(2 * length);
}

static double test(struct work *w, double excess, int is_slope)
{
    struct bins bins;
    double sigma;
    const size_t block = block_of(w, &sigma);
    fill_bins(w, larger(block, (w->n + MOST_BINS - 1) / MOST_BINS), &bins);
    return bins.n < LEAST_BINS || excess < LEAST_SIGMAS * sigma ? 1 : p_of(&bins, is_slope);
}

/* ---- the ranks and the phase of it ---- */

/* How much longer a rank was inside than outside, of own work or a phase; of `steady` in the second
 * half than in the first, twice. */
static double change_of(struct work *w, const struct pw_drift *found, const int64_t *cells,
                        size_t stride, size_t rank, const struct window *win)
{
    const int is_steady = found->kind == PW_SLOWING_STEADY;
    const size_t first = is_steady ? w->n / 2 : win->first, last = is_steady ? w->n - 1 : win->last;
    const int64_t inside = median_of_rank(w, cells, stride, rank, first, last, 0);
    const int64_t outside = median_of_rank(w, cells, stride, rank, first, last, 1);
    if (inside < 0 || outside < 0)
        return 0;
    return (double)(inside - outside) * (is_steady ? 2 : 1);
}

static int64_t count_ranks(struct work *w, const struct pw_drift *found, const struct window *win,
                           int64_t *known)
{
    int64_t slower = 0;
    *known = 0;
    for (size_t r = 0; r < w->in->nranks; r += w->stride) {
        *known += w->base[r] >= 0;
        slower += change_of(w, found, w->in->own_ns, 1, r, win) >= (double)found->excess_ns / 2;
    }
    return slower;
}

static enum pw_phase find_phase(struct work *w, const struct pw_drift *found,
                                const struct window *win)
{
    const size_t nranks = w->in->nranks;
    double most = LEAST_EXPLAINED * (double)found->excess_ns;
    enum pw_phase phase = PW_PHASE_NONE;
    for (size_t p = 0; p < PW_PHASES; p++) {
        double sum = 0;
        for (size_t r = 0; r < nranks; r += w->stride)
            sum += change_of(w, found, w->in->phase_ns + p, PW_PHASES, r, win);
        sum /= (double)((nranks + w->stride - 1) / w->stride);
        if (sum > most) {
            most = sum;
            phase = (enum pw_phase)(PW_PHASE_DATA + p);
        }
    }
    return phase;
}

/* 1 when it costs enough, and is of all ranks. */
static int describe(struct work *w, const struct window *win, struct pw_drift *out)
{
    int64_t known;
    out->first = w->step[win->first];
    out->last = w->step[win->last];
    out->steps = (int64_t)(win->last - win->first + 1);
    out->excess_ns = (int64_t)(win->excess + 0.5);
    out->cost_ns = out->excess_ns * out->steps / (out->kind == PW_SLOWING_STEADY ? 2 : 1);
    if (out->excess_ns <= 0 || (double)out->cost_ns < LEAST_SHARE * (double)w->in->run_ns)
        return 0;
    if ((double)count_ranks(w, out, win, &known) < LEAST_RANKS * (double)known)
        return 0;
    out->phase = find_phase(w, out, win);
    return 1;
}

int pw_drift_find(const struct pw_drift_input *in, void *scratch, struct pw_drift *out)
{
    struct work w = {.in = in};
    struct window win;
    struct pw_drift found = {.kind = PW_SLOWING_STRETCH};
    double at_first;
    w.stride = (in->nranks + MOST_RANKS - 1) / MOST_RANKS;
    place_scratch(&w, scratch);
    find_common(&w);
    if (w.n < LEAST_BINS + LEAST_STEPS)
        return 0;
    find_places(&w);
    find_window(&w, &win);
    const double slope = find_line(&w, &at_first);
    const double left = leave(&w, NULL, at_first, slope);
    if (leave(&w, &win, 0, 0) > left && slope > 0) {
        leave(&w, NULL, at_first, slope);
        found.kind = PW_SLOWING_STEADY;
        win = (struct window){0, w.n - 1, at_first, slope * (double)(w.n - 1)};
    } else if (!is_distinct(&w, &win)) {
        return 0;
    } else if (win.first == 0 && win.last < larger(WARM_UP, w.n / 10)) {
        found.kind = PW_SLOWING_WARM_UP;
    }
    const double p = test(&w, win.excess, found.kind == PW_SLOWING_STEADY);
    if (p >= SURE || !describe(&w, &win, &found))
        return 0;
    found.confidence = 1 - 2 * p;
    *out = found;
    return 1;
}
