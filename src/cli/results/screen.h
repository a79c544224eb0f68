/* The standard output of `profwrap report`: through a pager, as git does ($PAGER, or less), and the
 * summary of a run as the stream can show it. Called by cmd_report.c; the pager is started before
 * it gives up the right to start processes, and nothing else here starts one or writes a file. */
#ifndef PW_CLI_SCREEN_H
#define PW_CLI_SCREEN_H

#include <stdio.h>
#include <sys/types.h>

#include "core/cluster.h"
#include "report/report.h"

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

/* Returns the width of text on the stream: COLUMNS, or that of the terminal, but not more than
 * lines of text may be; `unknown` when it is not known, as of a pipe. */
int pw_cli_width(int fd, int unknown);

/* Prints the summary of the cluster file at `cluster_file`, whose results are in `dir`, as a
 * command names it. Returns as pw_report_summary(). */
int pw_cli_summary_print(FILE *out, const struct pw_cluster *cluster, const char *dir,
                         const char *cluster_file, const struct pw_figures *figures);

#endif
