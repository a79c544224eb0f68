/* Finds single steps in which all ranks together stood still: checkpoints, validation, a file
 * system that does not answer. As in drift.h, a finding names steps, and no rank. Called by
 * aggregate/findings. Pure arithmetic: no I/O, no allocation; the caller gives the scratch
 * memory. */
#ifndef PW_ANALYSIS_PAUSES_H
#define PW_ANALYSIS_PAUSES_H

#include <stddef.h>
#include <stdint.h>

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
