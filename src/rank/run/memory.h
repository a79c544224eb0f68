/* How much memory this process and its like may take together. */
#ifndef PW_RANK_RUN_MEMORY_H
#define PW_RANK_RUN_MEMORY_H

#include <stdint.h>

/* Bytes: the machine's, or the least that the process's cgroup and those above it allow; INT64_MAX
 * when nothing tells. `root` is prefixed to /proc and /sys. */
int64_t pw_memory_limit(const char *root);

#endif
