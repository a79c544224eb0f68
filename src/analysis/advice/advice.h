/* The verdict (whether a rank held the job back), and advice: what the user can do about the
 * measured losses. Called by aggregate/findings, which stores the advice in the cluster file, and
 * through analysis/figures by all reports. Reads the tables of a cluster and writes text into the
 * caller's memory: no I/O, no allocation.
 *
 * Advice is a table of rules (advice_table.c), each with a condition, the evidence for it, one
 * concrete next action, and what that would save. docs/advice.md has a section for each, under the
 * rule's name. */
#ifndef PW_ANALYSIS_ADVICE_ADVICE_H
#define PW_ANALYSIS_ADVICE_ADVICE_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/advice/advice_unrecorded.h"
#include "analysis/advice/shared.h"
#include "core/cluster.h"

/* The verdict: whether a rank held the job back, or which evidence is missing to decide that.
 * Reports and advice all use this one verdict; docs/metrics.md has its rules as a table. */

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
    PW_WANTING_STEPS,         /* no step is known */
    PW_WANTING_MORE_STEPS,    /* too few steps are known */
    PW_WANTING_WAITS,         /* which ranks kernels of communication are of is not known */
    PW_WANTING_NCCL_TIMES,    /* when NCCL's operations ran is not known */
    PW_WANTING_NCCL_REPLAYS,  /* what NCCL did in replays of CUDA graphs is not known */
    PW_WANTING_CLOCKS,        /* the ranks' clocks are not aligned */
    PW_WANTING_PEERS,         /* a rank with more work is the only one of its role */
};

struct pw_verdict {
    enum pw_verdict_kind kind;
    enum pw_wanting wanting;
    struct pw_unrecorded_sum unrecorded;
    struct pw_nccl_unknown nccl;
    /* The largest certain imbalance that costs 1 % of the measured steps or more; NULL: there is
     * none. */
    const struct pw_row_c_imbalance *imbalance;
    const struct pw_row_c_imbalance *alone; /* the same for roles with a single rank */
    const struct pw_row_c_network *network; /* the one that costs most; NULL: there is none */
    /* The shared loss (enum pw_shared_kind) that costs more than what the verdict names, when it
     * names no rank: reports begin with it. -1: they begin with what the verdict names. */
    int lead;
};

enum { PW_ADVICE_MAX = 55, PW_ADVICE_RANKS = 8 };

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

struct pw_advice {
    const char *rule;
    int64_t saves_ns; /* time saved in the measured steps if only this advice is followed; -1: not
                         known */
    char text[512], evidence[256];
    int32_t ranks[PW_ADVICE_RANKS]; /* ranks that the advice is about, worst first; only the first
                                       of nranks */
    size_t nranks;
};

void pw_advice_prepare(struct pw_advice_input *input);

/* Writes the advice that applies, and returns how many: at least 1. First comes the advice about
 * the end of a job that did not end well; then that about what the verdict names, or about the
 * evidence that it lacks; then that about ranks without a CPU, which explains other losses; then
 * what saves most. */
size_t pw_advice_collect(const struct pw_advice_input *input,
                         struct pw_advice advice[PW_ADVICE_MAX]);

/* True for a program that could not start: it did not end well, within 10 s, and nothing of what it
 * did was recorded. Then only its end is worth a word. */
int pw_ended_at_start(const struct pw_cluster *cluster);

/* saves_ns as a share of the measured steps; -1: not known, or more is saved than they took. */
double pw_advice_share(const struct pw_advice_input *input, const struct pw_advice *advice);

/* Number of valid entries in `ranks`. */
size_t pw_advice_listed(const struct pw_advice *advice);

/* The advice as a row of the cluster file. */
struct pw_row_c_advice pw_advice_row(const struct pw_advice_input *input,
                                     const struct pw_advice *advice);

/* For pw_advice_prepare() only; other callers read input->verdict. */
void pw_verdict_find(const struct pw_advice_input *input, struct pw_verdict *verdict);

/* The names in report.json. A kind has a name such as "unknown", a reason one such as
 * "mpi_not_recorded"; the reason is NULL when no evidence is missing. */
const char *pw_verdict_name(enum pw_verdict_kind kind);
const char *pw_verdict_reason(enum pw_wanting wanting);

#endif
