/* What to do about what was measured, and before it the verdict: whether a rank held the job back.
 * Called by aggregate/findings, which stores the advice in the cluster file, and through
 * report/figures by all reports. Reads the tables of a cluster and writes text into the caller's
 * memory: no I/O, no allocation.
 *
 * Advice is a table of rules (advice_table.c), each with a condition, the evidence for it, one
 * concrete next action, and what that would save. docs/advice.md has a section for each, under the
 * rule's name. */
#ifndef PW_ANALYSIS_ADVICE_ADVICE_H
#define PW_ANALYSIS_ADVICE_ADVICE_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/advice/advice_unrecorded.h"
#include "core/cluster.h"

/* Whether a rank held the job back, and which evidence is missing where that cannot be said.
 * Decided here alone, for every kind of report and for advice; docs/metrics.md has the same as a
 * table. */

enum pw_verdict_kind {
    PW_VERDICT_HELD_BACK,   /* by the first straggler */
    PW_VERDICT_ALL_SLOWER,  /* by none as much as by steps in which all ranks were slower */
    PW_VERDICT_IMBALANCE,   /* by work that differs by design: the largest loss */
    PW_VERDICT_NETWORK,     /* by slow transfers between hosts: the largest loss */
    PW_VERDICT_NONE,        /* by no rank: there was enough evidence, and it is against none */
    PW_VERDICT_SINGLE_RANK, /* there is no other rank to hold back */
    PW_VERDICT_UNKNOWN,
};

/* Which evidence is missing when the verdict is UNKNOWN. */
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

enum { PW_ADVICE_MAX = 50, PW_ADVICE_RANKS = 8 };

/* The caller sets the first three; pw_advice_prepare() finds the others. */
struct pw_advice_input {
    const struct pw_cluster *cluster;
    /* Means over the measured steps: of each row of /ranks, and over ranks too; -1: not known. */
    const struct pw_row_c_step_trace *trace;
    struct pw_row_c_step_trace mean;

    int64_t expected, present, unclosed, dropped_events;
    int64_t measured, step_mean_ns; /* steps */
    int64_t clock_error_max_ns;     /* -1: some rank's is not known */
    int64_t overhead_ns, overhead_of_ns;
    struct pw_verdict verdict;
    int is_training; /* phases, loaders or NCCL were seen: texts may speak of training */
};

struct pw_advice {
    const char *rule;
    int64_t saves_ns; /* of the measured steps, as if it were done alone; -1: not known */
    char text[512], evidence[256];
    int32_t ranks[PW_ADVICE_RANKS]; /* about these, worst first; the first of nranks */
    size_t nranks;
};

void pw_advice_prepare(struct pw_advice_input *input);

/* Writes the advice that applies, what saves most first, and returns how many: at least 1. */
size_t pw_advice_collect(const struct pw_advice_input *input,
                         struct pw_advice advice[PW_ADVICE_MAX]);

/* saves_ns as a share of the measured steps, or -1. */
double pw_advice_share(const struct pw_advice_input *input, const struct pw_advice *advice);

/* How many of `ranks` are there. */
size_t pw_advice_listed(const struct pw_advice *advice);

/* As a row of the cluster file. */
struct pw_row_c_advice pw_advice_row(const struct pw_advice_input *input,
                                     const struct pw_advice *advice);

/* For pw_advice_prepare() only; other callers read input->verdict. */
void pw_verdict_find(const struct pw_advice_input *input, struct pw_verdict *verdict);

/* As in JSON: "unknown"; "mpi_not_recorded", NULL when nothing is missing. */
const char *pw_verdict_name(enum pw_verdict_kind kind);
const char *pw_verdict_reason(enum pw_wanting wanting);

#endif
