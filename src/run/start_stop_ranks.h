/* Makes all ranks of a running job begin or end recording at the same step. Called by `profwrap ctl
 * start|stop`, and for SIGUSR1 and SIGUSR2 by the watch, in a child process. Tool code; returns
 * only after the ranks' answers, and prints. */
#ifndef PW_RUN_START_STOP_RANKS_H
#define PW_RUN_START_STOP_RANKS_H

#include "rank/live/inquiry.h"

/* Carries out `ctl start` or `ctl stop`. Returns the exit status. */
int pw_ctl_order(const char *dir, int starts, enum pw_opened cause);

#endif
