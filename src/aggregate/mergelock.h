/* Lets one merge at a time write a cluster file; other merges wait. The lock is on the file
 * OUTPUT.lock, and the system releases it when a merge is killed. On file systems without locks,
 * merges run at the same time: each writes a temporary file, and the last to be renamed remains.
 * Called by aggregate.c, first and last. Only process 0 holds the lock. Files are removed only
 * under the lock, and only those with a name that merges make. */
#ifndef PW_AGGREGATE_MERGELOCK_H
#define PW_AGGREGATE_MERGELOCK_H

#include <stdint.h>

struct pw_mergelock {
    char path[4400];
    int fd; /* -1: nothing is locked */
};

/* Takes the lock for the cluster file `output`. Waits at most `wait_s` s for another merge, with a
 * message unless `quiet`. Then removes files of killed merges. Returns 0, also when nothing can be
 * locked, or -EBUSY. For process 0 alone. */
int pw_mergelock_take(struct pw_mergelock *lock, const char *output, int64_t wait_s, int quiet);

/* Removes the files of a failed merge, then releases the lock. To be called when all processes have
 * closed their files, by process 0 alone. */
void pw_mergelock_release(struct pw_mergelock *lock, const char *output);

#endif
