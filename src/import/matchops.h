/* Which operations of several ranks belong together where their traces name no process groups: by
 * step, operation, type and size, in order; never against what their times allow. cmd_import.c
 * calls it once, when the files of all ranks are written, as it changes rows of these files in
 * place. */
#ifndef PW_IMPORT_MATCHOPS_H
#define PW_IMPORT_MATCHOPS_H

#include "import/import.h"

struct pw_inferred {
    int64_t matched;    /* operations that were matched with another rank's */
    int64_t impossible; /* that would have been matched, but were at another time */
};

/* Renumbers the operations on inferred communicators in the files of the ranks in `results`, whose
 * files are all there, and makes those ranks the communicators' members. 0 or -errno. */
int pw_infer(const struct pw_import_plan *plan, const struct pw_import_result *results,
             const char *dir, struct pw_inferred *out);

#endif
