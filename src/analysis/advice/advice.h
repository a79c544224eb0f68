/* What to do about what was measured: rules as rows of one table (advice_table.c), each with a
 * condition, the evidence for it, one concrete next action, and what that would save.
 * docs/advice.md has a section for each, under the rule's name. */
#ifndef PW_ANALYSIS_ADVICE_ADVICE_H
#define PW_ANALYSIS_ADVICE_ADVICE_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/advice/advice_verdict.h"
#include "core/cluster.h"

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
    int is_training; /* phases, loaders or NCCL were seen: only then words are of training */
};

struct pw_advice {
    const char *rule;
    int64_t saves_ns; /* of the measured steps, as if it were done alone; -1: not known */
    char text[512], evidence[256];
    int32_t ranks[PW_ADVICE_RANKS]; /* whom it is about, worst first: the first of nranks */
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

#endif
