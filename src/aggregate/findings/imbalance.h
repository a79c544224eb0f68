/* Finds work that differs by design, subtracts it from the step trace before the search for
 * stragglers, and describes it in rows of /imbalances. findings.c calls the functions on process 0,
 * in the order below, and searches for stragglers after the first one. No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_IMBALANCE_H
#define PW_AGGREGATE_FINDINGS_IMBALANCE_H

#include "aggregate/findings/amounts.h"
#include "aggregate/findings/rankroles.h"
#include "aggregate/findings/whatif.h"
#include "aggregate/secondpass/matrix.h"
#include "analysis/amount.h"
#include "analysis/roles.h"
#include "analysis/statistics.h"

/* Describes the work that differs by design, in rows of /imbalances and as changes to replay. No
 * MPI, no I/O. */

struct pw_imbalance {
    struct pw_matrix adjusted; /* measured steps without that work; empty: none differs by design */
    struct pw_row_c_imbalance *rows;
    size_t n;
    struct pw_whatif_changes changes; /* for the replay */
    /* Memory that `changes` points to: */
    float *amounts; /* [nsteps * nranks] of the job */
    float *more;    /* more_ns of all `peers` */
    uint8_t *is_slow;
    struct pw_whatif_peer *peers;
    int is_varying; /* 1: work varies from step to step */
    struct pw_varying varying;
};

/* What is known during one call of pw_imbalance_find(). */
struct pw_imbalance_work {
    struct pw_imbalance *out;
    const struct pw_world *world;
    const struct pw_matrix *m;
    const size_t *rows;
    const struct pw_roles *roles;
    struct pw_balance_input balance;
    struct pw_amount_input amount;
    struct pw_balance_role *found; /* [nroles] by work outside communication */
    struct pw_balance_role *other; /* [nroles] by another series */
    int32_t *host_of;
    int64_t *amounts, *series, *scratch;
    double cost;     /* of a unit of amount, ns */
    const char *how; /* source of the amounts: "given", "collectives" or "messages" */
};

/* Finds the imbalances, and fills the adjusted matrix. error_ns[nranks]: bounds of the clock
 * errors. Returns 0 or -ENOMEM. */
int pw_imbalance_find(struct pw_imbalance *out, const struct pw_measured *measured,
                      const struct pw_roles *roles, const struct pw_amounts *amounts,
                      const int64_t *error_ns);

/* When work differs by design: finds how much more work each of the `n` stragglers has than its
 * peers. Returns 0 or -ENOMEM. */
int pw_imbalance_find_peers(struct pw_imbalance *imbalance, const struct pw_measured *measured,
                            const struct pw_straggler_found *found, size_t n);

/* When work varies from step to step: adds the change that balances the work of each step. Called
 * when the stragglers are known. Returns 0 or -ENOMEM. */
int pw_imbalance_share_steps(struct pw_imbalance *imbalance, const struct pw_graph *graph,
                             const struct pw_roles *roles,
                             const struct pw_whatif_stragglers *stragglers);

/* Sets the gain of each row from the replay, scaled to all steps, and sorts the rows by gain,
 * largest first. */
void pw_imbalance_price(struct pw_imbalance *imbalance, const struct pw_whatif *whatif,
                        const struct pw_world *world);

void pw_imbalance_fini(struct pw_imbalance *imbalance);

#endif
