/* Computes excesses of own work and their spread, the phase of an excess, and single extreme steps;
 * see excess.h. */
#include "analysis/excess.h"

#include <math.h>

#include "analysis/statistics.h"
#include "analysis/thresholds.h"

#define LEAST_OTHERS 10 /* least number of known excesses of the other ranks */
#define OTHERS_ABOVE 3  /* number of the others' excesses that are at least the third largest */

enum { TOPS = 64 };

void pw_oneoff_tops(const struct pw_excess *w, struct pw_oneoff_tops *out)
{
    *out = (struct pw_oneoff_tops){0};
    for (size_t s = 0; s < w->in->nsteps; s++)
        out->run_ns += 100 * w->percent[s];
    for (size_t r = 0; r < w->in->nranks; r++) {
        for (size_t s = 0; s < w->in->nsteps; s++) {
            int64_t excess = pw_excess_at(w, s, r);
            if (excess == PW_EXCESS_UNKNOWN)
                continue;
            out->known++;
            if (out->n == TOPS && excess <= out->ns[TOPS - 1])
                continue;
            size_t at = out->n < TOPS ? out->n++ : TOPS - 1;
            for (; at > 0 && out->ns[at - 1] < excess; at--) {
                out->ns[at] = out->ns[at - 1];
                out->rank[at] = out->rank[at - 1];
            }
            out->ns[at] = excess;
            out->rank[at] = r;
        }
    }
}

/* The third largest excess of the other ranks, or an upper bound of it; at least sigma. */
static int64_t third_of_others(const struct pw_excess *w, const struct pw_oneoff_tops *tops,
                               size_t rank)
{
    int64_t third = 0;
    int seen = 0;
    for (size_t i = 0; i < tops->n && seen < OTHERS_ABOVE; i++) {
        third = tops->ns[i];
        seen += tops->rank[i] != rank;
    }
    return third > w->sigma ? third : w->sigma;
}

/* The chance that some rank has `hits` excesses of `times` the third largest excess of the others;
 * see pw_oneoff_find(). */
static double chance_of(const struct pw_excess *w, size_t hits, double times)
{
    const double ranks = (double)w->in->nranks;
    const double expected = OTHERS_ABOVE / (ranks - 1) / (times * times);
    double chance = ranks;
    for (size_t i = 1; i <= hits; i++)
        chance *= expected / (double)i;
    return chance < 1 ? chance : 1;
}

int pw_oneoff_find(struct pw_excess *w, const struct pw_oneoff_tops *tops, size_t rank,
                   struct pw_straggler_found *out)
{
    const struct pw_straggler_input *in = w->in;
    const int64_t third = third_of_others(w, tops, rank), clock = pw_excess_clock_limit(w, rank);
    int64_t sum = 0, least = INT64_MAX;
    size_t hits = 0;
    *out = (struct pw_straggler_found){.rank = rank, .kind = PW_STRAGGLER_ONE_OFF};
    for (size_t s = 0; s < in->nsteps; s++) {
        if (!pw_excess_is_above(w, s, rank, clock, PW_ONEOFF_TIMES * third))
            continue;
        int64_t excess = pw_excess_at(w, s, rank), total = in->total_ns[s * in->nranks + rank];
        out->first = hits ? out->first : s;
        out->last = s;
        out->slowdown += total > 0 ? (double)excess / (double)total : 0;
        out->gain_ns += pw_excess_gain(in, s, rank);
        sum += excess;
        least = excess < least ? excess : least;
        hits++;
    }
    if (!hits || tops->known - (int64_t)in->nsteps < LEAST_OTHERS)
        return 0;
    const double chance = chance_of(w, hits, (double)least / (double)third);
    if (chance >= PW_ONEOFF_CHANCE &&
        (hits > PW_ONEOFF_STEPS || (double)sum < PW_ONEOFF_SHARE * (double)tops->run_ns))
        return 0;
    out->hits = (int64_t)hits;
    out->excess_ns = sum / (int64_t)hits;
    out->lost_ns = sum;
    out->slowdown /= (double)hits;
    out->confidence = 1 - chance;
    out->phase = pw_straggler_phase(w, out, least - 1);
    return 1;
}

static int64_t phase_value(const struct pw_straggler_input *in, size_t step, size_t rank, int phase)
{
    return in->phase_ns[(step * in->nranks + rank) * PW_PHASES + (size_t)phase];
}

static struct pw_middle find_middle(struct pw_excess *w, size_t step, int phase)
{
    size_t n = 0;
    for (size_t r = 0; r < w->in->nranks; r++) {
        w->values[n] = phase_value(w->in, step, r, phase);
        n += w->values[n] >= 0;
    }
    return pw_middle_of(w->values, n);
}

/* The rank's work in a phase minus the other ranks' median in it. */
static int64_t phase_excess_at(struct pw_excess *w, size_t step, size_t rank, int phase)
{
    const int64_t mine = phase_value(w->in, step, rank, phase);
    struct pw_middle made, *middle = &made;
    if (mine < 0)
        return PW_EXCESS_UNKNOWN;
    if (w->phases)
        middle = &w->phases[step * PW_PHASES + (size_t)phase];
    if (!w->phases || middle->low == PW_EXCESS_UNKNOWN)
        *middle = find_middle(w, step, phase);
    const int64_t median = pw_middle_without(middle, mine);
    return median < 0 ? PW_EXCESS_UNKNOWN : mine - median;
}

/* Median of the phase's excess over the hits. */
static int64_t phase_excess(struct pw_excess *w, const struct pw_straggler_found *f, int64_t least,
                            int phase)
{
    int64_t clock = pw_excess_clock_limit(w, f->rank);
    size_t n = 0;
    for (size_t s = f->first; s <= f->last; s++) {
        int64_t excess = pw_excess_is_above(w, s, f->rank, clock, least)
                             ? phase_excess_at(w, s, f->rank, phase)
                             : PW_EXCESS_UNKNOWN;
        if (excess != PW_EXCESS_UNKNOWN)
            w->others[n++] = excess;
    }
    return n ? pw_median_i64(w->others, n) : 0;
}

/* Median of the phase's excess over the steps outside the window: the usual value of the rank. 0
 * when there are too few such steps. */
static int64_t usual_phase_excess(struct pw_excess *w, const struct pw_straggler_found *f,
                                  int phase)
{
    size_t n = 0;
    for (size_t s = 0; s < w->in->nsteps; s++) {
        int64_t excess = pw_straggler_is_outside(f, s) ? phase_excess_at(w, s, f->rank, phase)
                                                       : PW_EXCESS_UNKNOWN;
        if (excess != PW_EXCESS_UNKNOWN)
            w->others[n++] = excess;
    }
    return n >= PW_EXCESS_LEAST_STEPS ? pw_median_i64(w->others, n) : 0;
}

static const enum pw_phase phases[PW_PHASES] = {PW_PHASE_DATA,      PW_PHASE_FORWARD,
                                                PW_PHASE_BACKWARD,  PW_PHASE_ALLREDUCE,
                                                PW_PHASE_OPTIMIZER, PW_PHASE_OTHER};

/* The phase, other than allreduce, with the largest excess, if that is a quarter of excess_ns or
 * more. */
static enum pw_phase largest_phase(const int64_t ns[PW_PHASES], int64_t excess_ns)
{
    int64_t most = 0;
    enum pw_phase phase = PW_PHASE_NONE;
    for (int p = 0; p < PW_PHASES; p++)
        if (phases[p] != PW_PHASE_ALLREDUCE && ns[p] > most) {
            most = ns[p];
            phase = phases[p];
        }
    return 4 * most >= excess_ns ? phase : PW_PHASE_NONE;
}

enum pw_phase pw_straggler_phase(struct pw_excess *w, const struct pw_straggler_found *f,
                                 int64_t least)
{
    int64_t ns[PW_PHASES], allreduce = 0;
    for (int p = 0; p < PW_PHASES; p++) {
        ns[p] = phase_excess(w, f, least, p);
        allreduce = phases[p] == PW_PHASE_ALLREDUCE ? ns[p] : allreduce;
    }
    enum pw_phase phase = largest_phase(ns, f->excess_ns);
    if (phase != PW_PHASE_NONE)
        return phase;
    for (int p = 0; p < PW_PHASES; p++)
        ns[p] -= usual_phase_excess(w, f, p);
    phase = largest_phase(ns, f->excess_ns);
    if (phase != PW_PHASE_NONE)
        return phase;
    return 2 * allreduce >= f->excess_ns ? PW_PHASE_ALLREDUCE : PW_PHASE_NONE;
}

/* Room for the positive excesses. Below a rank with a positive excess is at least the smaller half
 * of the other ranks, and those below the lowest such rank have none. */
static size_t most_positive(size_t nsteps, size_t nranks)
{
    return nsteps * (nranks / 2 + 1);
}

size_t pw_excess_scratch(size_t nsteps, size_t nranks)
{
    size_t values = nsteps > nranks ? nsteps : nranks;
    return sizeof(int64_t) *
           (nsteps * nranks + most_positive(nsteps, nranks) + 2 * nsteps + 2 * nranks + values);
}

static void lay_out(struct pw_excess *w, const struct pw_straggler_input *in, void *scratch)
{
    w->in = in;
    w->excess = scratch;
    w->positive = w->excess + in->nsteps * in->nranks;
    w->npositive = 0;
    w->known = 0;
    w->percent = w->positive + most_positive(in->nsteps, in->nranks);
    w->others = w->percent + in->nsteps;
    w->rank_hits = w->others + in->nsteps;
    w->above = w->rank_hits + in->nranks;
    w->values = w->above + in->nranks;
    w->phases = NULL;
}

static void sort_positive(struct pw_excess *w)
{
    for (size_t i = 0; i < w->in->nsteps * w->in->nranks; i++) {
        w->known += w->excess[i] != PW_EXCESS_UNKNOWN;
        if (w->excess[i] > 0)
            w->positive[w->npositive++] = w->excess[i];
    }
    pw_sort_i64(w->positive, w->npositive);
}

int64_t pw_excess_above(struct pw_excess *w, int64_t level, int64_t *known)
{
    if (!w->known)
        sort_positive(w);
    *known = w->known;
    return (int64_t)(w->npositive - pw_place_i64(w->positive, w->npositive, level + 1));
}

static size_t take_step(const struct pw_straggler_input *in, size_t step, int64_t *values)
{
    size_t n = 0;
    for (size_t r = 0; r < in->nranks; r++) {
        values[n] = in->own_ns[step * in->nranks + r];
        n += values[n] >= 0;
    }
    return n;
}

/* Ends at the first rank with as much work, so it takes long for the longest only. */
int64_t pw_excess_gain(const struct pw_straggler_input *in, size_t step, size_t rank)
{
    const int64_t *works = in->own_ns + step * in->nranks;
    int64_t next = -1;
    for (size_t r = 0; r < in->nranks; r++) {
        if (r != rank && works[r] >= works[rank])
            return 0;
        next = r != rank && works[r] > next ? works[r] : next;
    }
    return next < 0 ? 0 : works[rank] - next;
}

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

/* Spread between ranks in one step, of n own works, which are changed. With three ranks it is
 * unreliable, with two it is not known. */
static int64_t sigma_of_step(int64_t *works, size_t n)
{
    if (n < 4)
        return 0;
    const int64_t median = pw_median_i64(works, n);
    for (size_t i = 0; i < n; i++)
        works[i] = distance(works[i], median);
    return (int64_t)(PW_MAD_TO_SIGMA * (double)pw_median_i64(works, n));
}

/* Computes the excesses, and in `others` the spread between ranks in each step. */
static void compute_excess(struct pw_excess *w)
{
    const struct pw_straggler_input *in = w->in;
    for (size_t s = 0; s < in->nsteps; s++) {
        const size_t n = take_step(in, s, w->values);
        const struct pw_middle middle = pw_middle_of(w->values, n);
        for (size_t r = 0; r < in->nranks; r++) {
            const int64_t own = in->own_ns[s * in->nranks + r];
            const int64_t median = own < 0 ? -1 : pw_middle_without(&middle, own);
            w->excess[r * in->nsteps + s] = median < 0 ? PW_EXCESS_UNKNOWN : own - median;
        }
        w->others[s] = sigma_of_step(w->values, n);
    }
}

/* Spread of one rank's excess from a step to that `lag` steps later. The difference of two
 * independent values has sqrt(2) times the spread of one value. */
static int64_t sigma_of_lag(struct pw_excess *w, size_t rank, size_t lag)
{
    size_t n = 0;
    for (size_t s = lag; s < w->in->nsteps; s++) {
        const int64_t now = pw_excess_at(w, s, rank), last = pw_excess_at(w, s - lag, rank);
        if (now != PW_EXCESS_UNKNOWN && last != PW_EXCESS_UNKNOWN)
            w->values[n++] = distance(now, last);
    }
    return n ? (int64_t)(PW_MAD_TO_SIGMA / sqrt(2.0) * (double)pw_median_i64(w->values, n)) : 0;
}

/* The same from step to step. Where an iteration of the program is 2 to 4 steps, a rank may be late
 * in one of them each time: then the spread is that of equal steps of the iterations. */
static int64_t sigma_of_rank(struct pw_excess *w, size_t rank)
{
    const int64_t next = sigma_of_lag(w, rank, 1);
    int64_t least = next;
    for (size_t lag = 2; lag <= PW_SIGMA_LAGS && 2 * lag <= w->in->nsteps; lag++) {
        const int64_t sigma = sigma_of_lag(w, rank, lag);
        least = sigma < least ? sigma : least;
    }
    return (double)least < PW_SIGMA_ALTERNATES * (double)next ? least : next;
}

/* The median of these spreads over the ranks. `rank_hits` is scratch here. */
static int64_t sigma_over_time(struct pw_excess *w)
{
    for (size_t r = 0; r < w->in->nranks; r++)
        w->rank_hits[r] = sigma_of_rank(w, r);
    return pw_median_i64(w->rank_hits, w->in->nranks);
}

static int64_t median_total(struct pw_excess *w, size_t step)
{
    size_t n = 0;
    for (size_t r = 0; r < w->in->nranks; r++)
        if (w->in->total_ns[step * w->in->nranks + r] >= 0)
            w->values[n++] = w->in->total_ns[step * w->in->nranks + r];
    return n ? pw_median_i64(w->values, n) : 0;
}

static void compute_limits(struct pw_excess *w)
{
    const int64_t between = pw_median_i64(w->others, w->in->nsteps);
    const int64_t over_time = sigma_over_time(w);
    w->sigma = over_time > between ? over_time : between;
    w->sigma = w->sigma > 1 ? w->sigma : 1;
    for (size_t s = 0; s < w->in->nsteps; s++) {
        const int64_t least = (int64_t)(PW_STRAGGLER_OF_STEP * (double)median_total(w, s));
        w->percent[s] = least > 1 ? least : 1;
    }
    for (size_t s = 0; s < w->in->nsteps; s++)
        w->values[s] = w->percent[s];
    w->least = pw_median_i64(w->values, w->in->nsteps);
}

static void find_errors(struct pw_excess *w)
{
    w->error_ns = w->second_error_ns = 0;
    w->error_rank = w->in->nranks;
    for (size_t r = 0; r < w->in->nranks; r++) {
        const int64_t error = w->in->error_ns[r] < 0 ? INT64_MAX : w->in->error_ns[r];
        if (error > w->error_ns) {
            w->second_error_ns = w->error_ns;
            w->error_ns = error;
            w->error_rank = r;
        } else if (error > w->second_error_ns) {
            w->second_error_ns = error;
        }
    }
}

/* The end of a wait comes from another rank's clock, so own work has the error of two clocks. */
int64_t pw_excess_clock_limit(const struct pw_excess *w, size_t rank)
{
    const int64_t others = rank == w->error_rank ? w->second_error_ns : w->error_ns;
    return w->error_ns == INT64_MAX ? INT64_MAX : others + w->in->error_ns[rank];
}

void pw_excess_compute(struct pw_excess *w, const struct pw_straggler_input *in, void *scratch)
{
    lay_out(w, in, scratch);
    find_errors(w);
    compute_excess(w);
    compute_limits(w);
}
