/* Reports on a running job: the table of `profwrap ctl status`, the pace of the steps, metrics for
 * Prometheus, and the watchdog's report on a hang. Called by cli/ and run/, which give the answers
 * of all ranks and the stream to write to. Asks no rank itself. */
#ifndef PW_REPORT_LIVE_LIVEVIEW_H
#define PW_REPORT_LIVE_LIVEVIEW_H

#include <jansson.h>
#include <stdio.h>

#include "analysis/hang.h"
#include "report/live/livealarm.h"
#include "report/live/orderview.h"

/* The answers of running ranks, and the parts of sentences about them that the reports share. Pure:
 * no I/O; asks no rank. */

struct pw_live_view {
    const struct pw_live *ranks; /* [n] ranks that answered, sorted */
    size_t n;
    const int32_t *silent; /* [nsilent] running ranks that did not answer, sorted */
    size_t nsilent;
    const struct pw_hang *hang;            /* the waits of the ranks in `ranks` */
    const struct pw_order_findings *order; /* where the order of collectives differs; may be NULL */
};

enum { PW_LIVE_RANKS_TEXT = 160, PW_LIVE_CALL_TEXT = 256 };

/* Writes "MPI_Recv from rank 2 (tag 7) on MPI_COMM_WORLD", or "no MPI call". Returns `out`. */
const char *pw_live_call(const struct pw_live *rank, const struct pw_live_thread *thread, char *out,
                         size_t size);

enum { PW_LIVE_HEADLINE = 1024 };

/* Writes one sentence: which ranks wait for which rank, and what that rank does. */
void pw_live_headline(const struct pw_live_view *view, char *out, size_t size);

/* Prints the ranks and their calls, the longest in its call first. Returns 0 or -ENOMEM. */
int pw_live_print_status(const struct pw_live_view *view, FILE *out);

/* Prints the headline, the ranks, the collectives in which they wait, the number of collectives
 * that each has completed on its communicators, and call stacks. Returns 0 or -ENOMEM. */
int pw_live_print_hang(const struct pw_live_view *view, FILE *out);

/* Returns the verdict as an object: headline, kind, roots, cycle, held, collectives, silent. NULL
 * when memory is short. */
json_t *pw_live_hang_json(const struct pw_live_view *view);

/* ---- the pace of a job: step time, the share inside MPI, and which ranks hold the others back
 * ---- */

struct pw_livepace_look {
    const char *title;
    size_t columns; /* longest line */
    size_t lines;   /* largest number of lines; SIZE_MAX: no limit */
    size_t ranks;   /* largest number of ranks in the table */
    int is_coloured;
    const struct pw_livealarms *alarms; /* which ranks are slow; NULL: they were not tested, and the
                                           rank with most own work is named instead */
    time_t now;
};

/* Prints the pace. The rank with most time outside MPI comes first, because the others wait for it
 * inside MPI. Returns 0 or -ENOMEM. */
int pw_livepace_print(const struct pw_live_view *view, const struct pw_livepace_look *look,
                      FILE *out);

/* ---- OpenMetrics text, for Prometheus and similar programs ---- */

/* Prints one point for each metric and rank, without values that a rank does not know. `alarms`:
 * which ranks are slow; NULL: nobody has tested it. Returns 0 or -EIO. */
int pw_openmetrics_print(const struct pw_live_view *view, const struct pw_livealarms *alarms,
                         FILE *out);

#endif
