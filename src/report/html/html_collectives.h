/* Collectives by communicator, operation and size, and one by one, as the HTML report lists and
 * draws them. */
#ifndef PW_REPORT_HTML_HTML_COLLECTIVES_H
#define PW_REPORT_HTML_HTML_COLLECTIVES_H

#include <jansson.h>

#include "report/figures/figures.h"

/* Of more instances, those with most waiting; of more communicators, operations and sizes, those
 * that took most time. */
enum { PW_HTML_COLLECTIVES = 100000, PW_HTML_COLLECTIVE_STATS = 10000 };

/* "collectives" of the JSON report, and {"rows": n, "busbw_max": x} of all that there are. NULL
 * when memory is short. */
json_t *pw_html_collective_stats(const struct pw_figures *figures);
json_t *pw_html_collective_totals(const struct pw_figures *figures);

/* {"total": n, "op": [...], "comm": [...], ...}: arrays with a value for each instance, most
 * waiting first, and how many there are. NULL when memory is short. */
json_t *pw_html_collectives(const struct pw_figures *figures);

#endif
