/* Collector host: samples of the machine and of the process's cgroup, taken by the collector
 * process.
 */
#ifndef PW_SYS_HOST_H
#define PW_SYS_HOST_H

#include "rank/collect/collector.h"

extern const struct pw_collector pw_collector_host;

#endif
