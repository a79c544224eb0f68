/* The tool half of the collector of torch.distributed: joins the records of torch_wrap.c into rows
 * of /events/comm and /comms, of source "gloo". Called by the intake alone. Tool code. */
#ifndef PW_TORCH_TOOL_H
#define PW_TORCH_TOOL_H

#include "rank/collect/collector.h"

extern const struct pw_collector pw_collector_torch;

#endif
