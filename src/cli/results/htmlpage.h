/* The parts of an HTML report: profwrap's template, D3, and timelines of single steps, from the
 * rank files beside the cluster file: report/ itself reads no rank files. Called by cmd_report.c
 * and serve_main.c. Tool code; prints nothing, the caller prints `problem`. */
#ifndef PW_CLI_HTMLPAGE_H
#define PW_CLI_HTMLPAGE_H

#include <limits.h>
#include <stddef.h>
#include <stdio.h>

#include "core/cluster.h"
#include "report/report.h"

struct pw_htmlpage {
    char dir[PATH_MAX]; /* of page.html */
    char d3[PATH_MAX];
};

/* `d3` is the user's file; "": the one that was found when profwrap was built. Returns 0, or -errno
 * with one sentence in `problem`. */
int pw_htmlpage_find(const char *d3, struct pw_htmlpage *out, char *problem, size_t size);

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
