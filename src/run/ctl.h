/* Asking the collectors of a running job, and waiting for their answers. Called by `profwrap ctl`,
 * `report --watch`, profwrap-metrics and, for SIGUSR1 and SIGUSR2, the watch (run_watch.c). Tool
 * code; prints unless a function says otherwise. Signals must be blocked (pw_ctl_block_signals())
 * before a request is made, so that its files are removed. */
#ifndef PW_RUN_CTL_H
#define PW_RUN_CTL_H

#include <signal.h>

#include "rank/live/inquiry.h"

/* Returns 0 when a collector runs in `dir`; else prints why there is none, and returns the exit
 * status. */
int pw_ctl_check_job(const char *dir);

/* Blocks the signals that ask this program to end; pw_ctl_pause() waits for them. */
void pw_ctl_block_signals(sigset_t *ends);

/* Sleeps for a moment. Returns 1 when a signal asks this program to end: the caller must remove its
 * files first. */
int pw_ctl_pause(const sigset_t *ends);

/* Asks all ranks and waits for their answers, which are in `inquiry`, sorted by rank. Returns 0, or
 * the exit status after an error was printed. */
int pw_ctl_ask(struct pw_inquiry *inquiry, const struct pw_request *request, const sigset_t *ends);

/* As pw_ctl_ask(), but prints nothing. Returns 0; -EINTR after a signal, -ENODATA when no rank
 * answered, -EBUSY while another program asks, or another -errno. */
int pw_ctl_gather(struct pw_inquiry *inquiry, const struct pw_request *request,
                  const sigset_t *ends);

/* Prints the error of pw_ctl_gather(); nothing for -EINTR. */
void pw_ctl_explain(const struct pw_inquiry *inquiry, int err);

/* Carries out `ctl start` or `ctl stop`: makes all ranks begin or end recording at the same step.
 * Returns only after their answers, and prints. Returns the exit status. */
int pw_ctl_change(const char *dir, int starts, enum pw_opened cause);

#endif
