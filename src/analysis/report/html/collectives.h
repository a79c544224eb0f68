/* Collectives one by one, as the HTML report lists and draws them. */
#ifndef PW_ANALYSIS_REPORT_HTML_COLLECTIVES_H
#define PW_ANALYSIS_REPORT_HTML_COLLECTIVES_H

#include <jansson.h>

#include "analysis/report/figures.h"

/* Of more instances, those with most waiting. */
enum { PW_HTML_COLLECTIVES = 100000 };

/* {"total": n, "op": [...], "comm": [...], ...}: arrays with a value for each instance, most
 * waiting first, and how many there are. NULL when memory is short. */
json_t *pw_html_collectives(const struct pw_figures *figures);

#endif
