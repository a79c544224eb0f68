/* The capture method of NCCL's operations. Two methods can see the same operation: the profiler
 * plugin and our wrappers of NCCL's functions. Only one of them records; the plugin has priority,
 * so a wrapper waits until it knows whether the plugin has seen the call. For operations that
 * neither sees, the collector uses NCCL's NVTX ranges (nccl_nvtx.h). Called by nccl_plugin.c and
 * nccl_wrap.c. In-app code. */
#ifndef PW_NCCL_WAY_H
#define PW_NCCL_WAY_H

#include "collectors/nccl/nccl_comm.h"

/* Sets the process's capture method to `way`, unless it has a better one. */
void pw_nccl_way_take(enum pw_nccl_way way);

/* Whether operations that are seen by this method must be recorded. */
int pw_nccl_way_is(enum pw_nccl_way way);

#endif
