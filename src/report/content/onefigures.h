/* The figures of a report: those that its caller has for several reports on the same cluster file,
 * or else its own. Called by the text, JSON and HTML reports and by the summary. Figures of a large
 * run take 20 ms, and are never changed. */
#ifndef PW_REPORT_CONTENT_ONEFIGURES_H
#define PW_REPORT_CONTENT_ONEFIGURES_H

#include "analysis/figures/figures.h"
#include "report/report.h"

struct pw_onefigures {
    const struct pw_figures *figures;
    struct pw_figures *own; /* NULL: they are the caller's */
};

/* Takes options->figures, or computes them. Returns 0 or -ENOMEM. */
int pw_onefigures_take(const struct pw_cluster *cluster, const struct pw_report_options *options,
                       struct pw_onefigures *out);
void pw_onefigures_release(struct pw_onefigures *figures);

#endif
