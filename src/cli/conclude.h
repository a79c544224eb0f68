/* The end of a job: the merge and the report, by rank 0's guard or by the launcher's profwrap. */
#ifndef PW_CLI_CONCLUDE_H
#define PW_CLI_CONCLUDE_H

#include "core/options.h"

/* Waits for the files of all ranks in `dir`, merges them and prints the report. Never fails the
 * run: what cannot be done is said in one line, with the command that does it later. */
void pw_conclude(const char *dir, int ranks, const struct pw_options *options);

/* Says what ended each epoch of the job in `dir` before the epoch `last`, and how long it took
 * until the next one began. */
void pw_conclude_epochs(const char *dir, int last);

#endif
