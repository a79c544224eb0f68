/* Losses that the ranks share: waiting for data, transfers that nothing hides, GPUs that the hosts
 * leave idle, too few CPUs, steps in which all ranks were slower, slow transfers between hosts,
 * waits for each other for which no rank is named, and long MPI_Init and MPI_Finalize.
 * The verdict uses their order, and report/content writes their sentences. docs/metrics.md,
 * "Highlights", has the conditions. No I/O, no allocation. */
#ifndef PW_ANALYSIS_ADVICE_SHARED_H
#define PW_ANALYSIS_ADVICE_SHARED_H

#include <stddef.h>
#include <stdint.h>

struct pw_advice_input;

enum pw_shared_kind {
    PW_SHARED_HOST_LATE,
    PW_SHARED_DATA_WAIT,
    PW_SHARED_NO_CPU,
    PW_SHARED_ALL_SLOWER,
    PW_SHARED_NETWORK,
    PW_SHARED_TRANSFERS,
    PW_SHARED_WAITS,
    PW_SHARED_INIT,
    PW_SHARED_FINALIZE,
    PW_SHARED_KINDS,
};

struct pw_shared {
    enum pw_shared_kind kind;
    double share;    /* of a step, of the run, of the GPUs' time or of the replay */
    int where;       /* NO_CPU: enum pw_nocpu_where */
    int64_t ns;      /* time lost, summed over ranks; ALL_SLOWER and NETWORK: of the job */
    int64_t cost_ns; /* what it costs the job, which is the order of the losses */
    int64_t step_ns; /* DATA_WAIT, TRANSFERS and WAITS: the mean of a step */
    int32_t rank;    /* the rank with the largest part; -1: no rank stands out */
    double of_rank;  /* the share of its own time that `rank` lost; -1: no rank */
    int is_least;    /* HOST_LATE: 1: `share` is a lower bound */
    int is_uneven;   /* WAITS: 1: some rank works for longer than the others over all steps */
};

/* Finds the shared losses, the most expensive first. Needs all of `input` but verdict.lead. What
 * the verdict itself names is not among them. Returns how many. */
size_t pw_shared_find(const struct pw_advice_input *input, struct pw_shared out[PW_SHARED_KINDS]);

#endif
