/* Collector nvtx, tool half: what applications say through NVTX, as rows of /events/range,
 * /events/payload and /thread_names; and of /steps where nothing else marks steps. */
#ifndef PW_NVTX_TOOL_H
#define PW_NVTX_TOOL_H

#include "rank/collect/collector.h"

extern const struct pw_collector pw_collector_nvtx;

#endif
