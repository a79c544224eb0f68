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
    int64_t cost_ns; /* steps x excess; for a steady rise half of that, or what it adds up to */
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
 *     by design.
 * A window until the last step in which the excess still rises is a steady rise, too. */
int pw_drift_find(const struct pw_drift_input *in, void *scratch, struct pw_drift *out);

/* Finds single steps in which all ranks together stood still: checkpoints, validation, a file
 * system that does not answer. As in drift.h, a finding names steps, and no rank. Pure arithmetic:
 * no I/O, no allocation; the caller gives the scratch memory. */

struct pw_pauses_input {
    size_t nsteps, nranks;
    const int64_t *own_ns; /* [nsteps * nranks] step-major, -1: not known */
    const int64_t *gap_ns; /* [nsteps] from when the last rank ended the step before to the begin of
                              this step, without the ranks' waits in between */
    int64_t step_ns;       /* the median step */
    int64_t run_ns;        /* length of the run, to which a loss is compared */
    int is_inferred; /* 1: the steps were inferred from calls, so a step of an outer loop may look
                        like a pause */
};

struct pw_pauses {
    size_t first, last; /* first and last step with a pause before or in it */
    int64_t count;
    int64_t every; /* steps from one pause to the next; 0: a single pause, or no regular distance */
    int64_t excess_ns; /* mean pause */
    int64_t cost_ns;   /* count x excess */
    double confidence;
};

/* The part of a gap between steps in which the ranks did not wait for each other, of which the
 * median rank waited for `waited_ns`. 0 when it waited for half of the gap or more: then one rank
 * caused the gap, such as by a checkpoint before a barrier, and the others did not pause. What is
 * left of such a gap is mostly the error of the waits, which are known by bins only. */
int64_t pw_pauses_gap(int64_t gap_ns, double waited_ns);

/* Bytes of scratch that pw_pauses_find() needs. */
size_t pw_pauses_scratch(size_t nsteps, size_t nranks);

/* Returns 1 and fills *out when there are pauses, else returns 0. Sets is_pause[nsteps] to 1 for
 * steps with a pause.
 *
 * The extra time of a step is the sum of two parts. The first is the lower quartile over the ranks
 * of (own work - the rank's median), so that more than three quarters of the ranks have it. The
 * second is the gap before the step - the median gap. Extra time is a pause when it is longer than
 * half a median step (3 median steps when steps are inferred), and than 8 times the 0.8-quantile
 * over all steps. Pauses shorter than a tenth of the longest one do not count, if all of these cost
 * less than a tenth of the pauses. The longest extra time that is no pause must be below half of
 * the mean pause. Pauses are single: at most one step in six has one, and at most half of them
 * follow another pause directly. The first step does not count, because runs warm up. Together, the
 * pauses must cost at least 1 % of the run. */
int pw_pauses_find(const struct pw_pauses_input *in, void *scratch, uint8_t *is_pause,
                   struct pw_pauses *out);

#endif
