/* What the Markdown and JUnit forms of comparisons have in common: texts in which no character has
 * a meaning of the markup, and the JUnit report. Used by the files of this folder; other files use
 * compare.h and compare_runs.h. */
#ifndef PW_REPORT_COMPARE_COMPARE_MARKUP_H
#define PW_REPORT_COMPARE_COMPARE_MARKUP_H

#include <stddef.h>
#include <stdio.h>

/* Writes the text as Markdown. */
void pw_markup_markdown(FILE *out, const char *text, size_t length);

/* Begin and end what a merge request shows only on demand. */
void pw_markup_fold(FILE *out);
void pw_markup_unfold(FILE *out);

enum pw_junit_outcome { PW_JUNIT_PASSED, PW_JUNIT_FAILURE, PW_JUNIT_ERROR, PW_JUNIT_SKIPPED };

struct pw_junit_case {
    const char *name; /* "the run is not slower", without " by more than 5 %" */
    double threshold; /* share */
    double ns;        /* how long the run took; -1: not known */
    enum pw_junit_outcome outcome;
    const char *message; /* why it did not pass */
    const char *report;  /* its output */
};

/* Writes a JUnit report with this one test case. */
void pw_markup_junit(FILE *out, const struct pw_junit_case *given);

#endif
