/* Work that differs by design: taken out of the step trace before stragglers are looked for, and
 * described as what it is (rows of /imbalances). Called by findings.c on process 0, in the order of
 * the functions below; stragglers are found after the first. No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_IMBALANCE_H
#define PW_AGGREGATE_FINDINGS_IMBALANCE_H

#include "aggregate/findings/amounts.h"
#include "aggregate/findings/rankroles.h"
#include "aggregate/findings/whatif.h"
#include "aggregate/secondpass/matrix.h"
#include "analysis/amount.h"

struct pw_imbalance {
    struct pw_matrix adjusted; /* of the measured steps; empty: nothing differs by design */
    struct pw_row_c_imbalance *rows;
    size_t n;
    struct pw_whatif_changes changes; /* for the replay */
    /* Behind `changes`: */
    float *amounts; /* [nsteps * nranks] of the job */
    float *more;    /* of `peers` */
    uint8_t *is_slow;
    struct pw_whatif_peer *peers;
    int is_varying; /* work varies from step to step */
    struct pw_varying varying;
};

/* `error_ns` are the bounds of the ranks' clock errors. 0 or -ENOMEM. */
int pw_imbalance_find(struct pw_imbalance *out, const struct pw_measured *measured,
                      const struct pw_roles *roles, const struct pw_amounts *amounts,
                      const int64_t *error_ns);

/* What each of `n` stragglers has more than its peers, where work differs by design. 0 or -ENOMEM.
 */
int pw_imbalance_find_peers(struct pw_imbalance *imbalance, const struct pw_measured *measured,
                            const struct pw_straggler_found *found, size_t n);

/* Where work varies: what sharing each step's out evenly would be, once it is known which ranks are
 * slow. 0 or -ENOMEM. */
int pw_imbalance_share_steps(struct pw_imbalance *imbalance, const struct pw_graph *graph,
                             const struct pw_roles *roles,
                             const struct pw_whatif_stragglers *stragglers);

/* Takes the gains from the replay, as if the steps that it has not were like those that it has, and
 * puts the largest first. */
void pw_imbalance_price(struct pw_imbalance *imbalance, const struct pw_whatif *whatif,
                        const struct pw_world *world);

void pw_imbalance_fini(struct pw_imbalance *imbalance);

#endif
