/* Whether the files of a plan are of one job, as far as their heads say. Called by plan.c once all
 * files are in the plan. No file is opened here. */
#ifndef PW_IMPORT_PLANCHECK_H
#define PW_IMPORT_PLANCHECK_H

#include "import/plan.h"

/* Checks that all files are of one job, and sets the plan's job and world size. 0 or -EINVAL, with
 * one sentence in `problem`. */
int pw_import_plan_check_job(struct pw_import_plan *plan, char *problem, size_t size);

/* Checks, in a plan that is sorted by rank, that no rank has files of two processes. 0 or -EINVAL.
 */
int pw_import_plan_check_processes(const struct pw_import_plan *plan, char *problem, size_t size);

/* Notes that the files were written by different versions. */
void pw_import_plan_compare_versions(struct pw_import_plan *plan);

#endif
