/* See straggler.h. */
#include "analysis/straggler.h"

#include <math.h>

#include "analysis/statistics.h"

#define MAD_TO_SIGMA 1.4826 /* of a normal distribution */
#define SIGNIFICANCE 0.01
#define LEAST_HITS 3
/* A rank is over 3 sigma in this share of steps by chance if nothing is wrong (normal distribution). */
#define CHANCE_OF_HIT 0.00135

struct work {
    const struct pw_straggler_input *in;
    int64_t *excess;    /* [nsteps * nranks], INT64_MIN: not known */
    int64_t *limit;     /* [nsteps] threshold without the clock */
    int64_t *values;    /* [max(nsteps, nranks)] */
    int64_t *rank_hits; /* [nranks] */
    int64_t *others;    /* [nsteps] the others' median own work, for the rank at hand */
};

static size_t longer(const struct pw_straggler_input *in)
{
    return in->nsteps > in->nranks ? in->nsteps : in->nranks;
}

size_t pw_straggler_scratch(size_t nsteps, size_t nranks)
{
    size_t values = nsteps > nranks ? nsteps : nranks;
    return sizeof(int64_t) * (nsteps * nranks + 2 * nsteps + nranks + values);
}

static void lay_out(struct work *w, const struct pw_straggler_input *in, void *scratch)
{
    w->in = in;
    w->excess = scratch;
    w->limit = w->excess + in->nsteps * in->nranks;
    w->others = w->limit + in->nsteps;
    w->rank_hits = w->others + in->nsteps;
    w->values = w->rank_hits + in->nranks;
}

/* Median of sorted values without the one at `skip`. */
static int64_t median_without(const int64_t *sorted, size_t n, size_t skip)
{
    size_t left = n - 1, high = left / 2, low = left % 2 ? high : high - 1;
    int64_t a = sorted[low < skip ? low : low + 1], b = sorted[high < skip ? high : high + 1];
    return a + (b - a) / 2;
}

static size_t find_sorted(const int64_t *sorted, size_t n, int64_t value)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Known own works of a step, sorted into `values`; how many. */
static size_t sort_step(const struct pw_straggler_input *in, size_t step, int64_t *values)
{
    size_t n = 0;
    for (size_t r = 0; r < in->nranks; r++)
        if (in->own_ns[step * in->nranks + r] >= 0)
            values[n++] = in->own_ns[step * in->nranks + r];
    pw_sort_i64(values, n);
    return n;
}

/* The others' median own work for rank r of a step whose works are sorted, or -1. */
static int64_t others_median(const struct pw_straggler_input *in, size_t step, size_t rank,
                             const int64_t *sorted, size_t n)
{
    int64_t own = in->own_ns[step * in->nranks + rank];
    if (own < 0 || n < 2)
        return -1;
    return median_without(sorted, n, find_sorted(sorted, n, own));
}

static void compute_excess(struct work *w)
{
    const struct pw_straggler_input *in = w->in;
    for (size_t s = 0; s < in->nsteps; s++) {
        size_t n = sort_step(in, s, w->values);
        for (size_t r = 0; r < in->nranks; r++) {
            int64_t median = others_median(in, s, r, w->values, n);
            w->excess[s * in->nranks + r] =
                median < 0 ? INT64_MIN : in->own_ns[s * in->nranks + r] - median;
        }
    }
}

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

/* Spread of one rank's excess from step to step: the difference of two independent values has sqrt(2)
 * times the spread of one. */
static int64_t sigma_of_rank(struct work *w, size_t rank)
{
    size_t n = 0, stride = w->in->nranks;
    int64_t last = INT64_MIN;
    for (size_t s = 0; s < w->in->nsteps; s++) {
        int64_t now = w->excess[s * stride + rank];
        if (now != INT64_MIN && last != INT64_MIN)
            w->values[n++] = distance(now, last);
        last = now;
    }
    return n ? (int64_t)(MAD_TO_SIGMA / sqrt(2.0) * (double)pw_median_i64(w->values, n)) : 0;
}

/* The ranks' median, kept in rank_hits until that is needed. */
static int64_t sigma_over_time(struct work *w)
{
    for (size_t r = 0; r < w->in->nranks; r++)
        w->rank_hits[r] = sigma_of_rank(w, r);
    return pw_median_i64(w->rank_hits, w->in->nranks);
}

/* Spread between ranks in one step; says little of three ranks, nothing of two. */
static int64_t sigma_of_step(struct work *w, size_t step)
{
    size_t n = sort_step(w->in, step, w->values);
    if (n < 4)
        return 0;
    int64_t median = pw_median_i64(w->values, n);
    for (size_t i = 0; i < n; i++)
        w->values[i] = distance(w->values[i], median);
    return (int64_t)(MAD_TO_SIGMA * (double)pw_median_i64(w->values, n));
}

static int64_t median_total(struct work *w, size_t step)
{
    size_t n = 0;
    for (size_t r = 0; r < w->in->nranks; r++)
        if (w->in->total_ns[step * w->in->nranks + r] >= 0)
            w->values[n++] = w->in->total_ns[step * w->in->nranks + r];
    return n ? pw_median_i64(w->values, n) : 0;
}

static void compute_limits(struct work *w)
{
    int64_t over_time = sigma_over_time(w);
    for (size_t s = 0; s < w->in->nsteps; s++) {
        int64_t sigma = sigma_of_step(w, s);
        int64_t noise = 3 * (sigma > over_time ? sigma : over_time);
        int64_t percent = median_total(w, s) / 100;
        w->limit[s] = noise > percent ? noise : percent;
    }
}

/* Own work is a difference of times of one clock, but the wait in it ends where another rank's clock
 * says; without alignment nothing can be said. */
static int64_t clock_limit(const struct work *w, size_t rank)
{
    int64_t worst = 0;
    for (size_t r = 0; r < w->in->nranks; r++) {
        int64_t error = w->in->error_ns[r];
        if (error < 0)
            return INT64_MAX;
        if (r != rank && error > worst)
            worst = error;
    }
    return worst + w->in->error_ns[rank];
}

static int is_hit(const struct work *w, size_t step, size_t rank, int64_t clock)
{
    int64_t excess = w->excess[step * w->in->nranks + rank];
    return excess != INT64_MIN && excess > w->limit[step] && excess > clock;
}

static void count_hits(struct work *w)
{
    for (size_t r = 0; r < w->in->nranks; r++) {
        int64_t clock = clock_limit(w, r);
        w->rank_hits[r] = 0;
        for (size_t s = 0; s < w->in->nsteps; s++)
            w->rank_hits[r] += is_hit(w, s, r, clock);
    }
}

/* How often a rank that is like the others is over the limit: their median rate, so that a second
 * straggler does not hide the first, and never below what a normal distribution would give. */
static double chance_of_hit(struct work *w)
{
    const size_t n = w->in->nranks;
    for (size_t r = 0; r < n; r++)
        w->values[r] = w->rank_hits[r];
    int64_t typical = pw_median_i64(w->values, n);
    /* The mean of the lower half and the median rounds less than the median alone. */
    double rate = (double)typical / (double)w->in->nsteps;
    double least = CHANCE_OF_HIT + 1.0 / (double)(w->in->nsteps * n + 1);
    return rate > least ? rate : least;
}

/* The window in which the hits are densest: the segment with the largest sum of +1 per hit and -1 per
 * other step. */
static int64_t densest_window(const struct work *w, size_t rank, int64_t clock, size_t *first,
                              size_t *last)
{
    int64_t best = 0, sum = 0, hits = 0, best_hits = 0;
    size_t start = 0;
    for (size_t s = 0; s < w->in->nsteps; s++) {
        int hit = is_hit(w, s, rank, clock);
        if (sum <= 0) {
            sum = 0;
            hits = 0;
            start = s;
        }
        sum += hit ? 1 : -1;
        hits += hit;
        if (sum > best) {
            best = sum;
            best_hits = hits;
            *first = start;
            *last = s;
        }
    }
    return best_hits;
}

static void all_hits(const struct work *w, size_t rank, int64_t clock, size_t *first, size_t *last)
{
    int seen = 0;
    for (size_t s = 0; s < w->in->nsteps; s++)
        if (is_hit(w, s, rank, clock)) {
            *first = seen ? *first : s;
            *last = s;
            seen = 1;
        }
}

/* Chance of as many hits, corrected for having looked at every rank and, for a window, at every place
 * where one could begin and end. */
static int judge(const struct work *w, size_t rank, double chance, struct pw_straggler_found *out)
{
    int64_t steps = (int64_t)w->in->nsteps, hits = w->rank_hits[rank], clock = clock_limit(w, rank);
    double ranks = (double)w->in->nranks;
    size_t first = 0, last = 0;
    double overall = pw_binomial_tail(steps, hits, chance) * ranks;
    int64_t inside = densest_window(w, rank, clock, &first, &last);
    int64_t width = (int64_t)(last - first) + 1;
    double windowed =
        pw_binomial_tail(width, inside, chance) * ranks * (double)steps * (double)steps / 2;

    *out = (struct pw_straggler_found){.rank = rank, .hits = hits};
    if (2 * hits >= steps && overall < SIGNIFICANCE) {
        out->kind = PW_STRAGGLER_PERSISTENT;
        out->confidence = 1 - overall;
        all_hits(w, rank, clock, &out->first, &out->last);
    } else if (inside >= LEAST_HITS && windowed < SIGNIFICANCE && 2 * inside >= hits) {
        out->kind = PW_STRAGGLER_INTERMITTENT;
        out->confidence = 1 - windowed;
        out->hits = inside;
        out->first = first;
        out->last = last;
    } else if (hits >= LEAST_HITS && overall < SIGNIFICANCE) {
        out->kind = PW_STRAGGLER_INTERMITTENT;
        out->confidence = 1 - overall;
        all_hits(w, rank, clock, &out->first, &out->last);
    } else {
        return 0;
    }
    return out->hits >= LEAST_HITS;
}

static int64_t phase_value(const struct pw_straggler_input *in, size_t step, size_t rank, int phase)
{
    return in->phase_ns[(step * in->nranks + rank) * PW_PHASES + (size_t)phase];
}

/* Median, over the hits, of the rank's work in a phase minus the other ranks' median in it. */
static int64_t phase_excess(struct work *w, const struct pw_straggler_found *f, int phase)
{
    const struct pw_straggler_input *in = w->in;
    int64_t clock = clock_limit(w, f->rank);
    size_t n = 0;
    for (size_t s = f->first; s <= f->last; s++) {
        int64_t mine = phase_value(in, s, f->rank, phase);
        size_t others = 0;
        if (mine < 0 || !is_hit(w, s, f->rank, clock))
            continue;
        for (size_t r = 0; r < in->nranks; r++)
            if (r != f->rank && phase_value(in, s, r, phase) >= 0)
                w->values[others++] = phase_value(in, s, r, phase);
        if (others)
            w->others[n++] = mine - pw_median_i64(w->values, others);
    }
    return n ? pw_median_i64(w->others, n) : 0;
}

static enum pw_phase find_phase(struct work *w, const struct pw_straggler_found *f)
{
    static const enum pw_phase names[PW_PHASES] = {PW_PHASE_DATA,      PW_PHASE_FORWARD,
                                                   PW_PHASE_BACKWARD,  PW_PHASE_ALLREDUCE,
                                                   PW_PHASE_OPTIMIZER, PW_PHASE_OTHER};
    int64_t best = 0;
    enum pw_phase phase = PW_PHASE_NONE;
    for (int p = 0; p < PW_PHASES; p++) {
        int64_t excess = phase_excess(w, f, p);
        if (excess > best) {
            best = excess;
            phase = names[p];
        }
    }
    /* Work that is spread over phases has no phase of its own. */
    return 2 * best >= f->excess_ns ? phase : PW_PHASE_NONE;
}

static void measure(struct work *w, struct pw_straggler_found *f)
{
    const struct pw_straggler_input *in = w->in;
    int64_t clock = clock_limit(w, f->rank);
    size_t n = 0;
    double slowdown = 0;
    for (size_t s = f->first; s <= f->last; s++)
        if (is_hit(w, s, f->rank, clock)) {
            int64_t excess = w->excess[s * in->nranks + f->rank];
            int64_t others = in->own_ns[s * in->nranks + f->rank] - excess;
            slowdown += others > 0 ? (double)excess / (double)others : 0;
            w->others[n++] = excess;
        }
    f->excess_ns = n ? pw_median_i64(w->others, n) : 0;
    f->slowdown = n ? slowdown / (double)n : 0;
    f->phase = find_phase(w, f);
    f->gain_ns = pw_straggler_gain(in, f->rank, w->values);
}

int64_t pw_straggler_gain(const struct pw_straggler_input *in, size_t rank, int64_t *scratch)
{
    int64_t gain = 0;
    for (size_t s = 0; s < in->nsteps; s++) {
        size_t n = sort_step(in, s, scratch);
        int64_t own = in->own_ns[s * in->nranks + rank];
        int64_t median = others_median(in, s, rank, scratch, n);
        if (median < 0 || own != scratch[n - 1])
            continue; /* not the longest: the step would be as long without it */
        int64_t next = scratch[n - 2] > median ? scratch[n - 2] : median;
        gain += own - next;
    }
    return gain;
}

static void insert_sorted(struct pw_straggler_found *out, size_t *count, size_t max,
                          const struct pw_straggler_found *found)
{
    size_t at = *count;
    while (at > 0 && out[at - 1].gain_ns < found->gain_ns)
        at--;
    if (at >= max)
        return;
    if (*count < max)
        (*count)++;
    for (size_t i = *count - 1; i > at; i--)
        out[i] = out[i - 1];
    out[at] = *found;
}

size_t pw_straggler_find(const struct pw_straggler_input *in, void *scratch,
                         struct pw_straggler_found *out, size_t max)
{
    struct work w;
    size_t count = 0;
    if (in->nranks < 2 || in->nsteps < LEAST_HITS || longer(in) == 0)
        return 0;
    lay_out(&w, in, scratch);
    compute_excess(&w);
    compute_limits(&w);
    count_hits(&w);
    double chance = chance_of_hit(&w);
    for (size_t r = 0; r < in->nranks; r++) {
        struct pw_straggler_found found;
        if (!judge(&w, r, chance, &found))
            continue;
        measure(&w, &found);
        insert_sorted(out, &count, max, &found);
    }
    return count;
}
