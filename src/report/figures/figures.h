/* What several sections and formats need of a cluster, computed once: counts of what is there and
 * what is missing, and the means over the measured steps. Used by each report, which makes it
 * before it writes. Borrows the cluster; prints nothing. */
#ifndef PW_REPORT_FIGURES_FIGURES_H
#define PW_REPORT_FIGURES_FIGURES_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/advice/advice.h"
#include "core/cluster.h"

/* -1 is "not known" in every figure that is a time or a share. */
struct pw_figures {
    const struct pw_cluster *cluster;

    size_t nranks; /* rows of /ranks */
    int64_t expected, present, unclosed, failed;
    int64_t nhosts;
    int64_t events, dropped_events;
    int64_t clock_error_median_ns, clock_error_max_ns;
    int64_t run_ns;                      /* of the rank that ran longest */
    int64_t overhead_ns, overhead_of_ns; /* sums over the ranks that know both */

    int64_t measured, warmup; /* steps */
    int64_t first_step, last_step;
    int64_t step_mean_ns, step_min_ns, step_max_ns;

    int is_silent;        /* no communication between several ranks was recorded */
    int has_silent_ranks; /* nor that of some: their waits are not known */

    /* Per row of /ranks, means over the measured steps in which the value is known. */
    struct pw_row_c_step_trace *trace;
    struct pw_row_c_phase_trace *phases;
    int64_t *samples;                      /* measured steps whose total is known */
    struct pw_row_c_step_trace trace_mean; /* over ranks and steps */
    struct pw_row_c_phase_trace phase_mean;
    double wait_share, data_wait_share; /* of the mean step */
};

/* `cluster` must outlive the figures. 0 or -ENOMEM. */
int pw_figures_create(const struct pw_cluster *cluster, struct pw_figures **out);
void pw_figures_destroy(struct pw_figures *figures);

/* The row for the measured steps; NULL when it is unknown: without steps, or without communication.
 */
const struct pw_row_c_efficiency *pw_figures_efficiency(const struct pw_figures *figures);

/* Row `step` of the step trace, a cell a rank; NULL where there are no ranks. */
const struct pw_row_c_step_trace *pw_figures_borrow_cells(const struct pw_figures *figures,
                                                          size_t step);

/* The mean over ranks of row `step` of the step trace. */
void pw_figures_mean_ranks(const struct pw_figures *figures, size_t step,
                           struct pw_row_c_step_trace *mean);

/* part / whole, or -1 when either is not known or `whole` is 0. */
double pw_figures_share(int64_t part, int64_t whole);

/* True when part of what the rank of this row did is missing: its figures cover only what was
 * recorded. */
int pw_figures_is_lossy(const struct pw_figures *figures, size_t row);

/* The row of /ranks of a world rank, or -1. */
int64_t pw_figures_row(const struct pw_figures *figures, int64_t rank);

/* True when a time that was measured between two ranks' clocks is known but within their error. */
int pw_figures_is_unresolved(const struct pw_figures *figures, int64_t ns);

/* True for a collective that runs beside other work: its transfer includes that. */
int pw_figures_is_nonblocking(uint32_t op);

/* The input of the rules of advice. */
struct pw_advice_input pw_figures_advice(const struct pw_figures *figures);

/* Rows of a table in descending order of a key, equal ones as they are in it; the caller frees
 * *ordered. 0 or -ENOMEM. */
typedef double pw_figures_key(const struct pw_figures *figures, size_t row);
int pw_figures_order(const struct pw_figures *figures, size_t count, pw_figures_key *key,
                     size_t **ordered);

/* Rows of tables in the order in which reports show them, ordered[0] first. Both return 0 or
 * -ENOMEM; the caller frees *ordered. */
int pw_figures_order_p2p(const struct pw_figures *figures, size_t **ordered);         /* bytes */
int pw_figures_order_collectives(const struct pw_figures *figures, size_t **ordered); /* time */
int pw_figures_order_ranks(const struct pw_figures *figures, size_t **ordered);       /* own time */

#endif
