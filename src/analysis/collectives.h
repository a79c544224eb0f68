/* Statistics of the collectives of one communicator, operation and size class (a row of
 * /collective_stats), and algorithm and bus bandwidth. Called by aggregate/match, aggregate/steps
 * (size classes) and analysis/figures. Pure arithmetic: no I/O, no allocation; the caller gives the
 * scratch memory. */
#ifndef PW_ANALYSIS_COLLECTIVES_H
#define PW_ANALYSIS_COLLECTIVES_H

#include <stddef.h>
#include <stdint.h>

#include "core/ops.h"
#include "core/tables.h"

struct pw_collective_group {
    struct pw_row_c_collective (*row)(const void *context, size_t i);
    const void *context;
    size_t n;     /* at least 1 */
    void *values; /* room for n numbers of 8 bytes */
};

struct pw_row_c_collective_stat pw_collectives_sum_up(const struct pw_collective_group *group);

/* Compares two rows for qsort: most waiting first, the order of /collective_stats. */
int pw_collectives_by_wait(const void *a, const void *b);

/* Algorithm and bus bandwidth of collectives (nccl-tests, doc/PERFORMANCE.md). */

/* The factor k of bus bandwidth = k x algorithm bandwidth on `nranks` ranks; 0 when the operation
 * moves no data. */
double pw_busbw_factor(enum pw_op_factor factor, int64_t nranks);

/* Bytes per second of `bytes` in `transfer_ns`; 0 when either is not positive. */
double pw_algbw(int64_t bytes, int64_t transfer_ns);

/* The same when the time may be wrong by `error_ns`, because it is between two clocks. Also 0 when
 * the time is below `error_ns`: the real time may then be any shorter one. */
double pw_algbw_resolved(int64_t bytes, int64_t transfer_ns, int64_t error_ns);

/* Size class of a message: the smallest 2^k - 1 >= bytes, 0 for 0. */
int64_t pw_size_class(int64_t bytes);

/* A finer class: number of the eighth of a power of two that the size is in, 0 .. 511. Sizes below
 * 8 have one class each. */
static inline size_t pw_size_eighth(int64_t bytes)
{
    if (bytes < 8)
        return bytes > 0 ? (size_t)bytes : 0;
    const int top = 63 - __builtin_clzll((uint64_t)bytes);
    return (size_t)(8 * top) + (size_t)((uint64_t)bytes >> (top - 3) & 7);
}

#endif
