/* The one sentence that matters, from figures that are already there. */
#ifndef PW_REPORT_CONTENT_HEADLINE_H
#define PW_REPORT_CONTENT_HEADLINE_H

#include <stddef.h>

#include "report/figures/figures.h"

enum { PW_HEADLINE_BYTES = 512 };

/* Cut to `size`; not yet made safe to show (page.h does it). */
void pw_headline_write(const struct pw_figures *figures, char *out, size_t size);

/* The host that lost as a whole what its straggler did, and is named in its place; else NULL. */
const struct pw_row_c_host *pw_headline_host(const struct pw_cluster *cluster,
                                             const struct pw_row_c_straggler *straggler);

/* What is missing ("7 of 8 ranks are here; …"), or "" when nothing is: second line of the report.
 */
void pw_headline_missing(const struct pw_figures *figures, char *out, size_t size);

#endif
