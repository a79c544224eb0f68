/* What one rank's threads reported of memory, each thread's samples by themselves and the latest
 * first: what the pass over its ranges needs for their peaks. Called by opread.c. Memory is
 * bounded: blocks of the table are kept while the threads go through them side by side, and read
 * again when they do not. No MPI. */
#ifndef PW_AGGREGATE_OPERATORS_OPMEMORY_H
#define PW_AGGREGATE_OPERATORS_OPMEMORY_H

#include <stdint.h>

#include "core/h5/h5table.h"

struct pw_opmemory;

/* `place` is that of /samples/memory and must outlive it. *out is NULL when there is nothing in it.
 * 0, -ENOSPC when more threads take turns in it than can be told apart, -ENOMEM or -EIO. */
int pw_opmemory_open(const char *path, const struct pw_h5_place *place, struct pw_opmemory **out);

/* The thread's latest sample of those that were not taken yet, if it is of a time after `after`. 1;
 * 0 when there is none, or -errno. `memory` may be NULL. */
int pw_opmemory_take(struct pw_opmemory *memory, uint16_t thread, int64_t after, int64_t *time,
                     int64_t *delta_bytes);

void pw_opmemory_close(struct pw_opmemory *memory);

#endif
