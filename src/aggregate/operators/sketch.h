/* Quantiles of durations without keeping them: counts in classes of 1/32 of a power of two, so that
 * a quantile is within 1.6 % of the true one. Sums of sketches do not depend on their order. */
#ifndef PW_AGGREGATE_OPERATORS_SKETCH_H
#define PW_AGGREGATE_OPERATORS_SKETCH_H

#include <stddef.h>
#include <stdint.h>

/* Classes that hold something, in their order: class << 48 | count. {0} is empty. */
struct pw_sketch {
    uint64_t *v;
    uint32_t n, capacity;
};

/* `count` durations of `ns` >= 0. 0 or -ENOMEM. */
int pw_sketch_add(struct pw_sketch *sketch, int64_t ns, uint64_t count);

/* Adds `n` classes of another sketch, which may come from anywhere. Likewise. */
int pw_sketch_join(struct pw_sketch *into, const uint64_t *v, size_t n);

/* The q-quantile (0..1), the middle of its class; -1 when it is empty. */
int64_t pw_sketch_quantile(const struct pw_sketch *sketch, double q);

void pw_sketch_fini(struct pw_sketch *sketch);

#endif
