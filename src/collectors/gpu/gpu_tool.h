/* Collector gpu, tool half: what ran on the GPUs that the program used, who launched it, and what
 * the program waited for. */
#ifndef PW_GPU_TOOL_H
#define PW_GPU_TOOL_H

#include "rank/collect/collector.h"

extern const struct pw_collector pw_collector_gpu;

#endif
