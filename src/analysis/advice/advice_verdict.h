/* Whether a rank held the job back, and which evidence is wanting where that cannot be said:
 * decided here alone, for every kind of report and for advice. docs/metrics.md has the same as a
 * table. */
#ifndef PW_ANALYSIS_ADVICE_ADVICE_VERDICT_H
#define PW_ANALYSIS_ADVICE_ADVICE_VERDICT_H

#include "analysis/advice/advice_unrecorded.h"

enum pw_verdict_kind {
    PW_VERDICT_HELD_BACK,   /* by the first straggler */
    PW_VERDICT_ALL_SLOWER,  /* by none as much as by steps in which all ranks were slower */
    PW_VERDICT_IMBALANCE,   /* by work that differs by design: the largest loss */
    PW_VERDICT_NETWORK,     /* by slow transfers between hosts: the largest loss */
    PW_VERDICT_NONE,        /* by nobody: there was evidence, and it is against nobody */
    PW_VERDICT_SINGLE_RANK, /* there is nobody to hold back */
    PW_VERDICT_UNKNOWN,
};

/* What is wanting when it is UNKNOWN. */
enum pw_wanting {
    PW_WANTING_NOTHING,
    PW_WANTING_RANKS,         /* no usable file */
    PW_WANTING_RECORDED_MPI,  /* MPI calls of some rank were not recorded */
    PW_WANTING_COMMUNICATION, /* nothing between ranks was recorded */
    PW_WANTING_ALL_RANKS,     /* some left no usable file */
    PW_WANTING_STEPS,         /* no step is known */
    PW_WANTING_MORE_STEPS,    /* too few are */
    PW_WANTING_NCCL_TIMES,    /* when NCCL's operations ran is not known */
    PW_WANTING_NCCL_REPLAYS,  /* what NCCL did in replays of CUDA graphs is not known */
    PW_WANTING_CLOCKS,        /* they are not aligned */
    PW_WANTING_PEERS,         /* a rank with more work is the only one of its role */
};

struct pw_verdict {
    enum pw_verdict_kind kind;
    enum pw_wanting wanting;
    struct pw_unrecorded_sum unrecorded;
    struct pw_nccl_unknown nccl;
    /* The largest that costs a hundredth of the measured steps or more; NULL: there is none. */
    const struct pw_row_c_imbalance *imbalance;
    const struct pw_row_c_imbalance *alone; /* the same of roles of one rank */
    const struct pw_row_c_network *network; /* the one that costs most; NULL: there is none */
};

struct pw_advice_input;

/* Of an input that pw_advice_prepare() fills; by it alone, others have input->verdict. */
void pw_verdict_find(const struct pw_advice_input *input, struct pw_verdict *verdict);

/* As in JSON: "unknown"; "mpi_not_recorded", NULL when nothing is wanting. */
const char *pw_verdict_name(enum pw_verdict_kind kind);
const char *pw_verdict_reason(enum pw_wanting wanting);

#endif
