/* A cluster cut down to some of its steps (`report --steps`), before anything is reported of it.
 * What is summed over the whole run and cannot be taken apart stays, and reports say so. */
#ifndef PW_REPORT_FIGURES_RESTRICT_H
#define PW_REPORT_FIGURES_RESTRICT_H

#include "core/cluster.h"

/* `steps` is "A-B" or "A", or several of them with commas. Leaves of the steps, of what was
 * measured in each, and of the collectives those that are named, sums the latter up anew, and
 * leaves out stragglers that held back none of these steps. 0; -EINVAL with a sentence in `problem`
 * when it is no such list; -ENOMEM. */
int pw_cluster_restrict(struct pw_cluster *cluster, const char *steps, char *problem, size_t size);

#endif
