/* The state that imbalance.c, which subtracts differences, shares with imbalancerows.c, which
 * describes them; no other file may include it. It exists during one call of
 * pw_imbalance_find(). */
#ifndef PW_AGGREGATE_FINDINGS_IMBALANCEWORK_H
#define PW_AGGREGATE_FINDINGS_IMBALANCEWORK_H

#include "aggregate/findings/imbalance.h"
#include "analysis/amount.h"
#include "analysis/roles.h"
#include "analysis/statistics.h"

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
