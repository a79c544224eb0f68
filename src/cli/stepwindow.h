/* Timelines of single steps in the HTML report, from the rank files beside the cluster file. Used
 * by cmd_report.c and serve_main.c: report/ itself reads no rank files. */
#ifndef PW_CLI_STEPWINDOW_H
#define PW_CLI_STEPWINDOW_H

#include <stdio.h>

#include "core/cluster.h"
#include "report/report.h"

/* What windows are read from. */
struct pw_cli_windows {
    char *cluster_file;            /* its path */
    struct pw_keptrows *kept_rows; /* of windows that are asked for together; NULL: none yet */
};

/* Frees what was kept; not the path. */
void pw_cli_windows_fini(struct pw_cli_windows *windows);

/* A pw_report_timeline; `context` is a struct pw_cli_windows. */
int pw_cli_write_window(void *context, FILE *out, struct pw_report_window *window);

/* Lets the HTML report show timelines, unless the files of the ranks that it would show are too
 * large. `windows` has the path of the cluster file, and must outlive `wanted`. */
void pw_cli_add_timelines(struct pw_report_options *wanted, const struct pw_cluster *cluster,
                          struct pw_cli_windows *windows);

#endif
