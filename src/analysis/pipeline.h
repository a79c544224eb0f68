/* Finds the operator of the data pipeline that is too slow, from how full the queues before and
 * behind it are. Called by aggregate/samples, by the advice and by the text and JSON reports. Pure
 * arithmetic: no I/O, no allocation.
 *
 * A queue that is mostly full has a slow consumer, one that is mostly empty a slow producer. The
 * rules and thresholds are those of MindSpore (docs/method.md, "Data pipeline"), which its users
 * know. */
#ifndef PW_ANALYSIS_PIPELINE_H
#define PW_ANALYSIS_PIPELINE_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

enum { PW_PIPELINE_QUEUES = 32 };

enum pw_pipeline_verdict {
    PW_PIPELINE_UNKNOWN, /* there are no queues */
    PW_PIPELINE_FINE,
    /* the last host queue is empty in more than 30 % of its samples: of all samples, or of those in
     * the steps that found the pipeline's last queue empty */
    PW_PIPELINE_PROCESSING,
    PW_PIPELINE_TRANSFER, /* otherwise, the last device queue was empty when a step needed data */
};

/* An operator takes data from the queue `left` and puts them into `right`; NULL at an end of the
 * pipeline. */
struct pw_pipeline_operator {
    const char *name; /* 64 bytes; "": the program did not name it */
    const struct pw_row_c_queue *left, *right;
    int suspect;
};

struct pw_pipeline {
    enum pw_pipeline_verdict verdict;
    /* 1: the queues are judged only in the steps that found the last queue empty. There are such
     * steps, and over the whole run the host's queue is seldom empty. */
    int is_of_steps;
    /* the last queue on the host and on the device; NULL: there is none */
    const struct pw_row_c_queue *host, *device;
    struct pw_pipeline_operator operators[PW_PIPELINE_QUEUES + 1];
    size_t noperators;
};

/* Judges the queues of one rank, or of all ranks, sorted by their place in the pipeline. Queues
 * beyond PW_PIPELINE_QUEUES are ignored. */
void pw_pipeline_judge(const struct pw_row_c_queue *queues, size_t n, struct pw_pipeline *out);

/* Finds the rows of a rank (-1: those of all ranks) in rows that are sorted by rank. *n: how many.
 * NULL when there are none. */
const struct pw_row_c_queue *pw_pipeline_of_rank(const struct pw_row_c_queue *queues, size_t total,
                                                 int32_t rank, size_t *n);

/* How full a queue is: on average, or with is_of_steps in those steps; -1: not known. */
double pw_pipeline_usage(const struct pw_pipeline *pipeline, const struct pw_row_c_queue *queue);

/* True when a rank's queue was empty in 10 steps or more, and in more than 30 % of the steps from
 * first_empty_step to last_empty_step. */
int pw_pipeline_has_window(const struct pw_row_c_queue *queue);

/* The operator to blame: the first one that is suspect, else the one that fills the queue of the
 * verdict. NULL when there is none. */
const struct pw_pipeline_operator *pw_pipeline_culprit(const struct pw_pipeline *pipeline);

/* True when the gap before forward is more than 0.5 ms and 1 % of the step: less is not worth an
 * improvement. */
int pw_pipeline_hurts(int64_t interval_ns, int64_t total_ns);

enum pw_pipeline_kind {
    PW_PIPELINE_OTHER,
    PW_PIPELINE_SOURCE,
    PW_PIPELINE_MAP,
    PW_PIPELINE_GENERATOR,
    PW_PIPELINE_BATCH,
    PW_PIPELINE_COPY,
};

/* The kind of an operator by the words in its name, which has at most 64 bytes. */
enum pw_pipeline_kind pw_pipeline_kind_of(const char *name);

/* A sentence with advice for an operator of this kind. */
const char *pw_pipeline_remedy(enum pw_pipeline_kind kind);

#endif
