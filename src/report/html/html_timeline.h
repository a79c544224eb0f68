/* Puts the timelines of a few steps into the HTML report: first those that the verdict is about,
 * then the longest one, a typical one, and the worst ones of further stragglers. Called by
 * html_report.c. Reads no rank files: the caller's function does. */
#ifndef PW_REPORT_HTML_HTML_TIMELINE_H
#define PW_REPORT_HTML_HTML_TIMELINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/figures/figures.h"
#include "report/report.h"

/* Limits: steps, and bytes of JSON of each, which pack to about a twentieth. There are at most
 * PW_REPORT_WINDOW_RANKS ranks in each. */
enum { PW_TIMELINE_STEPS = 5, PW_TIMELINE_BYTES = 4 << 20 };

struct pw_timeline_step {
    size_t row;      /* of /steps */
    const char *why; /* "ending" (the job did not end well), "straggler", "all_slower", "network",
                        "longest", "typical", or "asked" by the served page */
    int32_t rank;    /* the straggler, or the one that ended first; else the slowest rank of the
                        step, -1: not known */
};

/* Chooses the steps to show; each is chosen once. Returns how many. */
size_t pw_timeline_choose(const struct pw_figures *figures,
                          struct pw_timeline_step out[PW_TIMELINE_STEPS]);

/* Writes the list of ranks to show, "0,5,7": the one of this row of /ranks (-1: none), the slowest
 * and the stragglers, then others at equal distances, in order. */
void pw_timeline_ranks(const struct pw_figures *figures, int64_t row, char *out, size_t size);

/* Writes <script type="application/json" id="timelines">, a list of {step, why, rank,
 * cluster_ns, start_ns, end_ns, share, unread}, and for each the packed Trace Event JSON
 * (html_planes.h) as id="timeline-STEP". Times are those of that JSON, but cluster_ns is the start
 * as in the tables; `unread` is a number of rank files. Without options->timeline the list is
 * empty.
 *
 * With options->is_served the element has the attribute data-served, and the list only step, why
 * and rank: the page asks the server for the object with all keys and "packed", which has what
 * id="timeline-STEP" would have (pw_report_html_step()).
 *
 * Returns 0, -ENOMEM or -EIO. */
int pw_html_timelines_write(FILE *out, const struct pw_figures *figures,
                            const struct pw_report_options *options);

#endif
