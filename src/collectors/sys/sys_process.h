/* Collector sys: samples of /proc/PID, taken by the collector process. */
#ifndef PW_SYS_PROCESS_H
#define PW_SYS_PROCESS_H

#include "rank/collect/collector.h"

extern const struct pw_collector pw_collector_sys;

#endif
