/* Single steps in which a rank lost so much that nothing else in the run is like it: a stall, a
 * stop, a frozen host. */
#ifndef PW_ANALYSIS_ONEOFF_H
#define PW_ANALYSIS_ONEOFF_H

#include "analysis/excess.h"

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
 * Confidence is 1 less the chance. Of the others' excesses 3 are above the third largest, T, so of
 * one of R ranks 3 / (R - 1) are to be expected there; and were large excesses spread as heavily as
 * a Pareto distribution of index 2, e = 3 / (R - 1) x (T / x)^2 above x. The chance of k or more is
 * at most e^k / k! (Poisson's law), and so many ranks are looked at: R e^k / k!. */
int pw_oneoff_find(struct pw_excess *w, const struct pw_oneoff_tops *tops, size_t rank,
                   struct pw_straggler_found *out);

#endif
