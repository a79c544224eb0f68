/* Removes shared memory whose processes were all killed. Called by `profwrap sweep`. Tool code; a
 * segment that a process still uses is never removed. */
#ifndef PW_RANK_RUN_SWEEP_H
#define PW_RANK_RUN_SWEEP_H

/* Removes the calling user's segments that no process uses, and no other user's. What is in them is
 * lost: recover first. The number removed, or -errno when shared memory cannot be looked at. */
int pw_sweep_segments(void);

#endif
