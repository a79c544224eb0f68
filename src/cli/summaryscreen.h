/* The summary of a run on a stream: finds out what the stream can show, and where the report is.
 * Called by cmd_report.c. Starts no process and writes no file. */
#ifndef PW_CLI_SUMMARYSCREEN_H
#define PW_CLI_SUMMARYSCREEN_H

#include <stdio.h>

#include "core/cluster.h"
#include "report/report.h"

/* Returns the width of text on the stream: COLUMNS, or that of the terminal, but not more than
 * lines of text may be; `unknown` when it is not known, as of a pipe. */
int pw_cli_width(int fd, int unknown);

/* Prints the summary of the cluster file at `cluster_file`, whose results are in `dir`, as a
 * command names it. Returns as pw_report_summary(). */
int pw_cli_summary_print(FILE *out, const struct pw_cluster *cluster, const char *dir,
                         const char *cluster_file, const struct pw_figures *figures);

#endif
