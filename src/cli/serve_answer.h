/* Answers a question of the served page (`profwrap report --serve`) from the rank files, in a
 * process of its own: what it takes in memory is given back when it ends, a damaged file can end
 * nothing else, and a question whose asker has gone is ended with it. Called by serve_requests.c.
 * Reads files of unknown origin; the caller has confined itself before. */
#ifndef PW_CLI_SERVE_ANSWER_H
#define PW_CLI_SERVE_ANSWER_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "analysis/figures/figures.h"
#include "report/report.h"

/* The run that is shown. */
struct pw_serve_run {
    const struct pw_figures *figures; /* of the cluster */
    const struct pw_report_options *report;
    const char *cluster_file;
};

enum pw_serve_what {
    PW_SERVE_STEP,     /* a step's timeline: first and last step, rank (-1: none) */
    PW_SERVE_PERFETTO, /* all ranks, for Perfetto: step, begin and end in ns after its start */
    PW_SERVE_WHATS
};

struct pw_serve_question {
    enum pw_serve_what what;
    int64_t numbers[3];
};

/* Starts a process that writes the answer, or one sentence about why there is none, into a file in
 * memory. Its signal mask becomes `signals`. Returns its pid, and the file, which the caller
 * closes; or -errno. */
pid_t pw_serve_start(const struct pw_serve_run *run, const struct pw_serve_question *question,
                     const sigset_t *signals, int *fd);

/* Returns the HTTP status for the status that waitpid() gave: 200 when the file has the answer. */
unsigned pw_serve_status(int status);

#endif
