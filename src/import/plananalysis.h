/* A cluster_analysis_output of msprof-analyze in the plan of an import: beside profiles it is
 * compared with them, else its ranks become those of the plan. Called by plan.c, after all profiles
 * are in the plan. */
#ifndef PW_IMPORT_PLANANALYSIS_H
#define PW_IMPORT_PLANANALYSIS_H

#include "import/plan.h"

/* Reads the directory, which is a cluster_analysis_output. 0, also if it cannot be compared: then a
 * note says why; or -errno, with one sentence in `problem`. */
int pw_import_plan_add_analysis(struct pw_import_plan *plan, const char *directory,
                                const struct pw_import_wish *wish, char *problem, size_t size);

#endif
