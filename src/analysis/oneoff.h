/* Single steps in which a rank lost so much that nothing else in the run is like it: a stall, a
 * stop, a frozen host. */
#ifndef PW_ANALYSIS_ONEOFF_H
#define PW_ANALYSIS_ONEOFF_H

#include "analysis/excess.h"

/* The largest excesses of the run, over all ranks. */
struct pw_oneoff_tops {
    int64_t ns[64];
    size_t rank[64];
    size_t n;
    int64_t known;  /* excesses that are known */
    int64_t run_ns; /* all steps, each as long as the median rank's */
};

void pw_oneoff_tops(const struct pw_excess *w, struct pw_oneoff_tops *out);

/* Looks for at most 2 steps of the rank, each with an excess of 5 times the third largest of all
 * other ranks and steps, above the clocks' errors and 1 % of the step, and together 3 % of the run.
 * Fills rank, kind, first, last, hits, excess_ns, slowdown, gain_ns (the steps' excess above the
 * second most work in them), phase and confidence. 1 when there are such steps, else 0.
 *
 * Confidence: of the others' N excesses 3 are above the third largest, T. Were large excesses
 * spread as heavily as a Pareto distribution of index 2, 3 (T / x)^2 / N of them would be above x;
 * so many ranks and steps are looked at. */
int pw_oneoff_find(struct pw_excess *w, const struct pw_oneoff_tops *tops, size_t rank,
                   struct pw_straggler_found *out);

#endif
