/* Computes the GPU time of a rank: over the run, by steps, and by the phases that launched it.
 * Called by matrix.c, one rank at a time, after ranktrace.c. No MPI. */
#ifndef PW_AGGREGATE_SECONDPASS_GPUTRACE_H
#define PW_AGGREGATE_SECONDPASS_GPUTRACE_H

#include "aggregate/gpu/gpudevices.h"
#include "aggregate/operators/optree.h"
#include "aggregate/secondpass/ranktrace.h"

struct pw_gputrace {
    struct pw_row_c_gpu_trace *steps; /* [job->nsteps], -1: not known */
    struct pw_row_c_gpu_rank rank;
    /* rows of the GPUs that the rank used */
    struct pw_row_c_gpu_device devices[PW_GPUDEVICES_MOST];
    size_t ndevices;
    int64_t late; /* number of activities too far out of order */
};

/* Reads the GPU activities of `input`, adds its kernels to `kernels`, and changes the rank's step
 * trace to GPU time. Returns 0, -ENOMEM, or another -errno when a table is damaged. */
int pw_gputrace_build(const struct pw_world *world, const struct pw_input *input,
                      struct pw_ranktrace *trace, struct pw_optree *kernels,
                      struct pw_gputrace *out);

void pw_gputrace_fini(struct pw_gputrace *trace);

#endif
