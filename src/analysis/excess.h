/* The excess of each rank in each step: its own work minus the median of the other ranks' own work.
 * Also the usual spread of the excess. pw_straggler_find() judges these values. Called by
 * straggler.c and aggregate/findings. Pure arithmetic: no I/O, no allocation; the caller gives the
 * scratch memory. */
#ifndef PW_ANALYSIS_EXCESS_H
#define PW_ANALYSIS_EXCESS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/statistics.h"
#include "core/tables.h"

enum { PW_PHASES = 6 }; /* data, forward, backward, allreduce, optimizer, other */

struct pw_straggler_input {
    size_t nsteps, nranks;
    const int64_t *own_ns;    /* [nsteps * nranks] own work, -1: not known */
    const int64_t *total_ns;  /* [nsteps * nranks] length of the step, -1: not known */
    const int64_t *phase_ns;  /* [nsteps * nranks * PW_PHASES] own work per phase, -1: not known */
    const int64_t *error_ns;  /* [nranks] clock error bound, -1: not aligned */
    const int64_t *useful_ns; /* own work outside communication; NULL: not known */
    const int64_t *host_of;   /* [nranks] host numbers; NULL: not known */
    int is_marked;            /* 1: the program marked the steps; 0: steps were inferred */
};

struct pw_straggler_found {
    size_t rank;
    enum pw_straggler kind;
    size_t first, last; /* steps: rows of the input */
    int64_t hits;       /* steps held back: excess above half its median, clock errors and 1 % */
    int64_t excess_ns;  /* mean excess of the hits */
    int64_t lost_ns;    /* sum of the excess of the hits */
    double slowdown;    /* mean over the hits of excess / step length of the rank */
    int64_t gain_ns;    /* time saved by the job if this rank had the others' median work */
    enum pw_phase phase;
    double confidence;  /* 1 - corrected chance of this many hits; 0..1 */
    int without_clocks; /* 1: set by the caller that gave time outside communication as own work */
    int has_changed;    /* 1: slow for a time, which shows in its own work alone */
    int is_inside;      /* 1: most of the excess is in communication; the cause may be elsewhere */
};

#define PW_EXCESS_UNKNOWN INT64_MIN
#define PW_EXCESS_LEAST_STEPS 3 /* fewer steps are not enough for a median */

struct pw_excess {
    const struct pw_straggler_input *in;
    /* [nranks * nsteps] by rank, because ranks are judged one after another; ns, PW_EXCESS_UNKNOWN:
     * not known */
    int64_t *excess;
    int64_t *percent;   /* [nsteps] 1 % of the median rank's step, at least 1 ns */
    int64_t *values;    /* [max(nsteps, nranks)] scratch */
    int64_t *rank_hits; /* [nranks] scratch */
    int64_t *above;     /* [nranks] sums of the positive excesses; filled by pw_straggler_find() */
    /* of rank_hits, once they are counted: the sum, the largest, and the second largest */
    int64_t hits, most_hits, second_hits;
    int64_t *others; /* [nsteps] scratch */
    /* [nsteps * PW_PHASES] cache of the middle values of each phase in each step. An entry with
     * `low` == PW_EXCESS_UNKNOWN is not computed yet. pw_straggler_find() takes the memory from its
     * scratch; NULL: no cache */
    struct pw_middle *phases;
    int64_t *positive; /* [npositive] sorted; filled by pw_excess_above() */
    size_t npositive;
    int64_t known; /* number of known excesses; 0: pw_excess_above() was not called yet */
    int64_t sigma; /* standard deviation of an excess without a straggler, ns, at least 1 */
    int64_t least; /* median of `percent` */
    /* of the clock errors, ns: the largest, its rank, and the largest of the other ranks, at least
     * 0; INT64_MAX: the clock of a rank is not aligned */
    int64_t error_ns, second_error_ns;
    size_t error_rank;
};

/* Bytes of scratch for pw_excess_compute(). */
size_t pw_excess_scratch(size_t nsteps, size_t nranks);

/* Computes all members of *w from `in`, which must have at least 2 ranks and 1 step. The arrays of
 * *w are in `scratch`. */
void pw_excess_compute(struct pw_excess *w, const struct pw_straggler_input *in, void *scratch);

/* The largest excess of the rank that clock errors alone can cause, ns; INT64_MAX when the clock of
 * any rank is not aligned. */
int64_t pw_excess_clock_limit(const struct pw_excess *w, size_t rank);

static inline int64_t pw_excess_at(const struct pw_excess *w, size_t step, size_t rank)
{
    return w->excess[rank * w->in->nsteps + step];
}

/* 1 when the excess of the rank in the step is above 1 % of the median rank's step, above `clock`
 * (from pw_excess_clock_limit()) and above `least`, ns. */
static inline int pw_excess_is_above(const struct pw_excess *w, size_t step, size_t rank,
                                     int64_t clock, int64_t least)
{
    int64_t excess = pw_excess_at(w, step, rank);
    return excess != PW_EXCESS_UNKNOWN && excess > w->percent[step] && excess > clock &&
           excess > least;
}

/* Returns how many excesses of all ranks and steps are above `level`, which is not negative;
 * *known: how many are known. */
int64_t pw_excess_above(struct pw_excess *w, int64_t level, int64_t *known);

/* How much shorter the step would have been without the rank's excess: its own work minus the
 * second largest own work; 0 when its own work is not the largest, or no other is known. */
int64_t pw_excess_gain(const struct pw_straggler_input *in, size_t step, size_t rank);

/* ---- the phase that causes a straggler's excess ---- */

/* 1 when the step is outside the straggler's window. */
static inline int pw_straggler_is_outside(const struct pw_straggler_found *f, size_t step)
{
    return step < f->first || step > f->last;
}

/* Returns the phase that explains the excess of straggler `f`; PW_PHASE_NONE when no phase does.
 * In one step, the excess of a phase is the rank's own work in it minus the median of the other
 * ranks' own works in it. The excess of the phase is the median of these values over the steps of
 * f's window in which the rank's excess is above `least` ns and the limits of pw_excess_is_above().
 * These rules are tried in turn:
 *   1. the phase with the largest excess, if that is at least a quarter of f->excess_ns;
 *   2. the same after subtracting from each phase's excess the median of the phase over the steps
 *      outside the window;
 *   3. the allreduce phase, if its excess is at least half of f->excess_ns.
 * Rules 1 and 2 skip the allreduce phase: a rank that enters the allreduce last spends the whole
 * transfer there, so a long allreduce phase is often the effect of an earlier delay. */
enum pw_phase pw_straggler_phase(struct pw_excess *w, const struct pw_straggler_found *f,
                                 int64_t least);

/* ---- single steps with an extreme excess: a stall, a stop, a frozen host ---- */

enum { PW_ONEOFF_STEPS = 2 }; /* a straggler in more steps is not called a one-off */

/* The largest excesses of the run, over all ranks and steps. */
struct pw_oneoff_tops {
    int64_t ns[64]; /* largest first */
    size_t rank[64];
    size_t n;
    int64_t known;  /* number of known excesses */
    int64_t run_ns; /* sum over the steps of the median rank's step */
};

/* Fills *out from the excesses in *w. */
void pw_oneoff_tops(const struct pw_excess *w, struct pw_oneoff_tops *out);

/* Finds the extreme steps of the rank. T is the third largest excess of all other ranks and steps,
 * at least w->sigma. A step is extreme when the rank's excess is above 5 T, above the clock errors,
 * and above 1 % of the median rank's step. The rank is a straggler when either
 *   - it has at most 2 extreme steps, and their excesses are together at least 3 % of the run; or
 *   - the chance of its extreme steps (see below) is less than 0.01.
 * Returns 1 for a straggler, else 0; 0 with fewer than 10 known excesses of other ranks. Fills
 * rank, kind, first, last, hits, excess_ns, lost_ns, slowdown, phase, confidence, and gain_ns.
 * gain_ns is what the job would have saved: the sum over the extreme steps of the rank's own work
 * minus the second largest own work in the step. A step in which the rank's own work is not the
 * largest adds 0.
 *
 * The chance: 3 of the excesses of the other R - 1 ranks are T or more, so 3 / (R - 1) such
 * excesses are expected of one rank. If large excesses follow a Pareto distribution of index 2,
 * then e = 3 / (R - 1) x (T / x)^2 excesses are expected above x. By Poisson's law the probability
 * of k or more is at most e^k / k!. All R ranks are tested, so the chance is R e^k / k!; x is the
 * smallest excess of the extreme steps. The confidence is 1 minus the chance. */
int pw_oneoff_find(struct pw_excess *w, const struct pw_oneoff_tops *tops, size_t rank,
                   struct pw_straggler_found *out);

#endif
