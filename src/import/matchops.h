/* Matches operations across ranks when the traces name no process groups: by step, operation, type,
 * size and order, and only if the ranks' times allow it. cmd_import.c calls it once, after the
 * files of all ranks are written, because it changes rows of these files in place. */
#ifndef PW_IMPORT_MATCHOPS_H
#define PW_IMPORT_MATCHOPS_H

#include "import/import.h"

struct pw_inferred {
    int64_t matched;    /* operations that were matched with another rank's */
    int64_t impossible; /* operations that were not matched only because of their times */
};

/* Renumbers the operations on inferred communicators in the files of the plan's ranks, and makes
 * all these ranks members of these communicators. `results` has the plan's ranks in order; all
 * their files must exist. Returns 0 or -errno. */
int pw_infer(const struct pw_import_plan *plan, const struct pw_import_result *results,
             const char *dir, struct pw_inferred *out);

#endif
