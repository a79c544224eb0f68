/* How long a rank had waited for others by a given time, from its joined spans of waiting. */
#ifndef PW_AGGREGATE_STEPS_WAITED_H
#define PW_AGGREGATE_STEPS_WAITED_H

#include "aggregate/steps/spans.h"

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
