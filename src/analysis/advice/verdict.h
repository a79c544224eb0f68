/* The verdict: whether a rank held the job back, or which evidence is missing to decide that, and
 * the losses that the ranks share. Used by the rules of advice and by all reports: they have this
 * one verdict; docs/metrics.md has its rules as a table. Reads the tables of a cluster, writes into
 * the caller's memory: no I/O, no allocation. */
#ifndef PW_ANALYSIS_ADVICE_VERDICT_H
#define PW_ANALYSIS_ADVICE_VERDICT_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/advice/advice_unrecorded.h"
#include "core/cluster.h"

enum pw_verdict_kind {
    PW_VERDICT_HELD_BACK,   /* the first straggler held the job back */
    PW_VERDICT_ALL_SLOWER,  /* steps in which all ranks were slower cost more than any straggler */
    PW_VERDICT_IMBALANCE,   /* work that differs by design is the largest loss */
    PW_VERDICT_NETWORK,     /* slow transfers between hosts are the largest loss */
    PW_VERDICT_NONE,        /* the evidence is complete, and no rank held the job back */
    PW_VERDICT_SINGLE_RANK, /* there is no other rank to hold back */
    PW_VERDICT_UNKNOWN,
};

/* Which evidence is missing when the verdict is UNKNOWN. */
enum pw_wanting {
    PW_WANTING_NOTHING,
    PW_WANTING_RANKS,         /* no usable file */
    PW_WANTING_RECORDED_MPI,  /* MPI calls of some rank were not recorded */
    PW_WANTING_COMMUNICATION, /* nothing between ranks was recorded */
    PW_WANTING_ALL_RANKS,     /* some ranks left no usable file */
    PW_WANTING_SPAWNED,       /* the ranks wait for processes that they started */
    PW_WANTING_STEPS,         /* no step is known */
    PW_WANTING_MORE_STEPS,    /* too few steps are known */
    PW_WANTING_WAITS,         /* which ranks kernels of communication are of is not known */
    PW_WANTING_NCCL_TIMES,    /* when NCCL's operations ran is not known */
    PW_WANTING_NCCL_REPLAYS,  /* what NCCL did in replays of CUDA graphs is not known */
    PW_WANTING_CLOCKS,        /* the ranks' clocks are not aligned */
    PW_WANTING_BLOCKING,      /* ranks poll for their requests, and then look busy */
    PW_WANTING_PEERS,         /* a rank with more work is the only one of its role */
};

/* The wait of recorded ranks for others, in blocking collectives of which not all members were
 * recorded: from the moment when the last recorded member has entered until the first leaves. */
struct pw_partners {
    int64_t wait_ns; /* of a measured step; 0: too little to be said */
    int is_sure;     /* 1: transfers of so few bytes do not take that long */
};

struct pw_verdict {
    enum pw_verdict_kind kind;
    enum pw_wanting wanting;
    struct pw_unrecorded_sum unrecorded;
    struct pw_nccl_unknown nccl;
    struct pw_partners partners;
    /* The largest certain imbalance that costs 1 % of the measured steps or more; NULL: there is
     * none. */
    const struct pw_row_c_imbalance *imbalance;
    const struct pw_row_c_imbalance *alone; /* the same for roles with a single rank */
    const struct pw_row_c_network *network; /* the one that costs most; NULL: there is none */
    /* The shared loss (enum pw_shared_kind) that costs more than what the verdict names, when it
     * names no rank: reports begin with it. -1: they begin with what the verdict names. */
    int lead;
};

/* The caller sets cluster, trace and mean; pw_advice_prepare() fills in the other members. */
struct pw_advice_input {
    const struct pw_cluster *cluster;
    /* Means over the measured steps; -1: not known. `trace`: of the rank in each row of /ranks.
     * `mean`: of all ranks. */
    const struct pw_row_c_step_trace *trace;
    struct pw_row_c_step_trace mean;

    int64_t expected, present, unclosed, dropped_events;
    int64_t measured, step_mean_ns; /* steps */
    int64_t clock_error_max_ns;     /* -1: the clock error of some rank is not known */
    int64_t overhead_ns, overhead_of_ns;
    struct pw_verdict verdict;
    int is_training; /* phases, loaders or NCCL were seen: texts may speak of training */
};

void pw_advice_prepare(struct pw_advice_input *input);

/* The names in report.json. A kind has a name such as "unknown", a reason one such as
 * "mpi_not_recorded"; the reason is NULL when no evidence is missing. */
const char *pw_verdict_name(enum pw_verdict_kind kind);
const char *pw_verdict_reason(enum pw_wanting wanting);

/* True when the evidence for a verdict is complete, and it names neither a rank nor work that
 * differs by design. */
int pw_advice_is_unnamed(const struct pw_advice_input *input);

/* False when some rank works for longer than the others over all steps. */
int pw_advice_is_balanced(const struct pw_advice_input *input);

/* The gain of the replay with this scope, ns; -1 when it was not replayed. */
int64_t pw_advice_whatif_gain(const struct pw_advice_input *input, const char *scope);

/* What the job would save without any of its stragglers, ns; -1: not known, or hardly more than
 * without the first one. */
int64_t pw_advice_together_gain(const struct pw_advice_input *input);

/* True for a nonblocking collective: it runs beside other work, which its time includes. */
int pw_advice_is_nonblocking(uint32_t op);

/* Converts ns of a step to ns of all measured steps; -1 stays -1. */
int64_t pw_advice_of_all_steps(const struct pw_advice_input *input, double ns);

/* Losses that the ranks share: waiting for data, transfers that nothing hides, GPUs that the hosts
 * leave idle, too few CPUs, steps in which all ranks were slower, slow transfers between hosts,
 * waits for each other for which no rank is named, and long MPI_Init and MPI_Finalize.
 * The verdict uses their order, and report/content writes their sentences. docs/metrics.md,
 * "Highlights", has the conditions. */

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
    int is_ordered;  /* WAITS: 1: balanced work would gain little */
    int is_doubtful; /* WAITS: 1: what the replay says of equal work contradicts itself */
    int is_quota;    /* NO_CPU: 1: a CPU quota stopped the ranks */
};

/* Whether the program completes most of its requests by tests (completeness, requests_polled). */
int pw_advice_is_polled(const struct pw_cluster *cluster);

/* Finds the shared losses, the most expensive first. Needs all of `input` but verdict.lead. What
 * the verdict itself names is not among them. Returns how many. */
size_t pw_shared_find(const struct pw_advice_input *input, struct pw_shared out[PW_SHARED_KINDS]);

#endif
