/* The columns of the tables of samples that are metrics of an archive, with their names. Used by
 * values.c. A column of -1 is not known, and is not written. Constants only. */
#ifndef PW_OTF2_VALUES_H
#define PW_OTF2_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include <otf2/otf2.h>

#include "core/tables.h"

/* C(table, field, mode, unit, name). A metric of a GPU has "GPU N " before its name. */
#define PW_OTF2_COLUMNS(C)                                                              \
    C(process, cpu_user_ns, ACCUMULATED_START, "ns", "CPU time, user")                  \
    C(process, cpu_sys_ns, ACCUMULATED_START, "ns", "CPU time, system")                 \
    C(process, rss_bytes, ABSOLUTE_POINT, "bytes", "resident memory")                   \
    C(process, minor_faults, ACCUMULATED_START, "#", "minor faults")                    \
    C(process, major_faults, ACCUMULATED_START, "#", "major faults")                    \
    C(process, voluntary_cs, ACCUMULATED_START, "#", "context switches, voluntary")     \
    C(process, involuntary_cs, ACCUMULATED_START, "#", "context switches, involuntary") \
    C(process, runq_wait_ns, ACCUMULATED_START, "ns", "ready without a CPU")            \
    C(process, read_bytes, ACCUMULATED_START, "bytes", "bytes read")                    \
    C(process, write_bytes, ACCUMULATED_START, "bytes", "bytes written")                \
    C(process, threads, ABSOLUTE_POINT, "#", "threads")                                 \
    C(process, main_cpu_ns, ACCUMULATED_START, "ns", "CPU time, main thread")           \
    C(host, busy_ns, ACCUMULATED_START, "ns", "host, busy")                             \
    C(host, idle_ns, ACCUMULATED_START, "ns", "host, idle")                             \
    C(host, steal_ns, ACCUMULATED_START, "ns", "host, stolen")                          \
    C(host, throttled_ns, ACCUMULATED_START, "ns", "cgroup throttled")                  \
    C(gpu, sm_clock_mhz, ABSOLUTE_POINT, "MHz", "SM clock")                             \
    C(gpu, memory_clock_mhz, ABSOLUTE_POINT, "MHz", "memory clock")                     \
    C(gpu, power_mw, ABSOLUTE_POINT, "mW", "power")                                     \
    C(gpu, temperature_c, ABSOLUTE_POINT, "C", "temperature")                           \
    C(gpu, busy_percent, ABSOLUTE_POINT, "%", "use")                                    \
    C(gpu, memory_used_bytes, ABSOLUTE_POINT, "bytes", "memory used")

struct pw_otf2_column {
    int table;
    size_t offset, size;
    OTF2_MetricMode mode;
    const char *unit, *name;
};
extern const struct pw_otf2_column pw_otf2_columns[];
extern const size_t pw_otf2_ncolumns;

/* Metrics of what the program told, by profwrap.h. */
#define PW_OTF2_QUEUE "queue "
#define PW_OTF2_MEMORY "allocated memory "
#define PW_OTF2_WORK "work"
#define PW_OTF2_FLOPS "FLOPs"

#endif
