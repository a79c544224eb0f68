/* Collector null, tool half: a worked example to copy; see docs/HOWTO_add_collector.md. It counts
 * the marks that the application made with pw_null_mark() and the samples that it was asked for. */
#ifndef PW_NULL_TOOL_H
#define PW_NULL_TOOL_H

#include "rank/collect/collector.h"

extern const struct pw_collector pw_collector_null;

#endif
