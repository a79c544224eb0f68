/* The first screen of every report: the one sentence that matters, what is missing, and the
 * highlights. Called by the text, JSON and HTML reports. Writes into the caller's memory: prints
 * nothing. */
#ifndef PW_REPORT_CONTENT_FIRSTSCREEN_H
#define PW_REPORT_CONTENT_FIRSTSCREEN_H

#include <stddef.h>
#include <stdint.h>

#include "report/figures/figures.h"

enum { PW_HEADLINE_BYTES = 512 };

/* Cut to `size`; not yet made safe to show (page.h does it). */
void pw_headline_write(const struct pw_figures *figures, char *out, size_t size);

/* The slow host that is named instead of its straggler, because it as a whole caused the loss; else
 * NULL. */
const struct pw_row_c_host *pw_headline_host(const struct pw_cluster *cluster,
                                             const struct pw_row_c_straggler *straggler);

/* What is missing ("7 of 8 ranks are present; …"), or "" when nothing is: second line of the
 * report. */
void pw_headline_missing(const struct pw_figures *figures, char *out, size_t size);

/* Highlights: losses that all ranks share, and which rank the others waited for where that is too
 * little for a verdict. docs/metrics.md, "Highlights". */

enum { PW_HIGHLIGHTS = 6 };

struct pw_highlight {
    const char *kind; /* "late_rank", "host_late", "data_wait", "no_cpu", "all_slower" or
                         "slow_network" */
    int32_t rank;     /* the worst one; -1: none stands out */
    int64_t ns;       /* lost, of all ranks together */
    double share;     /* of their time */
    double of_rank;   /* late_rank: the part of `ns` that was for `rank`; the others: the
                         share of its own time that `rank` lost; -1: no rank */
    char text[320];   /* one sentence */
};

/* Largest share first. Returns how many. */
size_t pw_highlights_find(const struct pw_figures *figures, struct pw_highlight out[PW_HIGHLIGHTS]);

#endif
