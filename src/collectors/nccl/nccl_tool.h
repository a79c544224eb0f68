/* The collector of NCCL, tool half: it owns the communicators of NCCL and the rows of
 * /events/comm, /events/nccl and /events/nccl_net. The intake calls it for each record; kernels it
 * sees as they are written to the file. */
#ifndef PW_NCCL_TOOL_H
#define PW_NCCL_TOOL_H

#include "rank/collect/collector.h"

extern const struct pw_collector pw_collector_nccl;

#endif
