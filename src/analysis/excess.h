/* How far each rank's own work in each step is above the other ranks' median, and by how much that
 * is spread when nothing is wrong: what pw_straggler_find() judges. */
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

/* What the clocks alone may make of the rank's excess, ns; INT64_MAX when any clock is not aligned.
 */
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

#endif
