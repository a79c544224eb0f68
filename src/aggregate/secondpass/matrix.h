/* Runs the second pass over all ranks' files, and gathers the step trace of all ranks on process 0
 * in the form that the analyses need: one array by step and rank for each quantity. Called by
 * aggregate.c on all processes together, after clocks, collectives and messages are matched. */
#ifndef PW_AGGREGATE_SECONDPASS_MATRIX_H
#define PW_AGGREGATE_SECONDPASS_MATRIX_H

#include "aggregate/input/job.h"
#include "aggregate/secondpass/ranktrace.h"
#include "analysis/statistics.h"
#include "analysis/straggler.h"
#include "core/rowpack.h"

enum { PW_STEP_MEMBERS = sizeof(struct pw_row_c_step_trace) / sizeof(int64_t) };

/* The number of a member of struct pw_row_c_step_trace, all of which are int64_t. */
#define PW_STEP_MEMBER(name) (offsetof(struct pw_row_c_step_trace, name) / sizeof(int64_t))

/* Sums of the members of the step trace, and of the phases, over a rank's measured steps. */
struct pw_step_sums {
    int64_t rank;
    struct pw_mean members[PW_STEP_MEMBERS];
    struct pw_mean phases[PW_PHASES];
};

struct pw_matrix {
    size_t nsteps, nranks;
    int64_t *own_ns, *total_ns, *useful_ns; /* [nsteps * nranks], -1: not known */
    int64_t *phase_ns;                      /* [nsteps * nranks * PW_PHASES] */
    int is_borrowed; /* 1: phase_ns, bins, received and parts belong to the share, of one process */
    size_t nbins;
    struct pw_row_c_bin_trace *bins;   /* [nbins * nranks] */
    int32_t *received;                 /* [nbins * nranks] messages that the rank got */
    struct pw_row_c_part_trace *parts; /* [PW_PART_END * nranks] */
};

/* What is not known of a rank: all of its communication, or only how much of it is waiting. */
enum pw_share_lack { PW_SHARE_COMPLETE, PW_SHARE_NO_COMMUNICATION, PW_SHARE_NO_WAITS };

/* This process's columns of the tables by rank, and their summary of each step. */
struct pw_share {
    size_t first, count;                 /* ranks */
    struct pw_rowpack steps;             /* rows of struct pw_row_c_step_trace */
    struct pw_row_c_phase_trace *phases; /* [nsteps * count] by step, then rank */
    struct pw_row_c_bin_trace *bins;     /* [job->bins.n * count], bin-major */
    int32_t *received;                   /* [job->bins.n * count] */
    struct pw_row_c_part_trace *parts;   /* [PW_PART_END * count], by part */
    /* [nsteps * count]; NULL when no rank of the job has GPU rows */
    struct pw_row_c_gpu_trace *gpu;
    struct pw_row_c_gpu_rank *gpu_ranks; /* [ngpu_ranks] ranks of this process with GPU rows */
    size_t ngpu_ranks;
    struct pw_row_c_gpu_device *gpu_devices; /* [ngpu_devices] the GPUs that those ranks used */
    size_t ngpu_devices;
    /* [nsteps] epoch times: earliest start and latest end of this process's ranks */
    int64_t *step_start, *step_end;
    int64_t *step_recorded;    /* [nsteps] enum pw_recorded, -1: not known */
    struct pw_step_sums *sums; /* [nsums] of all ranks; pw_share_sum_up() */
    size_t nsums;
    uint8_t *is_silent; /* [count] enum pw_share_lack; set by aggregate.c */
};

/* Reads `count` rows of the step trace of a column, from step `first` on. Waits and communication
 * of a silent rank are not known: 0 would say that there were none. Its own time stays that of its
 * steps. */
void pw_share_rows(const struct pw_share *share, size_t column, size_t first, size_t count,
                   struct pw_row_c_step_trace *rows);

/* The measured steps of the job, without warm-up and partial steps. */
struct pw_measured {
    const struct pw_world *world;
    const struct pw_matrix *matrix; /* has these steps only */
    const size_t *rows;             /* [matrix->nsteps] the step of the job that each is */
};

/* Runs the second pass over this process's inputs, and sums up their operators and kernels.
 * Collective, to agree on the columns. Returns 0 or -ENOMEM. */
int pw_share_build(struct pw_share *share, struct pw_job *job, const struct pw_share_parts *parts);

/* Sums up the step trace and the phases of each rank, on every process. Collective. */
void pw_share_sum_up(struct pw_share *share, const struct pw_job *job);

/* Makes the n + 1 rows of /rank_means of n sums: of each rank, then of all. */
void pw_share_means(const struct pw_step_sums *sums, size_t n, struct pw_row_c_rank_mean *rows);

void pw_share_fini(struct pw_share *share);

/* Gathers the shares on process 0; other processes get an empty matrix. One process lends its
 * phases, bins and parts to the matrix, so `share` must outlive it; several free them. Collective.
 * Returns 0 or -ENOMEM. */
int pw_matrix_gather(struct pw_matrix *matrix, const struct pw_job *job, struct pw_share *share);

void pw_matrix_fini(struct pw_matrix *matrix);

#endif
