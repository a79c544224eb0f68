/* The queues of the data pipeline (docs/metrics.md, "Data pipeline"): sums up the samples of each
 * rank, and sorts the queues of all ranks. Called by samples.c; only pw_queues_arrange()
 * communicates. */
#ifndef PW_AGGREGATE_SAMPLES_PIPELINEQUEUES_H
#define PW_AGGREGATE_SAMPLES_PIPELINEQUEUES_H

#include "aggregate/input/cursor.h"
#include "aggregate/input/job.h"
#include "analysis/pipeline.h"

struct pw_queues {
    struct pw_row_c_queue *rows;
    size_t n;
    /* Until pw_queues_arrange(), `place` is the number of a row in `rows`. */
    struct pw_row_c_queue_series *series;
    size_t nseries;
    int64_t unlisted; /* samples of queues beyond the limit */
};

/* Adds the queues of one rank, with at most `points` points of series; `file` must have its texts.
 * Returns 0, -ENOMEM, or another -errno when the table is damaged; then the rows before the damage
 * were added. */
int pw_queues_read(struct pw_queues *queues, const struct pw_openfile *file, size_t points);

/* Gathers the rows of all processes on each of them, adds rows of all ranks together (rank -1),
 * sets the places of the queues, and sorts by rank and place. Each process keeps its own series.
 * Collective. Returns 0 or -ENOMEM, the same on all processes. */
int pw_queues_arrange(struct pw_queues *queues, const struct pw_procs *procs);

void pw_queues_fini(struct pw_queues *queues);

#endif
