/* The queues of the data pipeline: one rank's samples summed up, and all ranks' put in order;
 * docs/metrics.md, "Data pipeline". Called by samples.c; only pw_queues_arrange() communicates. */
#ifndef PW_AGGREGATE_SAMPLES_PIPELINEQUEUES_H
#define PW_AGGREGATE_SAMPLES_PIPELINEQUEUES_H

#include "aggregate/input/cursor.h"
#include "aggregate/input/job.h"
#include "analysis/pipeline.h"

struct pw_queues {
    struct pw_row_c_queue *rows;
    size_t n;
    /* `place` is a row of `rows` until the queues are put in order. */
    struct pw_row_c_queue_series *series;
    size_t nseries;
    int64_t unlisted; /* samples of queues that are too many */
};

/* Adds what one rank's file says, with at most `points` of series; needs its texts. 0, -ENOMEM, or
 * another -errno when the table ends early: what could be read is in then. */
int pw_queues_read(struct pw_queues *queues, const struct pw_openfile *file, size_t points);

/* Gathers the rows of all processes on each, adds those of all ranks together (rank -1), finds the
 * queues' places, and sorts by rank and place. The series stay each process's own. Collective. 0 or
 * -ENOMEM, the same on all. */
int pw_queues_arrange(struct pw_queues *queues, const struct pw_procs *procs);

void pw_queues_fini(struct pw_queues *queues);

#endif
