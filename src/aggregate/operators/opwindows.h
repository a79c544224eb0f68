/* Self time of operators in some windows of steps, by operator of a tree and window. */
#ifndef PW_AGGREGATE_OPERATORS_OPWINDOWS_H
#define PW_AGGREGATE_OPERATORS_OPWINDOWS_H

#include <stddef.h>
#include <stdint.h>

enum { PW_OPWINDOWS_MOST = 64 };

struct pw_opwindows {
    const uint64_t
        *steps; /* of each of a rank's steps, bit w: it is one of window w; the caller's */
    size_t nwindows;
    int64_t *self_ns; /* [capacity * nwindows] */
    size_t capacity;  /* operators */
};

/* Room for operators 0 .. nops-1. 0 or -ENOMEM. */
int pw_opwindows_reserve(struct pw_opwindows *windows, size_t nops);

/* Adds to one operator, for which there is room, in all windows of the mask. */
void pw_opwindows_add(struct pw_opwindows *windows, uint64_t mask, int32_t op, int64_t ns);

/* Of one operator in one window; at least 0, also of those that there is no room for. */
int64_t pw_opwindows_self(const struct pw_opwindows *windows, int32_t op, size_t window);

/* Frees the sums. */
void pw_opwindows_fini(struct pw_opwindows *windows);

#endif
