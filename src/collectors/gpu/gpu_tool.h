/* The collector of GPUs, tool half: it owns the rows of what ran on GPUs, of who launched it, and
 * of what the program waited for. The intake calls it for each record, whichever maker's GPU it is
 * of. What only one maker has is behind gpu_vendor.h. */
#ifndef PW_GPU_TOOL_H
#define PW_GPU_TOOL_H

#include "rank/collect/collector.h"

extern const struct pw_collector pw_collector_gpu;

#endif
