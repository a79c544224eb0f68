/* Items that travel between the merge's processes. */
#ifndef PW_AGGREGATE_MATCH_EXCHANGE_H
#define PW_AGGREGATE_MATCH_EXCHANGE_H

#include "aggregate/input/job.h"

/* The process that reads the file of each rank, -1 where none does; malloc'ed. Collective. NULL on
 * all processes when memory is short on one. */
int *pw_exchange_readers(const struct pw_job *job);

/* Sends item i, of `size` bytes, to the process destination[i] (-1: nobody). *arrived (malloc'ed)
 * gets *count items, in the order of the processes that sent them, those of each in its order.
 * Collective. 0 or -ENOMEM, the same on all processes. */
int pw_exchange(const struct pw_job *job, const void *items, size_t n, size_t size,
                const int *destination, void **arrived, size_t *count);

#endif
