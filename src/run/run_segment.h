/* The shared memory of a rank, as large as may be. */
#ifndef PW_RUN_RUN_SEGMENT_H
#define PW_RUN_RUN_SEGMENT_H

#include "rank/ring/segment.h"
#include "run/run.h"

/* Creates the segment and its first ring, and says so when they are smaller than was asked for, or
 * are not there. A segment without a ring is none the less: the program counts its calls, and looks
 * for a ring again. 0 or -errno. */
int pw_run_segment_create(const struct pw_run *run, struct pw_segment_shared **out);

/* How much memory records may take that are in the journal and wait to be put into tables: 64 MiB,
 * or the share that the rank's rings may have of what it may take, where that is less. */
int64_t pw_run_backlog_bytes(const struct pw_run *run);

#endif
