/* How much memory the machine and the cgroups leave to this process and its neighbours together.
 * Called by run/collect.c, for the limits of the rings' and the backlog's memory. Tool code; only
 * reads. */
#ifndef PW_RANK_RUN_MEMORY_H
#define PW_RANK_RUN_MEMORY_H

#include <stdint.h>

/* Bytes: the machine's, or the least that the process's cgroup and those above it allow; INT64_MAX
 * when nothing tells. `root` is prefixed to /proc and /sys. */
int64_t pw_memory_limit(const char *root);

#endif
