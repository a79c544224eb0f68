/* The HTTP server of `profwrap report --serve`: the page, and answers to its questions. Called by
 * serve_main.c. Every address begins with a secret token. One thread: it reads no file; processes
 * of their own answer questions , a few at a time. */
#ifndef PW_CLI_SERVE_REQUESTS_H
#define PW_CLI_SERVE_REQUESTS_H

#include <stddef.h>

#include "analysis/figures/figures.h"
#include "report/report.h"

/* The run that is shown. */
struct pw_serve_run {
    const struct pw_figures *figures; /* of the cluster */
    const struct pw_report_options *report;
    const char *cluster_file;
};

struct pw_serve_page {
    char *text;
    size_t size;
};

/* Serves at a listening socket until SIGINT or SIGTERM, and closes it. Returns 0 or -errno. */
int pw_serve_requests(int fd, const char *token, const struct pw_serve_page *page,
                      const struct pw_serve_run *run);

#endif
