/* Finds work that differs by design, subtracts it from the step trace before the search for
 * stragglers, and describes it in rows of /imbalances. findings.c calls the functions on process 0,
 * in the order below, and searches for stragglers after the first one. No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_IMBALANCE_H
#define PW_AGGREGATE_FINDINGS_IMBALANCE_H

#include "aggregate/findings/amounts.h"
#include "aggregate/findings/imbalancerows.h"

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
