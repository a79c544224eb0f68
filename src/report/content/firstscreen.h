/* The first screen of every report: the headline (one sentence with the main finding), what is
 * missing, and the highlights. Called by the text, JSON and HTML reports. Writes into the caller's
 * memory; prints nothing. */
#ifndef PW_REPORT_CONTENT_FIRSTSCREEN_H
#define PW_REPORT_CONTENT_FIRSTSCREEN_H

#include <stddef.h>
#include <stdint.h>

#include "report/figures/figures.h"

enum { PW_HEADLINE_BYTES = 768 };

/* Writes the headline, cut to `size`. The caller must make it safe to print (page.h). */
void pw_headline_write(const struct pw_figures *figures, char *out, size_t size);

/* Writes the second line of the report: what is missing ("7 of 8 ranks are present; …"); "" when
 * nothing is. */
void pw_headline_missing(const struct pw_figures *figures, char *out, size_t size);

/* Highlights: losses that all ranks share, and the rank that the others waited for most, when that
 * wait is too short for a straggler. See docs/metrics.md, "Highlights". */

enum { PW_HIGHLIGHTS = 7 };

struct pw_highlight {
    const char *kind; /* "late_rank", "host_late", "data_wait", "no_cpu", "all_slower",
                         "slow_network" or "transfers" */
    int32_t rank;     /* the rank with the largest part; -1: no rank stands out */
    int64_t ns;       /* time lost, summed over all ranks */
    double share;     /* `ns` divided by the time of all ranks */
    double of_rank;   /* late_rank: share of `ns` that ranks waited for `rank`; other kinds:
                         share of its own time that `rank` lost; -1: no rank */
    int is_headline;  /* 1: the headline begins with `text` */
    char text[320];   /* one sentence */
};

/* Finds the highlights, largest share first. Returns how many. When the verdict names no other
 * loss, the first one is part of the headline. */
size_t pw_highlights_find(const struct pw_figures *figures, struct pw_highlight out[PW_HIGHLIGHTS]);

#endif
