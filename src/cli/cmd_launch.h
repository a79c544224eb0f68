/* `profwrap [OPTIONS] LAUNCHER ...`: profiles each rank that a launcher starts. Called by
 * cmd_run.c. Tool code: it may print and stop. Only the ranks are recorded, not the launcher. */
#ifndef PW_CLI_CMD_LAUNCH_H
#define PW_CLI_CMD_LAUNCH_H

#include "run/run.h"

/* Runs the launcher, run->argv, unprofiled, with `count` options of `profwrap run` for its ranks;
 * then merges and reports each job whose rank 0 the launcher started on this host. Returns the
 * launcher's exit status as a shell would. */
int pw_cli_launch(struct pw_run *run, char *const *options, int count);

#endif
