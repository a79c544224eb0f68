/* The second pass over all ranks' files, and the step trace of all ranks on process 0 as the
 * analyses want it: step-major arrays of one quantity. Called by aggregate.c on all processes
 * together, when clocks, collectives and messages are matched. */
#ifndef PW_AGGREGATE_SECONDPASS_MATRIX_H
#define PW_AGGREGATE_SECONDPASS_MATRIX_H

#include "aggregate/input/job.h"
#include "aggregate/secondpass/ranktrace.h"
#include "analysis/straggler.h"

struct pw_matrix {
    size_t nsteps, nranks;
    int64_t *own_ns, *total_ns, *useful_ns; /* [nsteps * nranks], -1: not known */
    int64_t *phase_ns;                      /* [nsteps * nranks * PW_PHASES] */
    size_t nbins;
    struct pw_row_c_bin_trace *bins;   /* [nbins * nranks] */
    struct pw_row_c_part_trace *parts; /* [PW_PART_END * nranks] */
};

/* This process's columns of the grids, and what they say of each step. */
struct pw_share {
    size_t first, count;                 /* ranks */
    struct pw_row_c_step_trace *steps;   /* [nsteps * count], step-major */
    struct pw_row_c_phase_trace *phases; /* [nsteps * count], step-major */
    struct pw_row_c_bin_trace *bins;     /* [job->bins.n * count], bin-major */
    struct pw_row_c_part_trace *parts;   /* [PW_PART_END * count], by part */
    struct pw_row_c_gpu_trace
        *gpu; /* [nsteps * count]; NULL when no rank of the job has GPU rows */
    struct pw_row_c_gpu_rank *gpu_ranks; /* [ngpu_ranks] those of this process that have any */
    size_t ngpu_ranks;
    struct pw_row_c_gpu_device *gpu_devices; /* [ngpu_devices] the GPUs that those ranks used */
    size_t ngpu_devices;
    int64_t *step_start,
        *step_end;          /* [nsteps] epoch times: earliest and latest of the ranks here */
    int64_t *step_recorded; /* [nsteps] enum pw_recorded, -1 */
};

/* The measured steps of the job, without warm-up and those recorded in part. */
struct pw_measured {
    const struct pw_world *world;
    const struct pw_matrix *matrix; /* of these steps only */
    const size_t *rows;             /* [matrix->nsteps] which step of the job each is */
};

/* Runs the second pass over this process's inputs, and sums up their operators and kernels.
 * Collective (it agrees on the columns). 0 or -ENOMEM. */
int pw_share_build(struct pw_share *share, struct pw_job *job, const struct pw_share_parts *parts);

void pw_share_fini(struct pw_share *share);

/* Gathers the shares on process 0; the others get an empty matrix. Collective. 0 or -ENOMEM. */
int pw_matrix_gather(struct pw_matrix *matrix, const struct pw_job *job,
                     const struct pw_share *share);

void pw_matrix_fini(struct pw_matrix *matrix);

#endif
