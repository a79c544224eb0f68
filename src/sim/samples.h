/* /samples/process and /samples/host of a synthetic rank: what the samplers of /proc would have
 * written of a main thread that runs, spinning in MPI calls too, but for where faults say else. */
#ifndef PW_SIM_OSFILE_H
#define PW_SIM_OSFILE_H

#include "rank/file/rankfile.h"
#include "sim/clock.h"
#include "sim/kinds.h"

struct pw_sim_osfile {
    struct pw_rankfile *file;
    const struct pw_sim_params *params;
    const struct pw_sim_clock *clock;
    int64_t rank;
    int64_t at, next; /* counted up to; when the next sample is due */
    /* Cumulative. */
    int64_t run_ns, ready_ns, throttled_ns, stolen_ns, off_ns, disk_ns, fault_ns;
    int64_t voluntary, involuntary, samples;
    int faults; /* what the disk reads are pages of the program */
};

void pw_sim_osfile_open(struct pw_sim_osfile *os, struct pw_rankfile *file,
                        const struct pw_sim_params *params, const struct pw_sim_clock *clock,
                        int64_t rank);

/* The rank ran up to `start`, and then a fault of this kind had it till `end`. */
void pw_sim_osfile_fault(struct pw_sim_osfile *os, enum pw_sim_fault_kind kind, int64_t start,
                         int64_t end);

/* It ran up to its end. */
void pw_sim_osfile_close(struct pw_sim_osfile *os, int64_t end);

#endif
