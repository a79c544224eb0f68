/* Whether a rank that was found to be late stands out from the others: on machines that are shared
 * or uneven many ranks differ a little, and the first of many is no straggler. In the steps that
 * it held back, the ranks whose sum of excess is above a third of its own are its company. It
 * stands out
 *   - alone or in company of at most a quarter of the ranks;
 *   - when its company is on its own host, and at most half of the ranks: then the host is slow;
 *   - of two ranks, where nobody says which is usual, when it lost two fifths of the steps; a fifth
 *     of steps that the program marked. */
#ifndef PW_ANALYSIS_STANDOUT_H
#define PW_ANALYSIS_STANDOUT_H

#include "analysis/excess.h"

/* `host_of` numbers the hosts of the ranks; NULL: not known. */
int pw_standout(const struct pw_excess *w, const struct pw_straggler_found *found,
                const int64_t *host_of);

#endif
