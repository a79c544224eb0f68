/* Calls that only every second, fourth, tenth ... iteration of a program has: an outer loop around
 * it, or a phase with a period of its own. */
#ifndef PW_ANALYSIS_RECURRING_H
#define PW_ANALYSIS_RECURRING_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/iteration.h"

struct pw_recurring {
    uint64_t key;  /* of the call */
    size_t call;   /* the first of the calls with it */
    int64_t every; /* iterations from one that has it to the next, at least 2 */
    int64_t count; /* iterations that have it, at least 3 */
    double alike;  /* share of those that come so many after the last, at least 0.85 */
};

/* Bytes of scratch for n calls. */
size_t pw_recurring_scratch(size_t n);

/* Lists the first `max` by how often they come, of calls in the order of their start, and
 * iterations that begin at begins[0 .. nbegins), ascending; what is before the first or after the
 * last does not count. One call for each distance: the first that is met. Returns how many. */
size_t pw_recurring_find(const struct pw_call *calls, size_t n, const int64_t *begins,
                         size_t nbegins, void *scratch, struct pw_recurring *out, size_t max);

#endif
