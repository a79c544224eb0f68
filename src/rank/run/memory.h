/* The memory limit of the machine and of this process's cgroups. Called by run/collect.c, for the
 * limits of the rings' and the backlog's memory. Tool code; only reads. */
#ifndef PW_RANK_RUN_MEMORY_H
#define PW_RANK_RUN_MEMORY_H

#include <stdint.h>

/* Returns the bytes of the machine's memory, or the smallest limit of the process's cgroup and the
 * cgroups above it, whichever is less. INT64_MAX when neither is known. `root` is prefixed to /proc
 * and /sys. */
int64_t pw_memory_limit(const char *root);

#endif
