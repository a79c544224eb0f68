/* The page that text sections print on: width, and paragraphs that never exceed it. Everything that
 * is printed passes through safenames.h, so no section has to make names from files safe. */
#ifndef PW_REPORT_WRITING_PAGE_H
#define PW_REPORT_WRITING_PAGE_H

#include <stddef.h>
#include <stdio.h>

#include "report/figures/figures.h"
#include "report/report.h"

struct pw_page {
    FILE *out;
    size_t width;
    size_t top; /* rows of each table, SIZE_MAX for all */
    const struct pw_figures *figures;
    const struct pw_report_options *options;
};

/* Prints one paragraph, broken at spaces: the first line begins at column `indent`, the others at
 * `hang`. 0 or -ENOMEM. */
__attribute__((format(printf, 4, 5))) int pw_page_print(const struct pw_page *page, size_t indent,
                                                        size_t hang, const char *format, ...);

/* "name       text": a line of a list of properties. 0 or -ENOMEM. */
__attribute__((format(printf, 3, 4))) int
pw_page_property(const struct pw_page *page, const char *name, const char *format, ...);

/* "12 %", "4.2 %", "0.3 %"; "n/a" for what is negative or no number. Returns `out`. */
const char *pw_page_percent(char *out, size_t size, double share);

/* As pw_text_ns, with "~" before a time between ranks that is within their clock error. */
const char *pw_page_cross_ns(const struct pw_page *page, char *out, size_t size, int64_t ns);

#endif
