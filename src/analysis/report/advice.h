/* What to do about what the report shows: rules as rows, each with one concrete next action. */
#ifndef PW_ANALYSIS_REPORT_ADVICE_H
#define PW_ANALYSIS_REPORT_ADVICE_H

#include <stddef.h>

#include "analysis/report/figures.h"

enum { PW_ADVICE_MAX = 40, PW_ADVICE_RANKS = 8 };

struct pw_advice {
    const char *rule; /* a word for programs */
    char text[640];
    int32_t ranks[PW_ADVICE_RANKS]; /* whom it is about, worst first; the first nranks of them */
    size_t nranks;
};

/* Writes the advice that applies, most urgent first, and returns how many: at least 1. */
size_t pw_advice_collect(const struct pw_figures *figures, struct pw_advice advice[PW_ADVICE_MAX]);

#endif
