/* Finds the period of a sequence of operations: the steps of a program that marks none. */
#ifndef PW_ANALYSIS_PERIOD_H
#define PW_ANALYSIS_PERIOD_H

#include <stddef.h>
#include <stdint.h>

struct pw_period {
    size_t length;     /* operations in a period */
    size_t first;      /* the first that is part of a whole period: what is before is a prologue */
    double confidence; /* share of operations from there on that are like those a period before */
};

/* The smallest period that explains at least 95 % of `keys` (equal keys: the same kind of
 * operation), and all of the two periods from `first`. Looks at periods up to a third of n. 1 when
 * there is one, seen at least 3 times; else 0. */
int pw_period_find(const uint64_t *keys, size_t n, struct pw_period *out);

#endif
