/* The samples of a synthetic rank: /samples/process, /samples/host and /samples/cpus, as the
 * samplers of /proc would have written them of a main thread that runs, spinning in MPI calls too,
 * except where faults stop it; and the queues of its data pipeline. runwrite.c opens one for each
 * rank and reports the faults to it in the order of their times; truth.c asks which operator is
 * slow. It reads no real /proc. */
#ifndef PW_SIM_SAMPLES_H
#define PW_SIM_SAMPLES_H

#include "rank/file/rankfile.h"
#include "sim/params.h"

struct pw_sim_samples {
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

void pw_sim_samples_open(struct pw_sim_samples *os, struct pw_rankfile *file,
                         const struct pw_sim_params *params, const struct pw_sim_clock *clock,
                         int64_t rank);

/* The rank ran up to `start`, and then a fault of this kind had it till `end`. */
void pw_sim_samples_fault(struct pw_sim_samples *os, enum pw_sim_fault_kind kind, int64_t start,
                          int64_t end);

/* It ran up to its end. */
void pw_sim_samples_close(struct pw_sim_samples *os, int64_t end);

/* The data pipeline of a rank: three queues. */
enum { PW_SIM_QUEUES = 3 };

/* What a step finds in queue q when it begins; `time` is local. A starved loader's queues are empty
 * from "ready" on, a slow transfer's "device" is. */
struct pw_row_queue pw_sim_queue_look(const struct pw_sim_params *params, int64_t rank,
                                      int64_t step, int q, int64_t time);

/* The operator that a fault of this kind makes slow, or NULL. */
const char *pw_sim_queue_slowest(enum pw_sim_fault_kind kind);

#endif
