/* One merge at a time writes a cluster file: the others wait. It is a lock on OUTPUT.lock, which
 * the system takes back from a merge that is killed. Where files cannot be locked, merges go on
 * side by side: each writes to a file of its own, and the last that is renamed stays. */
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
