/* The floating-point operations that the model needed, by rank and step, and their share of the
 * GPUs' peak (MFU; analysis/gpu.h). Called by aggregate.c on all processes together, after
 * the second pass. Reads /samples/flops; the rows are on process 0. */
#ifndef PW_AGGREGATE_FINDINGS_FLOPS_H
#define PW_AGGREGATE_FINDINGS_FLOPS_H

#include "aggregate/input/job.h"
#include "aggregate/secondpass/matrix.h"
#include "analysis/gpu.h"

/* Filled on process 0, empty on the others. */
struct pw_flops {
    /* first the row of all ranks (rank -1); empty when nothing is known */
    struct pw_row_c_flops *ranks;
    size_t nranks;
    struct pw_row_c_step_flops *steps;
    size_t nsteps;
};

/* Collective. Returns 0 or -ENOMEM, the same on all processes. */
int pw_flops_make(struct pw_flops *flops, struct pw_job *job, const struct pw_share *share,
                  const struct pw_flops_given *given);

void pw_flops_fini(struct pw_flops *flops);

#endif
