/* Finds the ranks that hold the job back, for the merge; see straggler.h. */
#include "analysis/straggler.h"

#include <math.h>

#include "analysis/statistics.h"

#define MAD_TO_SIGMA 1.4826 /* of a normal distribution */
#define SIGNIFICANCE 0.01
#define LEAST_HITS 3
/* A rank is over 3 sigma in this share of steps by chance if nothing is wrong (normal
 * distribution). */
#define CHANCE_OF_HIT 0.00135
/* Least median excess of a window, in sigma, and how far one step counts. */
#define LEAST_EFFECT 1.5
#define CLIP 4.0

struct work {
    const struct pw_straggler_input *in;
    int64_t *excess;    /* [nsteps * nranks], INT64_MIN: not known */
    int64_t *percent;   /* [nsteps] 1 % of the step */
    int64_t *values;    /* [max(nsteps, nranks)] */
    int64_t *rank_hits; /* [nranks] */
    int64_t *others;    /* [nsteps] values of the rank at hand */
    int64_t sigma;      /* spread of an excess, > 0 */
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
    w->percent = w->excess + in->nsteps * in->nranks;
    w->others = w->percent + in->nsteps;
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

/* Spread of one rank's excess from step to step: the difference of two independent values has
 * sqrt(2) times the spread of one. */
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

static int64_t sigma_between_ranks(struct work *w)
{
    for (size_t s = 0; s < w->in->nsteps; s++)
        w->others[s] = sigma_of_step(w, s);
    return pw_median_i64(w->others, w->in->nsteps);
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
    int64_t over_time = sigma_over_time(w), between = sigma_between_ranks(w);
    w->sigma = over_time > between ? over_time : between;
    w->sigma = w->sigma > 1 ? w->sigma : 1;
    for (size_t s = 0; s < w->in->nsteps; s++) {
        int64_t percent = median_total(w, s) / 100;
        w->percent[s] = percent > 1 ? percent : 1;
    }
}

/* Own work is a difference of times of one clock, but the wait in it ends where another rank's
 * clock says; without alignment nothing can be said. */
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

static int64_t excess_of(const struct work *w, size_t step, size_t rank)
{
    return w->excess[step * w->in->nranks + rank];
}

/* Above everything that is not this rank's doing, and above `least`. */
static int is_above(const struct work *w, size_t step, size_t rank, int64_t clock, int64_t least)
{
    int64_t excess = excess_of(w, step, rank);
    return excess != INT64_MIN && excess > w->percent[step] && excess > clock && excess > least;
}

static void count_hits(struct work *w)
{
    for (size_t r = 0; r < w->in->nranks; r++) {
        int64_t clock = clock_limit(w, r);
        w->rank_hits[r] = 0;
        for (size_t s = 0; s < w->in->nsteps; s++)
            w->rank_hits[r] += is_above(w, s, r, clock, 3 * w->sigma);
    }
}

/* How often a rank that is like the others has a step beyond 3 sigma: their median rate, so that a
 * second straggler does not hide the first, and never below what a normal distribution would give.
 */
static double chance_of_hit(struct work *w)
{
    const size_t n = w->in->nranks;
    for (size_t r = 0; r < n; r++)
        w->values[r] = w->rank_hits[r];
    double rate = (double)pw_median_i64(w->values, n) / (double)w->in->nsteps;
    double least = CHANCE_OF_HIT + 1.0 / (double)(w->in->nsteps * n + 1);
    return rate > least ? rate : least;
}

static double clipped(double z)
{
    return z > CLIP ? CLIP : z < -CLIP ? -CLIP : z;
}

/* The window with the largest sum of z - reference; 0 when no step is above the reference. */
static int best_window(const struct work *w, size_t rank, double reference, size_t *first,
                       size_t *last)
{
    double best = 0, sum = 0;
    size_t start = 0;
    for (size_t s = 0; s < w->in->nsteps; s++) {
        int64_t excess = excess_of(w, s, rank);
        if (sum <= 0) {
            sum = 0;
            start = s;
        }
        if (excess != INT64_MIN)
            sum += clipped((double)excess / (double)w->sigma) - reference;
        if (sum > best) {
            best = sum;
            *first = start;
            *last = s;
        }
    }
    return best > 0;
}

/* Median excess and sum of z over the known steps of a window; how many they are. */
static size_t weigh_window(struct work *w, size_t rank, size_t first, size_t last, int64_t *median,
                           double *sum)
{
    size_t n = 0;
    *sum = 0;
    for (size_t s = first; s <= last; s++) {
        int64_t excess = excess_of(w, s, rank);
        if (excess == INT64_MIN)
            continue;
        *sum += clipped((double)excess / (double)w->sigma);
        w->others[n++] = excess;
    }
    *median = n ? pw_median_i64(w->others, n) : 0;
    return n;
}

/* P(Z >= z) of a standard normal variable. */
static double normal_tail(double z)
{
    return 0.5 * erfc(z / sqrt(2.0));
}

/* Chance of a window as heavy, corrected for every rank and every place where one could begin and
 * end; above 1 when there is none worth naming. */
static double judge_window(struct work *w, size_t rank, struct pw_straggler_found *out)
{
    size_t first, last;
    int64_t median;
    double sum, steps = (double)w->in->nsteps;
    if (!best_window(w, rank, LEAST_EFFECT / 2, &first, &last))
        return 2;
    /* Once the effect is known, half of it separates the two sides of an edge best. */
    weigh_window(w, rank, first, last, &median, &sum);
    best_window(w, rank, clipped((double)median / (double)w->sigma) / 2, &first, &last);
    size_t n = weigh_window(w, rank, first, last, &median, &sum);
    int64_t least = (int64_t)(LEAST_EFFECT * (double)w->sigma);
    if (n < LEAST_HITS || median <= least || median <= clock_limit(w, rank) ||
        median <= w->percent[first])
        return 2;
    out->first = first;
    out->last = last;
    return normal_tail(sum / sqrt((double)n)) * (double)w->in->nranks * steps * (steps + 1) / 2;
}

static void span_hits(const struct work *w, size_t rank, int64_t clock,
                      struct pw_straggler_found *out)
{
    int seen = 0;
    for (size_t s = 0; s < w->in->nsteps; s++)
        if (is_above(w, s, rank, clock, 3 * w->sigma)) {
            out->first = seen ? out->first : s;
            out->last = s;
            seen = 1;
        }
}

/* Fills rank, window and confidence; 0 when the rank is no straggler. */
static int judge(struct work *w, size_t rank, double chance, struct pw_straggler_found *out)
{
    int64_t steps = (int64_t)w->in->nsteps, hits = w->rank_hits[rank];
    *out = (struct pw_straggler_found){.rank = rank};
    double windowed = judge_window(w, rank, out);
    if (windowed < SIGNIFICANCE) {
        out->confidence = 1 - windowed;
        return 1;
    }
    double single = pw_binomial_tail(steps, hits, chance) * (double)w->in->nranks;
    if (hits < LEAST_HITS || single >= SIGNIFICANCE)
        return 0;
    out->confidence = 1 - single;
    span_hits(w, rank, clock_limit(w, rank), out);
    return 1;
}

static int64_t phase_value(const struct pw_straggler_input *in, size_t step, size_t rank, int phase)
{
    return in->phase_ns[(step * in->nranks + rank) * PW_PHASES + (size_t)phase];
}

/* Median, over the hits, of the rank's work in a phase minus the other ranks' median in it. */
static int64_t phase_excess(struct work *w, const struct pw_straggler_found *f, int64_t least,
                            int phase)
{
    const struct pw_straggler_input *in = w->in;
    int64_t clock = clock_limit(w, f->rank);
    size_t n = 0;
    for (size_t s = f->first; s <= f->last; s++) {
        int64_t mine = phase_value(in, s, f->rank, phase);
        size_t others = 0;
        if (mine < 0 || !is_above(w, s, f->rank, clock, least))
            continue;
        for (size_t r = 0; r < in->nranks; r++)
            if (r != f->rank && phase_value(in, s, r, phase) >= 0)
                w->values[others++] = phase_value(in, s, r, phase);
        if (others)
            w->others[n++] = mine - pw_median_i64(w->values, others);
    }
    return n ? pw_median_i64(w->others, n) : 0;
}

/* The phase with most of the excess. Time in the allreduce phase follows from being late before it
 * (the last to arrive sees all of the transfer), so that phase is named only when no other explains
 * a quarter. */
static enum pw_phase find_phase(struct work *w, const struct pw_straggler_found *f, int64_t least)
{
    static const enum pw_phase names[PW_PHASES] = {PW_PHASE_DATA,      PW_PHASE_FORWARD,
                                                   PW_PHASE_BACKWARD,  PW_PHASE_ALLREDUCE,
                                                   PW_PHASE_OPTIMIZER, PW_PHASE_OTHER};
    int64_t best = 0, allreduce = 0;
    enum pw_phase phase = PW_PHASE_NONE;
    for (int p = 0; p < PW_PHASES; p++) {
        int64_t excess = phase_excess(w, f, least, p);
        if (names[p] == PW_PHASE_ALLREDUCE) {
            allreduce = excess;
        } else if (excess > best) {
            best = excess;
            phase = names[p];
        }
    }
    if (4 * best >= f->excess_ns)
        return phase;
    return 2 * allreduce >= f->excess_ns ? PW_PHASE_ALLREDUCE : PW_PHASE_NONE;
}

/* The steps of the window that count, and what they cost. */
static void measure(struct work *w, struct pw_straggler_found *f)
{
    const struct pw_straggler_input *in = w->in;
    int64_t clock = clock_limit(w, f->rank), median;
    double sum, slowdown = 0;
    size_t n = 0;
    weigh_window(w, f->rank, f->first, f->last, &median, &sum);
    /* In a window most steps are hits; of scattered hits every one is beyond 3 sigma. */
    int is_window = (double)median > LEAST_EFFECT * (double)w->sigma;
    int64_t least = is_window ? median / 2 : 3 * w->sigma;
    for (size_t s = f->first; s <= f->last; s++)
        if (is_above(w, s, f->rank, clock, least)) {
            int64_t excess = excess_of(w, s, f->rank);
            int64_t others = in->own_ns[s * in->nranks + f->rank] - excess;
            slowdown += others > 0 ? (double)excess / (double)others : 0;
            w->others[n++] = excess;
        }
    f->hits = (int64_t)n;
    f->kind = 2 * n >= in->nsteps ? PW_STRAGGLER_PERSISTENT : PW_STRAGGLER_INTERMITTENT;
    f->excess_ns = n ? pw_median_i64(w->others, n) : 0;
    f->slowdown = n ? slowdown / (double)n : 0;
    f->phase = find_phase(w, f, least);
    f->gain_ns = pw_straggler_gain(in, f->rank, w->values);
}

/* What is long only in the allreduce phase, with the waiting taken out, is transfer, in which all
 * ranks and the network have a part: a passing disturbance of it is nobody's fault. */
static int is_own_doing(const struct pw_straggler_found *f)
{
    return f->phase != PW_PHASE_ALLREDUCE || f->kind == PW_STRAGGLER_PERSISTENT;
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
        if (found.hits >= LEAST_HITS && is_own_doing(&found))
            insert_sorted(out, &count, max, &found);
    }
    return count;
}
