/* Whether all ranks together were slower for a time, or became slower steadily: a finding about the
 * time axis, which names no rank. Called by aggregate/findings and network.h. Pure arithmetic: no
 * I/O, no allocation; the caller gives the scratch memory. */
#ifndef PW_ANALYSIS_DRIFT_H
#define PW_ANALYSIS_DRIFT_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

/* [nsteps * nranks], step-major, ns, -1: not known. */
struct pw_drift_input {
    size_t nsteps, nranks;
    const int64_t *own_ns;
    const int64_t *phase_ns; /* [nsteps * nranks * PW_PHASES] */
    int64_t run_ns;          /* what a loss is a share of */
};

struct pw_drift {
    enum pw_slowing kind;
    size_t first, last; /* steps */
    int64_t steps;      /* in which the ranks' work is known */
    int64_t excess_ns;  /* in each of them; of `steady` by how much the last is above the first */
    int64_t cost_ns;    /* steps x excess; half of that of `steady` */
    enum pw_phase phase;
    double confidence;
};

/* Bytes of scratch that pw_drift_find() needs. */
size_t pw_drift_scratch(size_t nsteps, size_t nranks);

/* 1 and *out when there is such a time, 0 when there is not.
 *
 * Common excess of a step: the lower quartile over the ranks of own work - the rank's median, so
 * that more than three quarters of the ranks have it, without what comes every few steps (drift.c).
 * Steps get their places in the order of this excess (the ranks of Wilcoxon's test). Two candidates
 * are the window of w of n steps with the largest (sum of places - expected sum) / sqrt(w (1 - w /
 * n)), and the line with the slope through pairs of steps half the run apart (Theil's incomplete
 * method, 1950); the better one by Schwarz' criterion is taken. It is tested by permutation of what
 * it leaves (drift.c), in blocks of twice the correlation length: p < 0.005, or 0.001 where single
 * steps differ as much and nothing is correlated. Also required: nine of ten ranks have half of the
 * excess or more; it costs 1 % of the run; and no other stretch half as long is like it, because
 * then the program makes its steps so. */
int pw_drift_find(const struct pw_drift_input *in, void *scratch, struct pw_drift *out);

#endif
