/* Figures that several sections and formats of a report need, computed once: counts of present and
 * missing data, and means over the measured steps. Used by each report, which creates them before
 * it writes. Borrows the cluster; prints nothing. */
#ifndef PW_ANALYSIS_FIGURES_FIGURES_H
#define PW_ANALYSIS_FIGURES_FIGURES_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/advice/advice.h"
#include "core/cluster.h"

/* -1 is "not known" in every figure that is a time or a share. */
struct pw_figures {
    const struct pw_cluster *cluster;

    size_t nranks; /* number of rows of /ranks */
    int64_t expected, present, unclosed, failed;
    int64_t nhosts;
    int64_t events, dropped_events;
    int64_t clock_error_median_ns, clock_error_max_ns;
    int64_t run_ns;                      /* longest run of a rank */
    int64_t overhead_ns, overhead_of_ns; /* sums over the ranks for which both are known */

    int64_t measured, warmup; /* steps */
    int64_t first_step, last_step;
    int64_t step_mean_ns, step_min_ns, step_max_ns;

    int is_silent;        /* 1: no communication between ranks was recorded */
    int has_silent_ranks; /* 1: no communication of some ranks was recorded, so their waits are
                             unknown */

    /* For each row of /ranks: means over the measured steps in which a value is known. */
    struct pw_row_c_step_trace *trace;
    struct pw_row_c_phase_trace *phases;
    int64_t *samples;                      /* number of measured steps with a known total */
    struct pw_row_c_step_trace trace_mean; /* means over ranks and steps */
    struct pw_row_c_phase_trace phase_mean;
    double wait_share, data_wait_share; /* shares of the mean step */
};

/* True when the cluster file has the means of its ranks, so that figures need no table by step and
 * rank. */
int pw_figures_has_means(const struct pw_cluster *cluster);

/* Computes the figures; `cluster` must outlive them. Returns 0 or -ENOMEM. */
int pw_figures_create(const struct pw_cluster *cluster, struct pw_figures **out);
void pw_figures_destroy(struct pw_figures *figures);

/* Returns the row of /efficiency; NULL when it is unknown: without steps, or without recorded
 * communication. */
const struct pw_row_c_efficiency *pw_figures_efficiency(const struct pw_figures *figures);

/* Computes the mean over ranks of row `step` of the step trace. */
void pw_figures_mean_ranks(const struct pw_figures *figures, size_t step,
                           struct pw_row_c_step_trace *mean);

/* Returns part / whole, or -1 when either is not known or `whole` is 0. */
double pw_figures_share(int64_t part, int64_t whole);

/* True when records of the rank of this row are missing. Its figures cover only what was
 * recorded. */
int pw_figures_is_lossy(const struct pw_figures *figures, size_t row);

/* Returns the row of /ranks of a world rank, or -1. */
int64_t pw_figures_row(const struct pw_figures *figures, int64_t rank);

/* True when a time between two ranks' clocks is known, but not larger than the clock error. */
int pw_figures_is_unresolved(const struct pw_figures *figures, int64_t ns);

/* Returns the input of the rules of advice. */
struct pw_advice_input pw_figures_advice(const struct pw_figures *figures);

/* Orders n rows of a table by a key, largest first, equal ones in file order. *ordered (malloc'ed)
 * gets the row numbers. Returns 0 or -ENOMEM. */
typedef double pw_figures_key(const struct pw_figures *figures, size_t row);
int pw_figures_order(const struct pw_figures *figures, size_t count, pw_figures_key *key,
                     size_t **ordered);

/* Order the rows of tables as reports show them, ordered[0] first. All return 0 or -ENOMEM; the
 * caller frees *ordered. */
int pw_figures_order_p2p(const struct pw_figures *figures, size_t **ordered);         /* by bytes */
int pw_figures_order_collectives(const struct pw_figures *figures, size_t **ordered); /* time */
int pw_figures_order_ranks(const struct pw_figures *figures, size_t **ordered); /* by own time */
int pw_figures_order_hccl_links(const struct pw_figures *figures, size_t **ordered); /* slowness */

/* Returns how many times as long as usual a link of HCCL takes for its bytes; -1: not known. */
double pw_figures_hccl_slowness(const struct pw_figures *figures, size_t row);

#endif
