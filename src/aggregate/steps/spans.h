/* A growing set of spans of time, for the step trace of one rank. */
#ifndef PW_AGGREGATE_STEPS_SPANS_H
#define PW_AGGREGATE_STEPS_SPANS_H

#include "analysis/intervals.h"

struct pw_spans {
    struct pw_interval *v;
    size_t n, capacity;
    size_t near; /* where the last window began */
    int failed;  /* memory was short: some are missing */
};

/* Adds [start, end) unless it is empty. */
void pw_spans_add(struct pw_spans *spans, int64_t start, int64_t end);

/* Sorts them and joins those that overlap. */
void pw_spans_join(struct pw_spans *spans);

/* How much of the window joined spans cover; windows in the order of time are cheap. */
int64_t pw_spans_within(struct pw_spans *spans, struct pw_interval window);

/* Drops joined spans that end at or before `time`. */
void pw_spans_drop(struct pw_spans *spans, int64_t time);

void pw_spans_fini(struct pw_spans *spans);

#endif
