/* How long the kernels and the operations between devices of a rank ran in each step: the figures
 * that msprof-analyze and the profiler's own step_trace_time.csv have, computed from the imported
 * events. rankwrite.c adds steps and, in the order of their starts, device records;
 * msprof.c reads the sums. Nothing of it is in rank files, because the merge computes
 * /gpu_trace from them.
 */
#ifndef PW_IMPORT_STEPSUMS_H
#define PW_IMPORT_STEPSUMS_H

#include <stddef.h>
#include <stdint.h>

struct pw_stepsum {
    int64_t step, start, end; /* ns */
    int64_t computing_ns, comm_ns, exposed_ns;
    int crossed; /* tasks cross a border of the step: theirs are not divided there */
};

/* Sums of /hccl/times by step. */
struct pw_hcclsum {
    int64_t step, elapsed_ns, transfer_ns, wait_ns, sync_ns, operations;
};

/* Sums of /hccl/links by link: src is the rank. */
struct pw_linksum {
    int32_t src, dst;
    int64_t bytes, transfer_ns, rows;
};

struct pw_stepsums {
    struct pw_stepsum *steps; /* in the order of time */
    size_t nsteps, steps_capacity;
    struct pw_hcclsum *operations;
    size_t noperations, operations_capacity;
    struct pw_linksum *links;
    size_t nlinks, links_capacity;
    size_t at;                                /* of `steps`: those before have ended */
    int64_t now, computing_until, comm_until; /* where the pass over the events is */
    int failed;                               /* memory was short */
};

/* A window begins: its times may be before those of the last one's. */
void pw_stepsums_begin(struct pw_stepsums *sums);
void pw_stepsums_add_step(struct pw_stepsums *sums, int64_t step, int64_t start, int64_t end);
void pw_stepsums_add_task(struct pw_stepsums *sums, int is_comm, int64_t start, int64_t end);
void pw_stepsums_end(struct pw_stepsums *sums);

/* Return the sums of a step, or of a link, which are made if there are none; NULL: memory is short.
 */
struct pw_hcclsum *pw_stepsums_operations(struct pw_stepsums *sums, int64_t step);
struct pw_linksum *pw_stepsums_link(struct pw_stepsums *sums, int32_t src, int32_t dst);

void pw_stepsums_fini(struct pw_stepsums *sums);

#endif
