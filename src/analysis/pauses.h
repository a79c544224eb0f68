/* Single steps in which all ranks together stood still: checkpoints, validation, a file system that
 * does not answer. Like drift.h a finding about the time axis, which names no rank. Called by
 * aggregate/findings. Pure arithmetic: no I/O, no allocation; the caller gives the scratch memory.
 */
#ifndef PW_ANALYSIS_PAUSES_H
#define PW_ANALYSIS_PAUSES_H

#include <stddef.h>
#include <stdint.h>

struct pw_pauses_input {
    size_t nsteps, nranks;
    const int64_t *own_ns; /* [nsteps * nranks] step-major, -1: not known */
    const int64_t *gap_ns; /* [nsteps] from when no rank was in a step any more to the step's begin
                              without what ranks waited in it */
    int64_t step_ns;       /* the median step */
    int64_t run_ns;        /* what a loss is a share of */
    int is_inferred; /* steps were found in the calls: an outer loop's iterations look alike */
};

struct pw_pauses {
    size_t first, last; /* steps with a pause, or that follow one */
    int64_t count;
    int64_t every;     /* steps from one to the next; 0: one pause, or not regular */
    int64_t excess_ns; /* mean pause */
    int64_t cost_ns;   /* count x excess */
    double confidence;
};

/* Bytes of scratch that pw_pauses_find() needs. */
size_t pw_pauses_scratch(size_t nsteps, size_t nranks);

/* 1 and *out when there are pauses, 0 when there are none. is_pause[nsteps] says which steps have
 * one.
 *
 * A step's pause is the lower quartile over the ranks of own work - the rank's median, so that more
 * than three quarters of the ranks have it, and the gap before the step - the median gap. It counts
 * when it is longer than half a median step (3 of inferred ones) and 8 times the 0.8-quantile
 * of all steps', and the next largest is below half of the mean pause. Pauses are single: at most
 * one step in six has one, and at most half of them follow upon each other. The first step is
 * not looked at: runs warm up. Together they cost 1 % of the run. */
int pw_pauses_find(const struct pw_pauses_input *in, void *scratch, uint8_t *is_pause,
                   struct pw_pauses *out);

#endif
