/* One merge at a time writes a cluster file, and the others wait. The lock is on OUTPUT.lock, and
 * the system releases it when a merge is killed. Where files cannot be locked, merges go on side by
 * side: each writes a file of its own, and the last to be renamed stays. Called by aggregate.c
 * around all else. Only process 0 ever holds the lock. Files are removed only under the lock, and
 * only those with a name that merges make. */
#ifndef PW_AGGREGATE_MERGELOCK_H
#define PW_AGGREGATE_MERGELOCK_H

#include <stdint.h>

struct pw_mergelock {
    char path[4400];
    int fd; /* -1: nothing is locked */
};

/* Takes the lock for the cluster file `output`, waiting at most `wait_s` for another merge, and
 * says so unless `quiet`; then removes what killed merges left. 0, also where nothing can be
 * locked, or -EBUSY. By process 0 alone. */
int pw_mergelock_take(struct pw_mergelock *lock, const char *output, int64_t wait_s, int quiet);

/* When all processes have closed what they wrote: removes what a merge that failed has left, then
 * lets the next one in. By process 0 alone. */
void pw_mergelock_release(struct pw_mergelock *lock, const char *output);

#endif
