/* What rank 0 does when its program has ended: waits for the other ranks' files, merges, reports.
 */
#ifndef PW_CLI_CONCLUDE_H
#define PW_CLI_CONCLUDE_H

#include "core/options.h"

/* Never fails the run: what cannot be done is said in one line, with the command that does it
 * later. */
void pw_conclude(const char *dir, int ranks, const struct pw_options *options);

#endif
