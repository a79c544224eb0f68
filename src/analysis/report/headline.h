/* The one sentence that matters, from figures that are already there. */
#ifndef PW_ANALYSIS_REPORT_HEADLINE_H
#define PW_ANALYSIS_REPORT_HEADLINE_H

#include <stddef.h>

#include "analysis/report/figures.h"

enum { PW_HEADLINE_BYTES = 512 };

/* Cut to `size`; not yet made safe to show (page.h does it). */
void pw_headline_write(const struct pw_figures *figures, char *out, size_t size);

/* What is missing ("7 of 8 ranks are here; …"), or "" when nothing is: second line of the report.
 */
void pw_headline_missing(const struct pw_figures *figures, char *out, size_t size);

#endif
