/* The end of a job: the merge and the report. Called by rank 0's guard (cmd_run.c) or by the
 * `profwrap LAUNCHER` (cmd_launch.c), after the program's end. Tool code; it never changes the
 * run's exit status. */
#ifndef PW_CLI_CONCLUDE_H
#define PW_CLI_CONCLUDE_H

#include "core/options.h"

/* Has the path of a file into which a merge under mpirun writes when it has started. */
#define PW_MERGE_STARTED "PROFWRAP_MERGE_STARTED"

/* Waits for the files of all ranks in `dir`, merges them and prints the summary. Never fails the
 * run: when a step is not possible, prints one line with the command that does it later. Returns 0;
 * or -ECANCELED when this process was asked to end or, with `is_launcher_waiting`, a rank has
 * failed: then the launcher must not wait, and another process concludes the job. */
int pw_conclude(const char *dir, int ranks, const struct pw_options *options,
                int is_launcher_waiting);

/* Prints that another process makes the report. In a job, the first rank that calls this prints the
 * line: the launcher may end the others before they can. */
void pw_conclude_say_later(const char *dir);

/* Removes what pw_conclude_say_later() has left in `dir`. */
void pw_conclude_forget_later(const char *dir);

/* Prints, for each epoch of the job in `dir` that came before the epoch `last`, what ended it and
 * how long it took until the next epoch began. */
void pw_conclude_epochs(const char *dir, int last);

#endif
