/* How far each rank's own work in each step is above the other ranks' median, and how large its
 * spread is when nothing is wrong: what pw_straggler_find() judges. Called by straggler.c and
 * aggregate/findings. Pure arithmetic: no I/O, no allocation; the caller gives the scratch memory.
 */
#ifndef PW_ANALYSIS_EXCESS_H
#define PW_ANALYSIS_EXCESS_H

#include "analysis/straggler.h"

#define PW_EXCESS_UNKNOWN INT64_MIN
#define PW_EXCESS_LEAST_STEPS 3 /* fewer say nothing */

struct pw_excess {
    const struct pw_straggler_input *in;
    int64_t *excess;    /* [nsteps * nranks], ns */
    int64_t *percent;   /* [nsteps] 1 % of the step, at least 1 ns */
    int64_t *values;    /* [max(nsteps, nranks)] scratch */
    int64_t *rank_hits; /* [nranks] scratch */
    int64_t *others;    /* [nsteps] scratch */
    int64_t sigma;      /* spread of an excess, ns, at least 1 */
    int64_t least;      /* median of `percent` */
};

/* Bytes of scratch for pw_excess_compute(). */
size_t pw_excess_scratch(size_t nsteps, size_t nranks);

/* Fills everything from `in`, which must have at least 2 ranks and 1 step; the arrays are in
 * `scratch`. */
void pw_excess_compute(struct pw_excess *w, const struct pw_straggler_input *in, void *scratch);

/* The excess that clock errors alone can explain for the rank, ns; INT64_MAX when any clock is not
 * aligned. */
int64_t pw_excess_clock_limit(const struct pw_excess *w, size_t rank);

static inline int64_t pw_excess_at(const struct pw_excess *w, size_t step, size_t rank)
{
    return w->excess[step * w->in->nranks + rank];
}

/* Above everything that is not this rank's doing, and above `least`. `clock` is the rank's clock
 * limit. */
static inline int pw_excess_is_above(const struct pw_excess *w, size_t step, size_t rank,
                                     int64_t clock, int64_t least)
{
    int64_t excess = pw_excess_at(w, step, rank);
    return excess != PW_EXCESS_UNKNOWN && excess > w->percent[step] && excess > clock &&
           excess > least;
}

/* The rank's own works in a step that are known, sorted into `values`; how many. */
size_t pw_excess_sort_step(const struct pw_straggler_input *in, size_t step, int64_t *values);

/* Median own work of the other ranks, given the step's sorted works; -1 when it is not known. */
int64_t pw_excess_others_median(const struct pw_straggler_input *in, size_t step, size_t rank,
                                const int64_t *sorted, size_t n);

/* In which phase a rank that holds the job back is late. */

static inline int pw_straggler_is_outside(const struct pw_straggler_found *f, size_t step)
{
    return step < f->first || step > f->last;
}

/* The phase with most of the excess of the steps that are above `least` ns, else the one that has
 * grown most compared with the steps outside f's window, when it explains a quarter of
 * f->excess_ns. Time in the allreduce phase follows from being late before it (the last to arrive
 * sees all of the transfer), so that phase is named only when no other is, and it explains half. */
enum pw_phase pw_straggler_phase(struct pw_excess *w, const struct pw_straggler_found *f,
                                 int64_t least);

/* Single steps in which a rank lost so much that nothing else in the run is like it: a stall, a
 * stop, a frozen host. */

enum { PW_ONEOFF_STEPS = 2 }; /* more are no one-off */

/* The largest excesses of the run, over all ranks. */
struct pw_oneoff_tops {
    int64_t ns[64];
    size_t rank[64];
    size_t n;
    int64_t known;  /* excesses that are known */
    int64_t run_ns; /* all steps, each as long as the median rank's */
};

void pw_oneoff_tops(const struct pw_excess *w, struct pw_oneoff_tops *out);

/* Looks for steps of the rank, each with an excess of 5 times the third largest of all other ranks
 * and steps, above the clocks' errors and 1 % of the step: at most 2, which lose 3 % of the run
 * together, or as many as the chance is below 0.01 of. Fills rank, kind, first, last, hits,
 * excess_ns, slowdown, gain_ns (the steps' excess above the second most work in them), phase and
 * confidence. 1 when there are such steps, else 0.
 *
 * Confidence is 1 less the chance. Of the others' excesses 3 are above the third largest, T, so 3 /
 * (R - 1) are expected there for one of R ranks; and were large excesses spread as heavily as a
 * Pareto distribution of index 2, e = 3 / (R - 1) x (T / x)^2 above x. The chance of k or more is
 * at most e^k / k! (Poisson's law), and so many ranks are looked at: R e^k / k!. */
int pw_oneoff_find(struct pw_excess *w, const struct pw_oneoff_tops *tops, size_t rank,
                   struct pw_straggler_found *out);

#endif
