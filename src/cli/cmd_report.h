/* `profwrap report`, and the report at the end of `profwrap run`. */
#ifndef PW_CLI_CMD_REPORT_H
#define PW_CLI_CMD_REPORT_H

#include <stdio.h>

/* The command; argv[0] is its name. Returns the exit status: 0, 1 for failure, 2 for usage. */
int pw_cli_report(int argc, char **argv);

/* Reads DIR/cluster.h5, writes DIR/report.txt, report.json and, where D3 is, report.html, and
 * prints to `screen` (NULL for none) the text or, as a `summary`, its first sentence and where the
 * rest is. PROFWRAP_TOP and PROFWRAP_D3 apply. 0, or -errno after one sentence on standard error.
 */
int pw_cli_report_write(const char *dir, FILE *screen, int summary);

#endif
