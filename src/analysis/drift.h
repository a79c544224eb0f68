/* Finds out whether all ranks together were slower for a time, or became slower steadily. Such a
 * finding names steps, and no rank. Called by aggregate/findings and network.h. Pure arithmetic: no
 * I/O, no allocation; the caller gives the scratch memory. */
#ifndef PW_ANALYSIS_DRIFT_H
#define PW_ANALYSIS_DRIFT_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

/* Arrays of [nsteps * nranks] by step, then rank; ns, -1: not known. */
struct pw_drift_input {
    size_t nsteps, nranks;
    const int64_t *own_ns;
    const int64_t *phase_ns; /* [nsteps * nranks * PW_PHASES] */
    int64_t run_ns;          /* length of the run, to which a loss is compared */
};

struct pw_drift {
    enum pw_slowing kind;
    size_t first, last; /* steps */
    int64_t steps;      /* in which the ranks' work is known */
    /* in each of the steps; for a steady rise: of the last step above the first */
    int64_t excess_ns;
    int64_t cost_ns; /* steps x excess; for a steady rise half of that */
    enum pw_phase phase;
    double confidence;
};

/* Bytes of scratch that pw_drift_find() needs. */
size_t pw_drift_scratch(size_t nsteps, size_t nranks);

/* Returns 1 and fills *out when all ranks were slower for a time or became slower, else returns 0.
 *
 * The *common excess* of a step is the lower quartile over the ranks of (own work - the rank's
 * median). So more than three quarters of the ranks have this excess. The part of it that recurs
 * every few steps is subtracted (drift.c). The steps are sorted by common excess, and each step
 * gets its place in this order (the ranks of Wilcoxon's test). There are two candidates:
 *   - the window of w of n steps with the largest (sum of places - expected sum) / sqrt(w (1 - w /
 *     n));
 *   - the line whose slope is found from pairs of steps half the run apart (Theil's incomplete
 *     method, 1950).
 * Schwarz' criterion chooses one of them. These conditions are required:
 *   - A permutation test of the rest of the excess (drift.c), in blocks of twice the correlation
 *     length, gives p < 0.005. If single steps differ by as much as the excess and successive steps
 *     are not correlated, p must be below 0.001.
 *   - Nine of ten ranks have half of the excess or more.
 *   - The cost is 1 % of the run or more.
 *   - No other stretch that is half as long is as slow. If there is one, the program is slow there
 *     by design. */
int pw_drift_find(const struct pw_drift_input *in, void *scratch, struct pw_drift *out);

#endif
