/* What collectives of one communicator, operation and size class took: a row of /collective_stats.
 */
#ifndef PW_ANALYSIS_COLLECTIVES_H
#define PW_ANALYSIS_COLLECTIVES_H

#include <stddef.h>

#include "core/tables.h"

struct pw_collective_group {
    struct pw_row_c_collective (*row)(const void *context, size_t i);
    const void *context;
    size_t n;     /* at least 1 */
    void *values; /* room for n numbers of 8 bytes */
};

struct pw_row_c_collective_stat pw_collectives_sum_up(const struct pw_collective_group *group);

/* For qsort: the order of /collective_stats, most waiting first. */
int pw_collectives_by_wait(const void *a, const void *b);

#endif
