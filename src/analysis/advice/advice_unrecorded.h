/* What of a job was not recorded at all, from /completeness, and why: the one list of reasons that
 * verdicts, reports and advice speak from. Called by the advice, report/compare and report/live.
 * Losses that are counted record by record are not here. Writes into the caller's memory: no I/O,
 * no allocation. */
#ifndef PW_ANALYSIS_ADVICE_ADVICE_UNRECORDED_H
#define PW_ANALYSIS_ADVICE_ADVICE_UNRECORDED_H

#include <stddef.h>
#include <stdint.h>

#include "core/cluster.h"

enum { PW_UNRECORDED_REASONS = PW_UNRECORDED_SPAWNED + 1 };

struct pw_unrecorded_sum {
    int64_t ranks;                            /* of which MPI calls are missing */
    int64_t by_reason[PW_UNRECORDED_REASONS]; /* ranks; one may have several reasons */
    int64_t spawned;                          /* processes that MPI_Comm_spawn started */
    int64_t gpu_ranks;                        /* whose GPUs were not recorded */
    const struct pw_row_c_completeness *gpu;  /* the first of these; NULL */
    int64_t gpu_processes;                    /* beside those that record, which used GPUs */
    int is_silent;        /* nothing that several ranks took part in was recorded */
    int64_t silent_ranks; /* else: of which nothing was, while others' was */
};

void pw_unrecorded_sum(const struct pw_cluster *cluster, struct pw_unrecorded_sum *sum);

/* True for a rank some of whose MPI calls are missing: its waiting in them looks like its own work.
 */
int pw_unrecorded_has(const struct pw_cluster *cluster, int32_t rank);

/* True for a rank of which no communication was recorded, while others' was. */
int pw_unrecorded_is_silent(const struct pw_cluster *cluster, int32_t rank);

/* The reason of most ranks; NONE when there is none. */
enum pw_unrecorded pw_unrecorded_most(const struct pw_unrecorded_sum *sum);

/* "GPU activity of 2 ranks was not recorded: REASON", into `out`; "" when it was. */
void pw_unrecorded_gpus(const struct pw_unrecorded_sum *sum, char *out, size_t size);

/* Goes after "because", and what to do then; both without a full stop. "" for NONE. */
const char *pw_unrecorded_because(enum pw_unrecorded reason);
const char *pw_unrecorded_remedy(enum pw_unrecorded reason);

/* Operations of NCCL of which too little is known to say who waited, where they are as many as all
 * others or more; else both are 0, and one of them is. */
struct pw_nccl_unknown {
    int64_t untimed;  /* only the enqueueing is known */
    int64_t unplaced; /* kernels in replayed graphs, of which the operations are not known */
};

void pw_advice_nccl_unknown(const struct pw_cluster *cluster, struct pw_nccl_unknown *out);

#endif
