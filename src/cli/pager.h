/* Shows the standard output through a pager, as git does: $PAGER, or less. Called by cmd_report.c,
 * before it gives up the right to start processes. */
#ifndef PW_CLI_PAGER_H
#define PW_CLI_PAGER_H

#include <sys/types.h>

struct pw_pager {
    pid_t pid;    /* 0: there is none */
    int terminal; /* the standard output without it */
};

/* Makes a pager the reader of the standard output. Does nothing when that is no terminal, or one
 * that cannot move its cursor (TERM=dumb), when PAGER is "" or "cat", or when it is not set and
 * there is no less. */
void pw_pager_start(struct pw_pager *pager);

/* Waits until the user has left the pager, and restores the standard output. Returns 1 when the
 * pager could not run, so that nothing was shown. */
int pw_pager_end(struct pw_pager *pager);

#endif
