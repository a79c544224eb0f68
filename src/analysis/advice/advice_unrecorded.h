/* What was not recorded of a job, and why, from /completeness. Verdicts, reports and advice all use
 * this list of reasons. Called by the advice, report/compare and report/live. Dropped events, which
 * are counted, are not here. Writes into the caller's memory: no I/O, no allocation. */
#ifndef PW_ANALYSIS_ADVICE_ADVICE_UNRECORDED_H
#define PW_ANALYSIS_ADVICE_ADVICE_UNRECORDED_H

#include <stddef.h>
#include <stdint.h>

#include "core/cluster.h"

enum { PW_UNRECORDED_REASONS = PW_UNRECORDED_SPAWNED + 1 };

struct pw_unrecorded_sum {
    int64_t ranks;                            /* ranks some of whose MPI calls are missing */
    int64_t by_reason[PW_UNRECORDED_REASONS]; /* ranks; one may have several reasons */
    int64_t spawned;                          /* processes that MPI_Comm_spawn started */
    int64_t gpu_ranks;                        /* ranks whose GPUs were not recorded */
    /* the row of the first of these; NULL: there is none */
    const struct pw_row_c_completeness *gpu;
    int64_t gpu_processes; /* child processes that used GPUs and were not recorded */
    int is_silent;         /* no communication between ranks was recorded */
    int64_t silent_ranks;  /* without is_silent: ranks without recorded communication, while other
                              ranks have some */
};

void pw_unrecorded_sum(const struct pw_cluster *cluster, struct pw_unrecorded_sum *sum);

/* True when MPI calls of the rank are missing. Then its waiting in them looks like its own work. */
int pw_unrecorded_has(const struct pw_cluster *cluster, int32_t rank);

/* True when no communication of the rank was recorded, while that of other ranks was. */
int pw_unrecorded_is_silent(const struct pw_cluster *cluster, int32_t rank);

/* The reason that the row's `what` names; PW_UNRECORDED_NONE when it names no reason. */
enum pw_unrecorded pw_unrecorded_reason_of(const struct pw_row_c_completeness *row);

/* The reason that most ranks have; PW_UNRECORDED_NONE when MPI calls of all ranks were recorded. */
enum pw_unrecorded pw_unrecorded_most(const struct pw_unrecorded_sum *sum);

/* Writes "GPU activity of 2 ranks was not recorded: REASON" into `out`; "" when all was
 * recorded. */
void pw_unrecorded_gpus(const struct pw_unrecorded_sum *sum, char *out, size_t size);

/* The reason as the words after "because", and the remedy, both without a full stop. "" for
 * PW_UNRECORDED_NONE. */
const char *pw_unrecorded_because(enum pw_unrecorded reason);
const char *pw_unrecorded_remedy(enum pw_unrecorded reason);

/* Operations of NCCL about which too little is known to say which rank waited. At most one member
 * is above 0: the larger one, and only when these operations are at least as many as all others. */
struct pw_nccl_unknown {
    int64_t untimed;   /* only the enqueueing is known */
    int64_t unplaced;  /* kernels in replayed graphs whose operations are not known */
    int64_t unmatched; /* kernels of communication of which is not told which ranks they are of */
};

void pw_advice_nccl_unknown(const struct pw_cluster *cluster, struct pw_nccl_unknown *out);

#endif
