/* By which way NCCL's operations are seen, of two that may see the same one: its profiler plugin
 * and our wrappers of its functions. The first that is there is the only one that records: a
 * wrapper, which is outermost, waits for whether the plugin has seen the call. What neither sees
 * the collector takes from NCCL's NVTX ranges (nccl_nvtx.h). In-app code. */
#ifndef PW_NCCL_WAY_H
#define PW_NCCL_WAY_H

#include "collectors/nccl/nccl_comm.h"

/* The way is there: from now on it, or a better one, is the process's. */
void pw_nccl_way_take(enum pw_nccl_way way);

/* Whether operations seen this way are to be recorded. */
int pw_nccl_way_is(enum pw_nccl_way way);

#endif
