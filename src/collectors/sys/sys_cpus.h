/* The CPUs that the program's main thread may use, and how busy they are with anything: other
 * processes on them keep a rank that is bound there from running. */
#ifndef PW_COLLECTORS_SYS_CPUS_H
#define PW_COLLECTORS_SYS_CPUS_H

#include "rank/collect/collector.h"

struct pw_cpus {
    int status; /* of /proc/PID/status; -1: not readable */
    uint64_t set;
    int64_t busy_ns;  /* of the set, since boot */
    int64_t total_ns; /* of what was the set, since the first sample */
};

/* `root` is before /proc. */
void pw_cpus_open(struct pw_cpus *cpus, const char *root, pid_t pid);
void pw_cpus_close(struct pw_cpus *cpus);

/* Appends a row, from the whole text of /proc/stat; none when it says nothing of single CPUs. */
void pw_cpus_sample(struct pw_cpus *cpus, struct pw_rankfile *file, const char *stat,
                    int64_t tick_ns, int64_t now_ns);

#endif
