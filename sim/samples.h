/* The samples of a synthetic rank: /samples/process, /samples/host and /samples/cpus, and the
 * queues of its data pipeline. They are as the samplers of /proc would write them for a main thread
 * that always runs, also in MPI calls, except while a fault stops it. runwrite.c opens one struct
 * for each rank and reports the faults in order of time; truth.c calls it for the slow operator of
 * a fault. It does not read /proc. */
#ifndef PW_SIM_SAMPLES_H
#define PW_SIM_SAMPLES_H

#include "rank/file/rankfile.h"
#include "sim/params.h"

struct pw_sim_samples {
    struct pw_rankfile *file;
    const struct pw_sim_params *params;
    const struct pw_sim_clock *clock;
    int64_t rank;
    int64_t at, next; /* time up to which the counters are valid; time of the next sample */
    /* Cumulative counters. */
    int64_t run_ns, ready_ns, throttled_ns, stolen_ns, off_ns, disk_ns, fault_ns;
    int64_t voluntary, involuntary, samples;
    int faults; /* 1: the disk reads are page faults */
};

void pw_sim_samples_open(struct pw_sim_samples *os, struct pw_rankfile *file,
                         const struct pw_sim_params *params, const struct pw_sim_clock *clock,
                         int64_t rank);

/* Adds that the rank ran up to `start`, and was in the state of this kind of fault until `end`. */
void pw_sim_samples_fault(struct pw_sim_samples *os, enum pw_sim_fault_kind kind, int64_t start,
                          int64_t end);

/* Adds that the rank ran until `end`, and writes the last samples. */
void pw_sim_samples_close(struct pw_sim_samples *os, int64_t end);

/* The data pipeline of a rank: three queues. */
enum { PW_SIM_QUEUES = 3 };

/* Returns the sample of queue q at the begin of a step; `time` is local. With a starved loader, the
 * queues from "ready" on are empty; with a slow transfer, only "device". */
struct pw_row_queue pw_sim_queue_look(const struct pw_sim_params *params, int64_t rank,
                                      int64_t step, int q, int64_t time);

/* The operator that a fault of this kind makes slow, or NULL. */
const char *pw_sim_queue_slowest(enum pw_sim_fault_kind kind);

#endif
