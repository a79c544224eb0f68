/* A growing set of spans of time, and how long a rank waited within them; local times of one rank.
 * Used by the passes over a rank's file. Memory that is short is noted in `failed`, which the
 * caller looks at when it has added all. No MPI, no I/O. */
#ifndef PW_AGGREGATE_INPUT_SPANS_H
#define PW_AGGREGATE_INPUT_SPANS_H

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

/* How long a rank had waited for others by a given time, from its joined spans of waiting. */

struct pw_waited {
    const struct pw_interval *spans; /* the caller's */
    size_t n, near;
    int64_t *before; /* [n] length of all spans before this one */
};

/* 0 or -ENOMEM. The spans must be joined and outlive it. */
int pw_waited_init(struct pw_waited *waited, const struct pw_spans *spans);
void pw_waited_fini(struct pw_waited *waited);

/* ns inside [start, end); quick when it is near the one asked before, on either side. */
int64_t pw_waited_within(struct pw_waited *waited, int64_t start, int64_t end);

#endif
