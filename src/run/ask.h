/* Asking the collectors of a running job, and waiting for their answers. Called by `profwrap ctl`,
 * `report --watch`, profwrap-metrics and the orders of signals (start_stop_ranks.c). Tool code;
 * prints unless a function says otherwise. Signals must be blocked (pw_ctl_block_signals()) before
 * a request is made, so that its files are removed. */
#ifndef PW_RUN_ASK_H
#define PW_RUN_ASK_H

#include <signal.h>

#include "rank/live/inquiry.h"

/* Says why there is no collector to ask in `dir`; 0 when there is one. */
int pw_ctl_check_job(const char *dir);

/* From now on signals that ask this program to end are waited for, by pw_ctl_pause(). */
void pw_ctl_block_signals(sigset_t *ends);

/* Sleeps for a moment. 1 when a signal asks this program to end: it then has files to remove. */
int pw_ctl_pause(const sigset_t *ends);

/* Asks all ranks and waits for their answers, which are the inquiry's, sorted by rank. 0, or the
 * exit status after an error was said. */
int pw_ctl_ask(struct pw_inquiry *inquiry, const struct pw_request *request, const sigset_t *ends);

/* The same, saying nothing: 0, -EINTR after a signal, -ENODATA when no rank answered, -EBUSY while
 * others ask, or -errno. */
int pw_ctl_gather(struct pw_inquiry *inquiry, const struct pw_request *request,
                  const sigset_t *ends);

/* Says why nothing was gathered, but of a signal. */
void pw_ctl_explain(const struct pw_inquiry *inquiry, int err);

#endif
