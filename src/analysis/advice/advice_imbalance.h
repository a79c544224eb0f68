/* What is said of work that differs by design: rows of /imbalances in words. */
#ifndef PW_ANALYSIS_ADVICE_ADVICE_IMBALANCE_H
#define PW_ANALYSIS_ADVICE_ADVICE_IMBALANCE_H

#include "core/cluster.h"
#include "core/text.h"

/* True when that is all that is known of it: it is no rank or host that is slow. */
int pw_imbalance_is_sure(const struct pw_row_c_imbalance *row);

/* True for a role of one rank, of which it cannot be told. */
int pw_imbalance_is_alone(const struct pw_row_c_imbalance *row);

/* What it costs in `steps` steps: by the replay, else by how much more work there is. */
int64_t pw_imbalance_cost(const struct pw_row_c_imbalance *row, int64_t steps);

/* "Uneven work: role "stage 3 of 4" (ranks 4-5) has 1.40 times the work of the others in a step
 * (56.0 ms, others 40.0 ms): an imbalance between roles, not a slow rank", or why that cannot be
 * told; without an end. It does not begin with a rank: none is to blame. */
void pw_imbalance_write(const struct pw_row_c_imbalance *row, struct pw_sentence *sentence);

#endif
