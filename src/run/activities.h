/* The table of collector modules, and the names that --activities takes. Called by the run, and by
 * recovery, which needs the same table. Tool code; a module that has no row here never gets a
 * record. */
#ifndef PW_RUN_ACTIVITIES_H
#define PW_RUN_ACTIVITIES_H

#include "rank/collect/module.h"

/* Returns the table; its last row has the name NULL. */
const struct pw_module *pw_cli_modules(void);

/* Returns the PW_ACTIVITY_* bits of a list as in --activities; 0 with a sentence in `problem` when
 * the list is invalid. */
uint32_t pw_cli_parse_activities(const char *list, char *problem, size_t size);

#endif
