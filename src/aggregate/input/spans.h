/* A growing set of spans of time, and how long a rank waited within them; local times of one rank.
 * Used by the passes over a rank's file. When memory is short `failed` is set, which the caller
 * checks after the last span. No MPI, no I/O. */
#ifndef PW_AGGREGATE_INPUT_SPANS_H
#define PW_AGGREGATE_INPUT_SPANS_H

#include "analysis/intervals.h"

struct pw_spans {
    struct pw_interval *v;
    size_t n, capacity;
    size_t near; /* index of the first span of the last window */
    int failed;  /* 1: memory was short, and spans are missing */
};

/* Adds [start, end) unless it is empty. */
void pw_spans_add(struct pw_spans *spans, int64_t start, int64_t end);

/* Sorts them and joins those that overlap. */
void pw_spans_join(struct pw_spans *spans);

/* Returns how much of the window the joined spans cover, ns. Fast for windows in the order of
 * time. */
int64_t pw_spans_within(struct pw_spans *spans, struct pw_interval window);

/* Drops joined spans that end at or before `time`. */
void pw_spans_drop(struct pw_spans *spans, int64_t time);

void pw_spans_fini(struct pw_spans *spans);

/* ---- the time that a rank waited, from its joined spans of waiting ---- */

struct pw_waited {
    const struct pw_interval *spans; /* the caller's */
    size_t n, near;
    int64_t *before; /* [n] total length of the spans before each span */
};

/* Returns 0 or -ENOMEM. The spans must be joined, and must outlive `waited`. */
int pw_waited_init(struct pw_waited *waited, const struct pw_spans *spans);
void pw_waited_fini(struct pw_waited *waited);

/* Returns the waiting inside [start, end), ns. Fast when the interval is near that of the last
 * call. */
int64_t pw_waited_within(struct pw_waited *waited, int64_t start, int64_t end);

#endif
