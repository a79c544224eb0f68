/* Which operator of the data pipeline is too slow, from how full the queues around it are. Called
 * by aggregate/samples, by the advice and by the text and JSON reports. Pure arithmetic: no I/O, no
 * allocation.
 *
 * A queue that is mostly full has a slow consumer, one that is mostly empty a slow producer. The
 * rules and their thresholds are MindSpore's (docs/metrics.md, "Data pipeline"), so that its users
 * find what they know. */
#ifndef PW_ANALYSIS_PIPELINE_H
#define PW_ANALYSIS_PIPELINE_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

enum { PW_PIPELINE_QUEUES = 32 };

enum pw_pipeline_verdict {
    PW_PIPELINE_UNKNOWN, /* no queue was looked at */
    PW_PIPELINE_FINE,
    PW_PIPELINE_PROCESSING, /* the last host queue is empty in more than 30 % of its samples */
    PW_PIPELINE_TRANSFER,   /* else: the last device queue was empty when a step wanted data */
};

/* What fills `right` from `left`; either is NULL at an end. */
struct pw_pipeline_operator {
    const char *name; /* 64 bytes, "" where the program did not say */
    const struct pw_row_c_queue *left, *right;
    int suspect;
};

struct pw_pipeline {
    enum pw_pipeline_verdict verdict;
    const struct pw_row_c_queue *host, *device; /* the last of each side, NULL: there is none */
    struct pw_pipeline_operator operators[PW_PIPELINE_QUEUES + 1];
    size_t noperators;
};

/* Judges one rank's rows, or those of all ranks, by place; more than PW_PIPELINE_QUEUES are
 * ignored. */
void pw_pipeline_judge(const struct pw_row_c_queue *queues, size_t n, struct pw_pipeline *out);

/* The rows of a rank, -1 for all ranks', in rows that are sorted by rank; *n is how many. */
const struct pw_row_c_queue *pw_pipeline_of_rank(const struct pw_row_c_queue *queues, size_t total,
                                                 int32_t rank, size_t *n);

/* The first operator that is suspect; else the one that fills the queue which the verdict is about;
 * NULL when there is nothing to blame. */
const struct pw_pipeline_operator *pw_pipeline_culprit(const struct pw_pipeline *pipeline);

/* True when the gap before forward is more than 0.5 ms and 1 % of the step: below that, data cost
 * nothing that is worth work. */
int pw_pipeline_hurts(int64_t interval_ns, int64_t total_ns);

enum pw_pipeline_kind {
    PW_PIPELINE_OTHER,
    PW_PIPELINE_SOURCE,
    PW_PIPELINE_MAP,
    PW_PIPELINE_GENERATOR,
    PW_PIPELINE_BATCH,
    PW_PIPELINE_COPY,
};

/* By the words in an operator's name of at most 64 bytes. */
enum pw_pipeline_kind pw_pipeline_kind_of(const char *name);

/* What to do about an operator of this kind, as a sentence. */
const char *pw_pipeline_remedy(enum pw_pipeline_kind kind);

#endif
