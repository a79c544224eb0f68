/* Orders that all ranks of a running job carry out at the same step. Called by `profwrap ctl
 * start|stop`, and by the watch for the signals that mean the same, in a child process. Tool code;
 * returns only after the ranks' answers, and prints. */
#ifndef PW_RUN_START_STOP_RANKS_H
#define PW_RUN_START_STOP_RANKS_H

#include "rank/live/inquiry.h"

/* `ctl start` and `ctl stop`: the exit status. */
int pw_ctl_order(const char *dir, int starts, enum pw_opened cause);

#endif
