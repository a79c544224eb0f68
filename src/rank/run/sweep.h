/* Removes shared memory whose processes were all killed. Called by `profwrap sweep`. Tool code; a
 * segment that a process still uses is never removed. */
#ifndef PW_RANK_RUN_SWEEP_H
#define PW_RANK_RUN_SWEEP_H

#include <stdio.h>

/* Removes the segments of the calling user that no process uses. Their records are lost: call
 * `profwrap recover` first. With `list` nothing is removed: the path of each such segment is
 * printed on `list`, one a line. Returns the number of segments removed or listed, or -errno when
 * /dev/shm cannot be read. */
int pw_sweep_segments(FILE *list);

#endif
