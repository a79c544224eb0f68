/* Restricts a loaded cluster to some of its steps (`report --steps`), before anything is reported.
 * Called by cli/commands/cmd_report.c. Figures that are sums over the whole run cannot be divided:
 * they remain, and reports say so. Changes the cluster in memory only. */
#ifndef PW_ANALYSIS_FIGURES_RESTRICT_H
#define PW_ANALYSIS_FIGURES_RESTRICT_H

#include "core/cluster.h"

/* `steps` is "A-B" or "A", or several of them with commas. Keeps the named steps, their
 * measurements and their collectives, sums the collectives up again, and removes stragglers that
 * held back none of these steps. Returns 0; -EINVAL with a sentence in `problem` when `steps` is no
 * such list; or -ENOMEM. */
int pw_cluster_restrict(struct pw_cluster *cluster, const char *steps, char *problem, size_t size);

#endif
