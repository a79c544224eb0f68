/* Describes the work that differs by design, in rows of /imbalances and as changes to replay.
 * Called by imbalance.c only, which finds and subtracts the differences. No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_IMBALANCEROWS_H
#define PW_AGGREGATE_FINDINGS_IMBALANCEROWS_H

#include "aggregate/findings/rankroles.h"
#include "aggregate/findings/whatif.h"
#include "aggregate/secondpass/matrix.h"
#include "analysis/amount.h"
#include "analysis/roles.h"
#include "analysis/statistics.h"

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

/* Makes the rows and the changes to replay, after amounts and roles were subtracted. Returns 0 or
 * -ENOMEM. */
int pw_imbalance_describe(struct pw_imbalance_work *work);

/* Finds whether work varies from step to step; uses only `out`, `world` and `m`. Returns 0 or
 * -ENOMEM. */
int pw_imbalance_find_varying(struct pw_imbalance_work *work);

/* Adds a row about the varying work that was found, when no amounts explain it. */
void pw_imbalance_describe_varying(struct pw_imbalance_work *work);

#endif
