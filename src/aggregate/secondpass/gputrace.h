/* The GPU time of a rank: whole, by steps and by the phases that launched it. Called by matrix.c,
 * one rank at a time, after ranktrace.c. No MPI. */
#ifndef PW_AGGREGATE_SECONDPASS_GPUTRACE_H
#define PW_AGGREGATE_SECONDPASS_GPUTRACE_H

#include "aggregate/gpu/gpudevices.h"
#include "aggregate/operators/optree.h"
#include "aggregate/secondpass/ranktrace.h"

struct pw_gputrace {
    struct pw_row_c_gpu_trace *steps; /* [job->nsteps], -1 where nothing is known */
    struct pw_row_c_gpu_rank rank;
    struct pw_row_c_gpu_device devices[PW_GPUDEVICES_MOST]; /* where several were used */
    size_t ndevices;
    int64_t late; /* activities too far out of order to be in time's right place */
};

/* Reads what the GPUs of `input` did, adds its kernels to `kernels`, and puts the rank's step trace
 * on GPU time. 0, -ENOMEM, or another -errno when a table ends early. */
int pw_gputrace_build(const struct pw_world *world, const struct pw_input *input,
                      struct pw_ranktrace *trace, struct pw_optree *kernels,
                      struct pw_gputrace *out);

void pw_gputrace_fini(struct pw_gputrace *trace);

#endif
