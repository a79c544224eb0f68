/* Timelines of single steps in the HTML report, from the rank files beside the cluster file. Used
 * by cmd_report.c and serve_main.c: report/ itself reads no rank files. */
#ifndef PW_CLI_STEPWINDOW_H
#define PW_CLI_STEPWINDOW_H

#include <stdio.h>

#include "core/cluster.h"
#include "report/report.h"

/* A pw_report_timeline; `context` is the path of the cluster file. */
int pw_cli_write_window(void *context, FILE *out, struct pw_report_window *window);

/* Lets the HTML report show timelines, unless the files of the ranks that it would show are too
 * large. `cluster_file` must outlive `wanted`. */
void pw_cli_add_timelines(struct pw_report_options *wanted, const struct pw_cluster *cluster,
                          char *cluster_file);

#endif
