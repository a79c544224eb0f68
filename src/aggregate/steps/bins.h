/* Where each rank's time went in bins of the whole run, from before MPI_Init to after MPI_Finalize:
 * waiting for others and inside MPI as the events say, on a processor and off it as the samples of
 * its process say. What delays a rank outside steps, or inside a call, shows here. aggregate.c
 * chooses the bins on all processes together; ranktrace.c fills them, one rank at a time. */
#ifndef PW_AGGREGATE_STEPS_BINS_H
#define PW_AGGREGATE_STEPS_BINS_H

#include "aggregate/input/job.h"
#include "aggregate/input/spans.h"

/* Cuts the run into bins (job->bins): as many as a budget of cells allows, none shorter than
 * the time between two samples; none when the clocks are not aligned. Clocks must have been related
 * to the cluster's. Collective. */
void pw_bins_choose(struct pw_job *job);

enum { PW_RUN_PARTS = PW_PART_END };

/* Spans of time that follow each other, and a row of each. */
struct pw_cut {
    int64_t *edges; /* [n + 1] local times of the rank */
    struct pw_row_c_bin_trace *rows;
    size_t n, near;
};

/* One rank's time in each bin, and in each part of the run, while its events are read. */
struct pw_bins {
    const struct pw_job *job;
    struct pw_cut bins, parts; /* no parts when the run's extent is not known */
    int64_t part_edges[PW_RUN_PARTS + 1];
    struct pw_row_c_bin_trace part_rows[PW_RUN_PARTS];
};

/* `rows` has room for the job's bins. 0 or -ENOMEM. */
int pw_bins_begin(struct pw_bins *bins, const struct pw_job *job, const struct pw_input *input,
                  struct pw_row_c_bin_trace *rows);

/* The rank was inside a call of a communication library from `start` to `end`, local. */
void pw_bins_add_inside(struct pw_bins *bins, int64_t start, int64_t end);

/* Completes the rows, and of `parts` [PW_RUN_PARTS] those that are known: `wait`, joined, says when
 * the rank waited for others; its file, what its process did. 0, or -errno when its samples break
 * off. */
int pw_bins_finish(struct pw_bins *bins, const struct pw_input *input, struct pw_spans *wait,
                   struct pw_row_c_part_trace *parts);

void pw_bins_fini(struct pw_bins *bins);

/* Local time until which a rank's MPI_Init (or MPI_Finalize) may have waited for the last rank to
 * enter its own; INT64_MIN where that is not known. */
int64_t pw_bins_last_init(const struct pw_world *world, const struct pw_input *input);
int64_t pw_bins_last_finalize(const struct pw_world *world, const struct pw_input *input);

#endif
