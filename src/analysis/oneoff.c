/* Losses in single steps; see oneoff.h. */
#include "analysis/oneoff.h"

#include "analysis/excess.h"

#define TIMES 5           /* as much as any but two of the others' */
#define LEAST_SHARE 0.03  /* of the run, in at most PW_ONEOFF_STEPS; or else the chance of it is */
#define LEAST_CHANCE 0.01 /* below this */
#define LEAST_OTHERS 10   /* excesses of others that it is compared with */
#define OTHERS_ABOVE 3    /* so many of the others' are at least the third largest */

enum { TOPS = 64 };

void pw_oneoff_tops(const struct pw_excess *w, struct pw_oneoff_tops *out)
{
    *out = (struct pw_oneoff_tops){0};
    for (size_t s = 0; s < w->in->nsteps; s++) {
        out->run_ns += 100 * w->percent[s];
        for (size_t r = 0; r < w->in->nranks; r++) {
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

/* The third largest excess of the other ranks, or what is not below it; at least sigma. */
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

/* How much shorter a step would have been with this rank at the others' median: to the second most
 * work in it. */
static int64_t gain_of_step(struct pw_excess *w, size_t step, size_t rank)
{
    const struct pw_straggler_input *in = w->in;
    size_t n = pw_excess_sort_step(in, step, w->values);
    int64_t own = in->own_ns[step * in->nranks + rank];
    return n < 2 || own < w->values[n - 1] ? 0 : own - w->values[n - 2];
}

/* That some rank has so many excesses so many times the third largest of the others: what heavy
 * tails do, so many ranks are looked at. */
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
        if (!pw_excess_is_above(w, s, rank, clock, TIMES * third))
            continue;
        int64_t excess = pw_excess_at(w, s, rank), total = in->total_ns[s * in->nranks + rank];
        out->first = hits ? out->first : s;
        out->last = s;
        out->slowdown += total > 0 ? (double)excess / (double)total : 0;
        out->gain_ns += gain_of_step(w, s, rank);
        sum += excess;
        least = excess < least ? excess : least;
        hits++;
    }
    if (!hits || tops->known - (int64_t)in->nsteps < LEAST_OTHERS)
        return 0;
    const double chance = chance_of(w, hits, (double)least / (double)third);
    if (chance >= LEAST_CHANCE &&
        (hits > PW_ONEOFF_STEPS || (double)sum < LEAST_SHARE * (double)tops->run_ns))
        return 0;
    out->hits = (int64_t)hits;
    out->excess_ns = sum / (int64_t)hits;
    out->lost_ns = sum;
    out->slowdown /= (double)hits;
    out->confidence = 1 - chance;
    out->phase = pw_straggler_phase(w, out, least - 1);
    return 1;
}
