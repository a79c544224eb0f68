/* The tool half of collector nccl: communicators, and rows of /events/comm, /events/nccl and
 * /events/nccl_net. */
#ifndef PW_NCCL_TOOL_H
#define PW_NCCL_TOOL_H

#include "rank/collect/collector.h"

extern const struct pw_collector pw_collector_nccl;

#endif
