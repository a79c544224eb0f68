/* The memory limit of the machine and of this process's cgroups, and how often the kernel enforced
 * it. Called by run/collect.c, for the limit of the rings' memory and for the program's end. Tool
 * code; only reads. */
#ifndef PW_RANK_RUN_MEMORY_H
#define PW_RANK_RUN_MEMORY_H

#include <stdint.h>

/* Returns the bytes of the machine's memory, or the smallest limit of the process's cgroup and the
 * cgroups above it, whichever is less. INT64_MAX when neither is known. `root` is prefixed to /proc
 * and /sys. */
int64_t pw_memory_limit(const char *root);

/* Returns how many processes of this process's cgroup, and of those below it, the kernel has killed
 * for lack of memory; -1 when that is not known. `root` as above. */
int64_t pw_memory_oom_kills(const char *root);

#endif
