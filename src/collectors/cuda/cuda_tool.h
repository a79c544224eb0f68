/* Collector cuda, tool half: what ran on the GPUs that the program used, who launched it, and what
 * the program waited for. */
#ifndef PW_CUDA_TOOL_H
#define PW_CUDA_TOOL_H

#include "rank/collect/collector.h"

extern const struct pw_collector pw_collector_cuda;

#endif
