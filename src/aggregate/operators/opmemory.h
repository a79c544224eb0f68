/* Reads the memory samples of one rank backwards, thread by thread, as the pass over its ranges
 * (opread.c) needs them for the operators' memory peaks. Memory is limited: a few blocks of the
 * table are kept; a block is read again when threads are far apart in the table. No MPI. */
#ifndef PW_AGGREGATE_OPERATORS_OPMEMORY_H
#define PW_AGGREGATE_OPERATORS_OPMEMORY_H

#include <stdint.h>

#include "aggregate/input/input.h"

struct pw_opmemory;

/* Opens the samples of a rank, which must outlive *out. *out is NULL when there
 * are no samples. Returns 0, -ENOMEM, -EIO, or -ENOSPC when samples of many threads alternate too
 * often. */
int pw_opmemory_open(const struct pw_input *input, struct pw_opmemory **out);

/* Takes the thread's latest sample that was not taken yet, if its time is after `after`. Returns 1;
 * 0 when there is none; or -errno. `memory` may be NULL. */
int pw_opmemory_take(struct pw_opmemory *memory, uint16_t thread, int64_t after, int64_t *time,
                     int64_t *delta_bytes);

void pw_opmemory_close(struct pw_opmemory *memory);

#endif
