/* How each rank spent its time in bins of the whole run, from before MPI_Init to after
 * MPI_Finalize: waiting for others and inside MPI, by its events; on a CPU and off it, by the
 * samples of its process. This shows what delays a rank outside steps or inside a call. aggregate.c
 * chooses the bins on all processes together; ranktrace.c fills them, one rank at a time. */
#ifndef PW_AGGREGATE_STEPS_BINS_H
#define PW_AGGREGATE_STEPS_BINS_H

#include <stddef.h>
#include <stdint.h>

#include "aggregate/input/job.h"
#include "aggregate/input/spans.h"
#include "core/tables.h"

/* What a thread did in a pause: the time between two samples in which, by the kernel's counters, it
 * neither ran nor was ready. docs/method.md, "Bins", has the rules. No I/O, no allocation. */

/* A long pause of a thread that was in state R in both samples. Either its host or container was
 * frozen, or it was ready all the time: the kernel counts the wait of a ready thread only when it
 * runs again. So the pause is held until then. */
struct pw_pause_held {
    int64_t from, to; /* times of the two samples */
    int64_t ns;       /* the pause; 0: none is held */
    int64_t stood_ns; /* later pauses that were counted as ready before the thread ran again */
};

/* What the samples so far have shown. */
struct pw_pause_seen {
    uint8_t state; /* last sampled state off the CPU */
    int64_t at;
    int64_t shortest; /* shortest time between two samples */
    struct pw_pause_held held;
};

/* 1 when the pause must be held. */
int pw_pause_is_long(const struct pw_row_process *from, const struct pw_row_process *to,
                     int64_t pause, const struct pw_pause_seen *seen);

/* Returns the offset in struct pw_row_c_bin_trace of the member to which a shorter pause belongs,
 * by the states in the samples; when the thread was off the CPU in neither, by the last such state.
 * is_standing: a thread that did not run at all is counted as ready. */
size_t pw_pause_member(const struct pw_row_process *from, const struct pw_row_process *to,
                       int is_standing, struct pw_pause_seen *seen);

/* Ends holding. surplus_ns: by how much the kernel's counters of running and waiting grew more than
 * the time between the samples in which the thread ran again; this is time before the first of
 * them. Returns for how much of the pause the thread was ready; for the rest it was frozen. */
int64_t pw_pause_end(struct pw_pause_held *held, int64_t surplus_ns);

/* Divides the run into bins (job->bins): as many as a budget of cells allows, but none shorter than
 * the time between two samples; no bins when the clocks are not aligned. To be called after
 * pw_alignment_make(). Collective. */
void pw_bins_choose(struct pw_job *job);

enum { PW_RUN_PARTS = PW_PART_END };

/* Consecutive spans of time, with a row for each. */
struct pw_cut {
    int64_t *edges; /* [n + 1] local times of the rank */
    struct pw_row_c_bin_trace *rows;
    size_t n, near;
};

/* One rank's time in each bin, and in each part of the run, while its events are read. */
struct pw_bins {
    const struct pw_job *job;
    struct pw_cut bins, parts; /* `parts` is empty when the begin or end of the run is unknown */
    int32_t *received;         /* messages that the rank got in each bin; the caller's */
    int64_t part_edges[PW_RUN_PARTS + 1];
    struct pw_row_c_bin_trace part_rows[PW_RUN_PARTS];
};

/* Begins a rank. `rows` has room for the job's bins. Returns 0 or -ENOMEM. */
int pw_bins_begin(struct pw_bins *bins, const struct pw_job *job, const struct pw_input *input,
                  struct pw_row_c_bin_trace *rows);

/* Adds a call of a communication library, from `start` to `end`, local times. */
void pw_bins_add_inside(struct pw_bins *bins, int64_t start, int64_t end);

/* Counts a message that the rank got at a local time. */
void pw_bins_add_received(struct pw_bins *bins, int64_t time);

/* Adds a marked phase, from `start` to `end`, local times, less the joined spans in which the rank
 * waited. Phases need no step. */
void pw_bins_add_phase(struct pw_bins *bins, enum pw_phase phase, struct pw_interval range,
                       struct pw_spans *wait);

/* Completes the rows, and the known ones of parts[PW_PART_END], from the joined spans in which the
 * rank waited (`wait`) and from the samples in its file. Returns 0, or -errno when the samples are
 * damaged. */
int pw_bins_finish(struct pw_bins *bins, const struct pw_input *input, struct pw_spans *wait,
                   struct pw_row_c_part_trace *parts);

void pw_bins_fini(struct pw_bins *bins);

/* Returns the local time at which the last rank entered MPI_Init (or MPI_Finalize), until which
 * this rank may have waited; INT64_MIN: not known. */
int64_t pw_bins_last_init(const struct pw_world *world, const struct pw_input *input);
int64_t pw_bins_last_finalize(const struct pw_world *world, const struct pw_input *input);

#endif
