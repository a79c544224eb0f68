/* Memory for in-app tables. It comes from the kernel, not from the application's malloc, whose lock
 * a thread of the application may hold. It is never freed. Called by in-app tables of the probe and
 * of modules. In-app: no lock, safe from any thread. */
#ifndef PW_RANK_PROBE_ARENA_H
#define PW_RANK_PROBE_ARENA_H

#include <stddef.h>

/* Returns `bytes` of zeroed memory, aligned to 16; NULL when the kernel has none. */
void *pw_arena_take(size_t bytes);

#endif
