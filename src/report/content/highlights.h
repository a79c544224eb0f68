/* What else belongs on the first screen, beside the verdict on ranks: losses that all ranks share,
 * and whom the recorded waiting was for where that is too little for a verdict. docs/metrics.md,
 * "Highlights". */
#ifndef PW_REPORT_CONTENT_HIGHLIGHTS_H
#define PW_REPORT_CONTENT_HIGHLIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "report/figures/figures.h"

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
